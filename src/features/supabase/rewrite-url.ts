import type { IncomingMessage } from 'node:http'

/** Tokens of Logflare. Any text is valid. */
export interface GatewayTokens {
  public: string | undefined
  private: string
}

export const prefix = '/logflare'

/** Without the private token there is no gateway. */
export function gatewayTokens(environment: Readonly<Record<string, string | undefined>>) {
  const { LOGFLARE_PUBLIC_ACCESS_TOKEN, LOGFLARE_PRIVATE_ACCESS_TOKEN: own } = environment
  return own ? { public: LOGFLARE_PUBLIC_ACCESS_TOKEN, private: own } : undefined
}

/** Studio drops the path of its LOGFLARE_URL on the settings page, so the private token has these at the root, too. */
const studioPath = /^\/api\/(?:endpoints\/query\/[^/]+|sources|(?:backends|rules)(?:\/[^/]+)?)$/

/**
 * Leads requests to the routes that serve them. Older Vector configurations send the token in the URL, from where it
 * must not get into a log.
 */
export function urlRewriter(tokens: GatewayTokens): (request: IncomingMessage) => string {
  // Node reads headers as Latin-1.
  const accepted = new Map(
    [tokens.private, tokens.public ?? '']
      .filter(Boolean)
      .flatMap((token) => [[Buffer.from(token).toString('latin1'), token] as const, [token, token] as const]),
  )
  return (request) => {
    const { headers, url = '' } = request
    const [bearer = '', ...repeated] = (headers.authorization && request.headersDistinct.authorization) || []
    const given = headers['x-api-key'] ?? (repeated.length === 0 && /^Bearer +(\S.*)$/i.exec(bearer)?.[1])
    const known = typeof given === 'string' ? accepted.get(given) : undefined
    if (known !== undefined) headers['x-api-key'] = known
    const at = url.indexOf('?')
    const path = at < 0 ? url : url.slice(0, at)
    const query = at < 0 ? '' : url.slice(at)
    const own = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path
    const isIntake = own === '/api/logs' || own === '/logs'
    if (known === tokens.private && studioPath.test(path)) return prefix + url
    // Vector starts to send as soon as the service is healthy, and drops what is refused.
    const target = own === '/health' ? '/ready' : isIntake ? own : path
    if (!query.includes('api_key=') || !(isIntake || own !== path)) return target + query
    const parameters = new URLSearchParams(query)
    const [key, ...more] = parameters.getAll('api_key')
    const isUsed = more.length === 0 && headers['x-api-key'] === undefined
    if (key === undefined || !isUsed || !accepted.has(key)) return target + query
    parameters.delete('api_key')
    headers['x-api-key'] = key
    return `${target}?${parameters}`
  }
}

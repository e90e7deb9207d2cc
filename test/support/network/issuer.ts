import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import Provider from 'oidc-provider'

export interface Issuer {
  url: string
  /** Who signs in next, without a form. */
  account: string
  /** What the issuer says about accounts. */
  claims: Record<string, Record<string, unknown>>
  /** Answers requests instead of the issuer, if it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  sign(claims: JWTPayload, header?: { alg?: string; kid?: string }): Promise<string>
  /** Signs with a new key from now on, which the issuer publishes. */
  rotate(): Promise<void>
  close(): Promise<void>
}

export const clientId = 'wellhead'
export const clientSecret = 'a-secret-of-the-client'

/** A real OpenID Connect issuer on this machine. */
export async function openIssuer(redirectUri: string): Promise<Issuer> {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let key = await newKey(1)
  let provider = providerOf()

  function providerOf(): Provider {
    return new Provider(url, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: 'client_secret_post',
        },
      ],
      jwks: { keys: [key.jwk] },
      cookies: { keys: ['a-key-of-cookies'] },
      claims: {
        openid: ['sub', 'groups', 'project', 'name', 'email', 'email_verified'],
        profile: [],
        email: [],
      },
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: async (_context, id) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...issuer.claims[id] }),
      }),
      loadExistingGrant: async (context) => {
        const { session, provider } = context.oidc
        const known = await provider.Grant.find(session.grantIdFor(clientId) ?? '')
        if (known) return known
        const grant = new provider.Grant({ clientId, accountId: session.accountId })
        grant.addOIDCScope('openid profile email')
        await grant.save()
        return grant
      },
    })
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (issuer.intercept?.(request, response)) return
    if (!request.url?.startsWith('/interaction/')) return provider.callback()(request, response)
    await provider.interactionFinished(request, response, { login: { accountId: issuer.account } })
  }

  const issuer: Issuer = {
    url,
    account: 'ada',
    claims: {},
    intercept: undefined,
    sign: (claims, header) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: key.jwk.kid as string, ...header })
        .sign(key.privateKey),
    rotate: async () => {
      key = await newKey(2)
      provider = providerOf()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return issuer
}

async function newKey(number: number) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), kid: `key-${number}`, use: 'sig', alg: 'RS256' }
  return { privateKey, jwk }
}

/** A browser without pages: it keeps cookies by origin and follows redirects. */
export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>()

  header(origin: string): string {
    const own = this.#cookies.get(origin) ?? new Map()
    return [...own].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  get(origin: string, name: string): string | undefined {
    return this.#cookies.get(origin)?.get(name)
  }

  async send(address: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(address)
    const headers = { ...(init.headers as Record<string, string>), Cookie: this.header(origin) }
    const response = await fetch(address, { ...init, headers, redirect: 'manual' })
    const own = this.#cookies.get(origin) ?? new Map<string, string>()
    this.#cookies.set(origin, own)
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) own.delete(name)
      else own.set(name, value)
    }
    return response
  }

  /** Follows redirects until the address begins with `end`, or there is a page. */
  async follow(address: string, end = '\0'): Promise<{ response: Response; address: string }> {
    for (let at = address, hops = 0; ; hops++) {
      if (hops > 20) throw new Error(`Too many redirects at ${at}.`)
      const response = await this.send(at)
      const location = response.headers.get('location')
      if (location === null) return { response, address: at }
      await response.arrayBuffer()
      at = new URL(location, at).href
      if (at.startsWith(end)) return { response, address: at }
    }
  }
}

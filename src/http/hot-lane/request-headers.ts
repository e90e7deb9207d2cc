import { bearerToken } from '../route-access.ts'

const fields = {
  host: 'host',
  'x-api-key': 'token',
  authorization: 'token',
  accept: 'accept',
  'accept-encoding': 'acceptEncoding',
  'if-none-match': 'ifNoneMatch',
  'x-request-id': 'requestId',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const

type Field = (typeof fields)[keyof typeof fields]

/** The headers of an ordinary request to an endpoint. */
type RequestHeaders = { [F in Field]?: string } & { token: string; accept: string }

/** Node reports an invalid body after the request, when the response would already be sent. */
const needFramework =
  'content-length transfer-encoding cache-control expect if-match origin range upgrade'.split(' ')

const known = new Map<string, Field | 'framework'>([
  ...Object.entries(fields),
  ...needFramework.map((name) => [name, 'framework'] as const),
])

/**
 * Reads the raw headers, because creating Node's headers object takes longer than the rest of the response. Undefined if a
 * header occurs twice or needs the framework.
 */
export function requestHeaders(raw: readonly string[]): RequestHeaders | undefined {
  const found: { [F in Field]?: string } = {}
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    const field = known.get(name)
    if (field === undefined) continue
    if (field === 'framework' || found[field] !== undefined) return undefined
    const value = raw[i + 1] as string
    // The framework refuses a malformed token.
    found[field] = name === 'authorization' ? (bearerToken(value) ?? '') : value
  }
  const { host, token, accept = '' } = found
  return !token || host === undefined ? undefined : { ...found, token, accept }
}

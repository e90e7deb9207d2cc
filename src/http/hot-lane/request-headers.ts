import { bearerToken } from '../route-access.ts'

/** The headers of an ordinary request to an endpoint. */
interface RequestHeaders {
  token: string
  accept: string
  acceptEncoding: string | undefined
  ifNoneMatch: string | undefined
  requestId: string | undefined
  traceparent: string | undefined
  tracestate: string | undefined
}

/**
 * Reads the raw headers, because creating Node's headers object takes longer than the rest of the response. Undefined if a
 * header occurs twice or needs the framework.
 */
export function requestHeaders(raw: readonly string[]): RequestHeaders | undefined {
  let host: string | undefined
  let token: string | undefined
  let accept: string | undefined
  let acceptEncoding: string | undefined
  let ifNoneMatch: string | undefined
  let requestId: string | undefined
  let traceparent: string | undefined
  let tracestate: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const value = raw[i + 1] as string
    switch ((raw[i] as string).toLowerCase()) {
      case 'host':
        if (host !== undefined) return undefined
        host = value
        break
      case 'x-api-key':
        if (token !== undefined) return undefined
        token = value
        break
      case 'accept':
        if (accept !== undefined) return undefined
        accept = value
        break
      case 'accept-encoding':
        if (acceptEncoding !== undefined) return undefined
        acceptEncoding = value
        break
      case 'if-none-match':
        if (ifNoneMatch !== undefined) return undefined
        ifNoneMatch = value
        break
      case 'x-request-id':
        if (requestId !== undefined) return undefined
        requestId = value
        break
      case 'traceparent':
        if (traceparent !== undefined) return undefined
        traceparent = value
        break
      case 'tracestate':
        if (tracestate !== undefined) return undefined
        tracestate = value
        break
      case 'authorization':
        // The framework refuses a malformed or second token.
        if (token !== undefined) return undefined
        token = bearerToken(value) ?? ''
        break
      // Node reports an invalid body after the request, when the response would already be sent.
      case 'content-length':
      case 'transfer-encoding':
      case 'cache-control':
      case 'expect':
      case 'if-match':
      case 'origin':
      case 'range':
      case 'upgrade':
        return undefined
    }
  }
  return token === undefined || token === '' || host === undefined
    ? undefined
    : { token, accept: accept ?? '', acceptEncoding, ifNoneMatch, requestId, traceparent, tracestate }
}

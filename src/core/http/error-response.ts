import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  internal,
  invalidBody,
  malformedRequest,
  queryCancelled,
  tooLarge,
  unsupportedMediaType,
  WellheadError,
} from '../base/errors.ts'

export interface ErrorBody {
  error: { code: string; message: string; request_id: string } & Record<string, unknown>
}

export function errorBody(error: WellheadError, requestId: string): ErrorBody {
  const { code, message, details } = error
  return { error: { code, message, ...details, request_id: requestId } }
}

/** Errors of the framework. */
const frameworkErrors: Record<string, (request: FastifyRequest) => WellheadError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) =>
    tooLarge(`The body is larger than ${(routeOptions.bodyLimit ?? 0) / 2 ** 20} MiB.`),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    unsupportedMediaType('The content type is not supported. Send application/json.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => invalidBody('The body does not match Content-Length.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => invalidBody('The body is empty. Send JSON.'),
  FST_ERR_CTP_INVALID_JSON_BODY: () => invalidBody('The body is not valid JSON.'),
}

export function handleError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const known = toKnownError(error, request)
  setErrorHeaders(known, error, request, reply)
  if (tooLarge.is(known) && !request.raw.complete) {
    // A caller that is cut off while it sends its body would not read the response.
    reply.removeHeader('Connection')
    request.raw.resume()
  }
  reply.code(known.status).type('application/json; charset=utf-8').send(errorBody(known, request.id))
}

export function setErrorHeaders(
  known: WellheadError,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  request.errorCode = known.code
  logServerError(known, error, request)
  const { cause } = known
  if (known.retryAfterSeconds !== undefined) reply.header('Retry-After', String(known.retryAfterSeconds))
  if (known.status === 401) {
    const reason = cause === undefined ? '' : `, error="invalid_token", error_description="${cause}"`
    reply.header('WWW-Authenticate', `Bearer realm="wellhead"${reason}`)
  }
  if (known.status === 405) reply.header('Allow', known.details.allowed?.join(', ') ?? '')
}

export function logServerError(known: WellheadError, error: Error, { log }: FastifyRequest): void {
  const { status, code, cause } = known
  if (status < 500) return
  // A deliberate refusal needs no stack trace, and can happen a thousand times a second.
  if (known === error && cause === undefined) log.warn({ code }, 'request refused')
  else log.error({ err: cause ?? error, code }, 'request failed')
}

export function toKnownError(error: FastifyError | Error, request: FastifyRequest): WellheadError {
  if (error instanceof WellheadError) return error
  const { code, statusCode } = error as FastifyError
  // The client left before its body was complete.
  if (code === 'ECONNRESET' && error === request.raw.errored) return queryCancelled()
  const translate = code === undefined ? undefined : frameworkErrors[code]
  if (translate) return translate(request)
  if (error instanceof SyntaxError && statusCode === 400) return invalidBody('The body is not valid JSON.')
  // Other client errors of the framework.
  if (code?.startsWith('FST_ERR_') && statusCode !== undefined && statusCode < 500) {
    return malformedRequest(`The request cannot be read: ${error.message}.`)
  }
  return internal(error)
}

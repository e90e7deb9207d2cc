import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  internal,
  invalidBody,
  malformedRequest,
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

/** The framework's own errors, in our words. */
const frameworkErrors: Record<string, (request: FastifyRequest) => WellheadError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) =>
    tooLarge(`The body is larger than ${(routeOptions.bodyLimit ?? 0) / 2 ** 20} MiB.`),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    unsupportedMediaType('The content type is not one that is read here.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => invalidBody('The body is not as long as Content-Length says.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => invalidBody('The body is empty; JSON was expected.'),
  FST_ERR_CTP_INVALID_JSON_BODY: () => invalidBody('The body is not valid JSON.'),
}

/** The one place where something thrown becomes an answer. */
export function handleError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const known = toKnownError(error, request)
  setErrorHeaders(known, error, request, reply)
  if (tooLarge.is(known) && !request.raw.complete) {
    // Cut off in the middle of its body, the caller would not see the response.
    reply.removeHeader('Connection')
    request.raw.resume()
  }
  reply.code(known.status).type('application/json; charset=utf-8').send(errorBody(known, request.id))
}

/** Writes the cause to the log, where it is ours, and the headers that go with the error. */
export function setErrorHeaders(
  known: WellheadError,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  request.errorCode = known.code
  const { status, code, cause } = known
  // What is refused on purpose has nothing inside that a stack could show, and may be refused a thousand times a second.
  if (status >= 500 && known === error && cause === undefined) request.log.warn({ code }, 'request refused')
  else if (status >= 500) request.log.error({ err: cause ?? error, code }, 'request failed')
  if (known.retryAfterSeconds !== undefined) reply.header('Retry-After', String(known.retryAfterSeconds))
  if (known.status === 401) {
    const reason = cause === undefined ? '' : `, error="invalid_token", error_description="${cause}"`
    reply.header('WWW-Authenticate', `Bearer realm="wellhead"${reason}`)
  }
  if (known.status === 405) reply.header('Allow', known.details.allowed?.join(', ') ?? '')
}

export function toKnownError(error: FastifyError | Error, request: FastifyRequest): WellheadError {
  if (error instanceof WellheadError) return error
  const { code, statusCode } = error as FastifyError
  const translate = code === undefined ? undefined : frameworkErrors[code]
  if (translate) return translate(request)
  if (error instanceof SyntaxError && statusCode === 400) return invalidBody('The body is not valid JSON.')
  // What the framework blames on the caller is the caller's, whatever it is called.
  if (code?.startsWith('FST_ERR_') && statusCode !== undefined && statusCode < 500) {
    return malformedRequest(`The request cannot be read: ${error.message}.`)
  }
  return internal(error)
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { unsupportedMediaType } from '../../base/errors.ts'
import type { LogIntake } from '../../intake/log-intake.ts'
import { encodeOtlpError, encodeOtlpResponse, type OtlpEncoding } from '../../intake/otlp/otlp.ts'
import { setErrorHeaders, toKnownError } from '../error-response.ts'
import { receiveBodiesAsStreams, uploadOf } from './log-routes.ts'

const contentTypes = { protobuf: 'application/x-protobuf', json: 'application/json' } as const

/** POST /v1/logs: OpenTelemetry's protocol over HTTP, with its own forms of success and error. */
export function addOtlpRoutes(server: FastifyInstance, intake: LogIntake): void {
  server.register(async (scope) => {
    receiveBodiesAsStreams(scope)
    scope.setErrorHandler((error: Error, request, reply) => {
      const known = toKnownError(error, request)
      setErrorHeaders(known, error, request, reply)
      const encoding = encodingOf(request) ?? 'json'
      return reply
        .code(known.status)
        .type(contentTypes[encoding])
        .send(encodeOtlpError(encoding, known.message))
    })
    scope.post('/v1/logs', { config: { access: 'ingest' } }, async (request, reply) => {
      const encoding = encodingOf(request)
      if (!encoding) throw unsupportedMediaType('Send OTLP as application/x-protobuf or application/json.')
      const header = request.headers['x-wellhead-source']
      const defaultSource = typeof header === 'string' && header !== '' ? header : undefined
      const received = await intake.receiveOtlp(uploadOf(request), encoding, defaultSource)
      const rejected = received.reduce((count, { result }) => count + result.rejected, 0)
      const reason = received.find(({ result }) => result.rejected > 0)?.result.errors[0]?.reason ?? ''
      return reply.type(contentTypes[encoding]).send(encodeOtlpResponse(encoding, rejected, reason))
    })
  })
}

function encodingOf(request: FastifyRequest): OtlpEncoding | undefined {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf'
  return type === 'application/json' ? 'json' : undefined
}

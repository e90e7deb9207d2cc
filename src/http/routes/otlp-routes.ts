import type { FastifyInstance, FastifyRequest } from 'fastify'
import { unsupportedMediaType } from '../../base/errors.ts'
import type { SentBody } from '../../intake/log-body.ts'
import { defaultOtlpSource, type LogIntake } from '../../intake/log-intake.ts'
import { encodeOtlpError, encodeOtlpResponse, type OtlpEncoding } from '../../intake/otlp/otlp.ts'
import { setErrorHeaders, toKnownError } from '../error-response.ts'
import { checkMaySend, sendingOf, takeBodiesAsStreams, withSentBody } from './log-routes.ts'

const contentTypes = { protobuf: 'application/x-protobuf', json: 'application/json' } as const

/** POST /v1/logs: OpenTelemetry's protocol over HTTP, with its own forms of success and error. */
export function addOtlpRoutes(server: FastifyInstance, intake: LogIntake): void {
  server.register(async (scope) => {
    takeBodiesAsStreams(scope)
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
      if (!encoding) throw unsupportedMediaType('OTLP is read as application/x-protobuf or application/json.')
      const { rejected, reason } = await withSentBody(intake, request, (body) =>
        store(intake, request, body, encoding),
      )
      return reply.type(contentTypes[encoding]).send(encodeOtlpResponse(encoding, rejected, reason))
    })
  })
}

async function store(
  intake: LogIntake,
  request: FastifyRequest,
  body: SentBody,
  encoding: OtlpEncoding,
): Promise<{ rejected: number; reason: string }> {
  const header = request.headers['x-wellhead-source']
  const preset = typeof header === 'string' && header !== '' ? header : defaultOtlpSource
  const answers = await intake.takeOtlp(body, encoding, preset, sendingOf(request), (source) =>
    checkMaySend(request, source),
  )
  return {
    rejected: answers.reduce((count, answer) => count + answer.rejected, 0),
    reason: answers.find(({ errors }) => errors.length > 0)?.errors[0]?.reason ?? '',
  }
}

function encodingOf(request: FastifyRequest): OtlpEncoding | undefined {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf'
  return type === 'application/json' ? 'json' : undefined
}

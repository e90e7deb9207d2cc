import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sourceNotFound, unsupportedMediaType } from '../base/errors.ts'
import { readLogBody } from '../ingest/log-body.ts'
import { defaultOtlpSource, type LogIntake } from '../ingest/log-intake.ts'
import { decodeOtlpLogs, encodeOtlpError, encodeOtlpResponse, type OtlpEncoding } from '../ingest/otlp.ts'
import { setErrorHeaders, toKnownError } from './error-response.ts'
import { idempotencyKeyOf, takeBodiesAsStreams } from './log-routes.ts'

const contentTypes = { protobuf: 'application/x-protobuf', json: 'application/json' } as const

/** POST /v1/logs: OpenTelemetry's protocol over HTTP, with its own forms of success and error. */
export function addOtlpRoutes(server: FastifyInstance, intake: LogIntake): void {
  server.register(async (scope) => {
    takeBodiesAsStreams(scope)
    scope.setErrorHandler((error: Error, request, reply) => {
      const known = toKnownError(error)
      setErrorHeaders(known, error, request, reply)
      const encoding = encodingOf(request) ?? 'json'
      return reply
        .code(known.status)
        .type(contentTypes[encoding])
        .send(encodeOtlpError(encoding, known.message))
    })
    scope.post('/v1/logs', async (request, reply) => {
      const encoding = encodingOf(request)
      if (!encoding) throw unsupportedMediaType('OTLP is read as application/x-protobuf or application/json.')
      const body = await readLogBody(
        request.body as Readable | undefined,
        request.headers['content-encoding'],
      )
      const { rejected, reason } = await store(intake, request, decodeOtlpLogs(body, encoding))
      return reply.type(contentTypes[encoding]).send(encodeOtlpResponse(encoding, rejected, reason))
    })
  })
}

async function store(
  intake: LogIntake,
  request: FastifyRequest,
  records: ReturnType<typeof decodeOtlpLogs>,
): Promise<{ rejected: number; reason: string }> {
  const header = request.headers['x-wellhead-source']
  const preset = typeof header === 'string' && header !== '' ? header : defaultOtlpSource
  const key = idempotencyKeyOf(request)
  const bySource = new Map<string, typeof records>()
  const unknown: string[] = []
  for (const record of records) {
    try {
      // By the one name that a source has: records for its aliases belong together.
      const source = intake.sourceNamed(record.source ?? preset)
      const group = bySource.get(source)
      if (group) group.push(record)
      else bySource.set(source, [record])
    } catch (error) {
      // Records for a source that is not there must not keep their neighbours out.
      if (!sourceNotFound.is(error)) throw error
      unknown.push(error.message)
    }
  }
  const answers = await Promise.all(
    [...bySource].map(([source, group]) =>
      intake.take(
        source,
        group.map(({ entry }) => ({ value: entry })),
        key,
      ),
    ),
  )
  return {
    rejected: answers.reduce((count, answer) => count + answer.rejected, unknown.length),
    reason: unknown[0] ?? answers.flatMap((answer) => answer.errors)[0]?.reason ?? '',
  }
}

function encodingOf(request: FastifyRequest): OtlpEncoding | undefined {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf'
  return type === 'application/json' ? 'json' : undefined
}

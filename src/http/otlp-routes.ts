import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sourceNotFound, unsupportedMediaType } from '../base/errors.ts'
import type { Refusal, SentEntry } from '../ingest/log-entries.ts'
import { defaultOtlpSource, type LogIntake, refusedSource } from '../ingest/log-intake.ts'
import { decodeOtlpLogs, encodeOtlpError, encodeOtlpResponse, type OtlpEncoding } from '../ingest/otlp.ts'
import type { OtlpRecord } from '../ingest/otlp-entry.ts'
import { setErrorHeaders, toKnownError } from './error-response.ts'
import { checkMaySend, sendingOf, takeBodiesAsStreams, withSentBody } from './log-routes.ts'

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
    scope.post('/v1/logs', { config: { access: 'ingest' } }, async (request, reply) => {
      const encoding = encodingOf(request)
      if (!encoding) throw unsupportedMediaType('OTLP is read as application/x-protobuf or application/json.')
      const { rejected, reason } = await withSentBody(intake, request, (body) =>
        store(intake, request, decodeOtlpLogs(body, encoding)),
      )
      return reply.type(contentTypes[encoding]).send(encodeOtlpResponse(encoding, rejected, reason))
    })
  })
}

async function store(
  intake: LogIntake,
  request: FastifyRequest,
  records: OtlpRecord[],
): Promise<{ rejected: number; reason: string }> {
  const sending = sendingOf(request)
  // Whatever is forbidden is so before anything is stored.
  const bySource = groupBySource(intake, request, records)
  const answers = await Promise.all(
    [...bySource].map(([source, entries]) => intake.take(source, entries, sending)),
  )
  return {
    rejected: answers.reduce((count, answer) => count + answer.rejected, 0),
    reason: answers.flatMap((answer) => answer.errors)[0]?.reason ?? '',
  }
}

/** By the one name that a source has: records for its aliases belong together. */
function groupBySource(
  intake: LogIntake,
  request: FastifyRequest,
  records: OtlpRecord[],
): Map<string, SentEntry[]> {
  const header = request.headers['x-wellhead-source']
  const preset = typeof header === 'string' && header !== '' ? header : defaultOtlpSource
  const places = new Map<string, Place>()
  const groups = new Map<string, SentEntry[]>()
  for (const { source = preset, entry } of records) {
    const place = places.get(source) ?? placeOf(intake, request, source)
    places.set(source, place)
    const group = groups.get(place.source)
    const sent = { value: entry, ...place.refused }
    if (group) group.push(sent)
    else groups.set(place.source, [sent])
  }
  return groups
}

interface Place {
  source: string
  refused?: { refusal: Refusal }
}

/** Records for a source that is not there must not keep their neighbours out. */
function placeOf(intake: LogIntake, request: FastifyRequest, source: string): Place {
  const name = intake.findSource(source)
  checkMaySend(request, name ?? source)
  if (name !== undefined) return { source: name }
  const refusal = { source, reason: sourceNotFound(source).message }
  return { source: refusedSource, refused: { refusal } }
}

function encodingOf(request: FastifyRequest): OtlpEncoding | undefined {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf'
  return type === 'application/json' ? 'json' : undefined
}

import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../../access/caller.ts'
import { forbidden, invalidParameter, tooLarge } from '../../base/errors.ts'
import { bodyLimits, type SentBody } from '../../intake/log-body.ts'
import { type LogIntake, ownSource, type Sending } from '../../intake/log-intake.ts'

const maxKeyLength = 256

/** Set where the answer is that of an earlier request with the same key. */
export const replayedHeader = 'Idempotency-Replayed'

/** POST /api/logs: 200 means that every accepted entry is on disk and that the next query sees it. */
export function addLogRoutes(server: FastifyInstance, intake: LogIntake): void {
  server.register(async (scope) => {
    takeBodiesAsStreams(scope)
    // Senders made for Logflare know the second address.
    for (const path of ['/api/logs', '/logs']) {
      scope.post(path, { config: { access: 'ingest' } }, async (request, reply) => {
        const source = sourceOf(request)
        const onReplay = () => void reply.header(replayedHeader, 'true')
        const sending = { ...sendingOf(request), onReplay }
        checkMaySend(request, intake.findSource(source) ?? source)
        return withSentBody(intake, request, async (body) => {
          const answer = await intake.take(source, body, request.headers['content-type'] ?? '', sending)
          return { message: 'Logged!', ...answer }
        })
      })
    }
  })
}

/** Bodies are bounded and unpacked while they are read, whatever their type. */
export function takeBodiesAsStreams(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (request, payload, done) => {
    // Told before it comes: a sender of too much need not send it.
    const tooLong = Number(request.headers['content-length'] ?? 0) > bodyLimits.maxSentBytes
    // Cut off in the middle, it would not hear the answer.
    if (tooLong) payload.resume()
    done(tooLong ? tooLarge('The body is larger than 12 MiB.') : null, payload)
  })
}

export function withSentBody<T>(
  intake: LogIntake,
  request: FastifyRequest,
  work: (body: SentBody) => Promise<T>,
): Promise<T> {
  return intake.withBody(request.body as Readable | undefined, request.headers['content-encoding'], work)
}

function sourceOf(request: FastifyRequest): string {
  const { source, source_name: sourceName } = request.query as Record<string, unknown>
  const given = source ?? sourceName
  if (typeof given !== 'string' || given === '') {
    throw invalidParameter('source', 'source must name one source: POST /api/logs?source=<name>.')
  }
  return given
}

export function sendingOf(request: FastifyRequest): Sending {
  const { id, project } = request.caller as Caller
  // A token may be from a time when its project could be any text; the engine stores well-formed ones only.
  return { caller: id, project: project?.toWellFormed(), key: idempotencyKeyOf(request) }
}

/** Asked also for sources that are not there, so that the answer does not tell which are. */
export function checkMaySend(request: FastifyRequest, source: string): void {
  if (!request.caller?.mayIngest(source)) throw forbidden(`The token may not send to the source "${source}".`)
  // Statistics that anybody could add to would be none.
  if (source === ownSource) throw forbidden(`${ownSource} is written by the service only.`)
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > maxKeyLength) {
    throw invalidParameter('Idempotency-Key', `Idempotency-Key must be 1 to ${maxKeyLength} characters long.`)
  }
  return key
}

import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalidParameter } from '../base/errors.ts'
import { readLogBody } from '../ingest/log-body.ts'
import { entriesOf } from '../ingest/log-entries.ts'
import type { LogIntake } from '../ingest/log-intake.ts'

const maxKeyLength = 256

/** POST /api/logs: 200 means that every accepted entry is on disk and that the next query sees it. */
export function addLogRoutes(server: FastifyInstance, intake: LogIntake): void {
  server.register(async (scope) => {
    takeBodiesAsStreams(scope)
    // Senders made for Logflare know the second address.
    for (const path of ['/api/logs', '/logs']) {
      scope.post(path, async (request) => {
        const source = sourceOf(request)
        const key = idempotencyKeyOf(request)
        const body = await readLogBody(
          request.body as Readable | undefined,
          request.headers['content-encoding'],
        )
        const entries = entriesOf(body, request.headers['content-type'] ?? '')
        const answer = await intake.take(source, entries, key)
        return { message: 'Logged!', ...answer }
      })
    }
  })
}

/** Bodies are bounded and unpacked while they are read, whatever their type. */
export function takeBodiesAsStreams(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
}

function sourceOf(request: FastifyRequest): string {
  const { source, source_name: sourceName } = request.query as Record<string, unknown>
  const given = source ?? sourceName
  if (typeof given !== 'string' || given === '') {
    throw invalidParameter('source', 'source must name one source: POST /api/logs?source=<name>.')
  }
  return given
}

export function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > maxKeyLength) {
    throw invalidParameter('Idempotency-Key', `Idempotency-Key must be 1 to ${maxKeyLength} characters long.`)
  }
  return key
}

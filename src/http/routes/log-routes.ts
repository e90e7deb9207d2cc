import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../../access/caller.ts'
import { invalidParameter } from '../../base/errors.ts'
import type { LogIntake, Upload } from '../../intake/log-intake.ts'
import { bodyLimits, bodyTooLarge } from '../../intake/request-body.ts'

const maxKeyLength = 256

/** Set if the response repeats that of an earlier request with the same idempotency key. */
export const replayedHeader = 'Idempotency-Replayed'

/** POST /api/logs: 200 means that every accepted entry is on disk and that the next query sees it. */
export function addLogRoutes(server: FastifyInstance, intake: LogIntake): void {
  server.register(async (scope) => {
    receiveBodiesAsStreams(scope)
    // Logflare clients send to /logs.
    for (const path of ['/api/logs', '/logs']) {
      scope.post(path, { config: { access: 'ingest' } }, async (request, reply) => {
        const contentType = request.headers['content-type'] ?? ''
        const source = sourceOf(request)
        const { result, replayed } = await intake.receiveLogs(uploadOf(request), source, contentType)
        if (replayed) reply.header(replayedHeader, 'true')
        return { message: 'Logged!', ...result }
      })
    }
  })
}

/** The intake reads bodies itself, whatever their type, to limit and decompress them on the way. */
export function receiveBodiesAsStreams(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (request, payload, done) => {
    const isTooLarge = Number(request.headers['content-length'] ?? 0) > bodyLimits.maxSentBytes
    // A sender that is cut off would not see the response.
    if (isTooLarge) payload.resume()
    done(isTooLarge ? bodyTooLarge() : null, payload)
  })
}

export function uploadOf(request: FastifyRequest): Upload {
  return {
    body: request.body as Readable | undefined,
    contentEncoding: request.headers['content-encoding'],
    idempotencyKey: idempotencyKeyOf(request),
    sender: request.caller as Caller,
  }
}

function sourceOf(request: FastifyRequest): string {
  const { source, source_name: sourceName } = request.query as Record<string, unknown>
  const name = source ?? sourceName
  if (typeof name !== 'string' || name === '') {
    throw invalidParameter('source', 'Name one source: POST /api/logs?source=<name>.')
  }
  return name
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > maxKeyLength) {
    throw invalidParameter('Idempotency-Key', `Idempotency-Key must be 1 to ${maxKeyLength} characters long.`)
  }
  return key
}

import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { invalidParameter } from '../../../base/errors.ts'
import type { FieldShapes } from '../../../base/validation.ts'
import type { IntakeOutcome } from '../../../intake/entry-store.ts'
import { sourceFields } from '../../../intake/log-entries.ts'
import { type LogIntake, oneSource, type Upload } from '../../../intake/log-intake.ts'
import { bodyLimits, bodyTooLarge } from '../../../intake/request-body.ts'
import { text } from '../../request-recorder.ts'
import { json, routesOf } from '../route.ts'

const maxKeyLength = 256

const sentEntry = z.looseObject({
  source: z.string().optional().describe('Name or alias of its source, if the request names none.'),
  event_message: z.unknown().optional().describe('Text of the message. Other values are stored as JSON.'),
  message: z.unknown().optional().describe('Alias of event_message.'),
  msg: z.unknown().optional().describe('Alias of event_message, after message.'),
  timestamp: z
    .union([z.string(), z.number()])
    .optional()
    .describe('ISO 8601, or an integer in s, ms, µs or ns. Default: the time of arrival.'),
  time: z.unknown().optional().describe('Alias of timestamp, unless it is not a time.'),
  id: z.string().max(128).optional().describe('Default: a new UUIDv7.'),
  project: z.string().optional().describe('Default: `metadata.project_ref`, then `metadata.project`.'),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Nested data, with all other keys of the entry.'),
})

const sentBatch = z.object({
  batch: z.array(sentEntry),
  source: z.string().optional().describe('Name or alias of the source, if address and headers name none.'),
  source_name: z.string().optional().describe('Alias of source.'),
  collection: z.string().optional().describe('Alias of source, after source_name.'),
  collection_name: z.string().optional().describe('Alias of source, after collection.'),
})

const logResponse = z.object<
  FieldShapes<Omit<IntakeOutcome, 'withoutProject' | 'overQuota'> & { message: string }>
>({
  message: z.literal('Logged!').describe('Always the same.'),
  accepted: z.int().describe('Number of entries stored on disk.'),
  rejected: z
    .int()
    .describe(
      'Number of entries that were not stored. The source `quarantine` has them, except those over the limits of a plan.',
    ),
  dropped: z
    .int()
    .optional()
    .describe('Number of entries that rules of their source dropped. Absent if there are none.'),
  errors: z
    .array(z.object({ index: z.int(), reason: z.string() }))
    .describe('For each of the first 100 rejected entries its index in the request, and the reason.'),
})

/** Names in the OpenAPI document. */
const components = {
  input: { LogEntry: sentEntry },
  output: { LogResponse: logResponse },
}

const query = z.object({
  source: z.string(oneSource).optional().meta({
    description: 'Name or alias of the source. Default: the field `source` of each entry.',
    example: 'edge_logs',
  }),
  source_name: z.string(oneSource).optional().describe('Alias of source.'),
  collection: z.string(oneSource).optional().describe('Alias of source, after source_name.'),
  collection_name: z.string(oneSource).optional().describe('Alias of source, after collection.'),
})
const sourceHeaders = z.object({
  'X-Source': z.string().optional().describe('The source, if the address names none.'),
  'X-Collection': z.string().optional().describe('Alias of X-Source.'),
})
export const idempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .describe('The same request with the same key is stored once a day. Another body with the key gets 422.'),
})
const example = {
  project: 'demo',
  event_message: 'GET /rest/v1/orders',
  metadata: { request: { url: 'https://demo.example.com/rest/v1/orders', path: '/rest/v1/orders' } },
}
export const sendErrors = [404, 422, 507]
const intakeHeaders = ['Idempotency-Replayed', 'Wellhead-Without-Project'] as const

export function addLogRoutes(server: FastifyInstance, { intake }: { intake: LogIntake }): void {
  server.components.add(components)
  server.register(async (scope) => {
    receiveBodiesAsStreams(scope)
    const route = routesOf(scope, { tag: 'Sending logs', access: 'ingest' })
    for (const [path, id, summary] of [
      ['/api/logs', 'sendLogs', 'Send entries'],
      ['/logs', 'sendLogsFromLogflare', 'Send entries from Logflare clients'],
    ] as const) {
      route(`POST ${path}`, id, summary, {
        description:
          'Status 200 means that all accepted entries are on disk and visible to the next query. ' +
          'The body can be compressed with `gzip` or `deflate`.',
        query,
        headers: sourceHeaders.extend(idempotencyKey.shape),
        body: {
          required: true,
          content: {
            'application/json': {
              schema: z.union([sentEntry, z.array(sentEntry), sentBatch]),
              example,
            },
            'application/x-ndjson': { schema: { type: 'string', description: 'One entry per line.' } },
          },
        },
        responses: {
          200: json('Stored and rejected entries.', logResponse, intakeHeaders),
        },
        errors: sendErrors,
        handler: async (request, reply) => {
          const source = namedSource(request)
          const contentType = request.headers['content-type'] ?? ''
          const { result, repeated } = await intake.receiveLogs(uploadOf(request), source, contentType)
          const { withoutProject, overQuota: _, ...counts } = result
          if (repeated) reply.header('Idempotency-Replayed', 'true')
          if (withoutProject > 0) reply.header('Wellhead-Without-Project', withoutProject)
          return { message: 'Logged!', ...counts }
        },
      })
    }
  })
}

/** The source that the address names, else a header. Logflare's clients use all of these names. */
function namedSource({ query, headers }: FastifyRequest): string | undefined {
  const sent = query as Partial<Record<(typeof sourceFields)[number], string>>
  const names = [...sourceFields.map((name) => sent[name]), headers['x-source'], headers['x-collection']]
  return names.map(text).find((name) => name !== undefined && name !== '')
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

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > maxKeyLength) {
    throw invalidParameter('Idempotency-Key', `Idempotency-Key must be 1 to ${maxKeyLength} characters long.`)
  }
  return key
}

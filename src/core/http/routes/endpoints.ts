import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  type Replay,
  type ReplayedRequest,
  type Replays,
  type RunFigures,
  replayShape,
} from '../../../features/replay/replays.ts'
import type { Caller } from '../../access/caller.ts'
import type { FieldShapes } from '../../base/validation.ts'
import type { Definitions } from '../../definitions/definitions.ts'
import type { EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import { parameterShape, parameterView } from '../../endpoints/definition/parameter-declaration.ts'
import type { Endpoints, SavedEndpoint } from '../../endpoints/manage/endpoints.ts'
import { jsonPathShape } from '../../sql/paths.ts'
import { warningShape } from '../../sql/warnings/warning.ts'
import { goneSignal } from '../connections.ts'
import { nameComponents } from '../openapi/json-schema.ts'
import { documentedKind, referenceParams } from './kind-routes.ts'
import { json, jsonBody, routesOf } from './route.ts'

const replayBody = z.strictObject({
  ...replayShape.shape,
  // A copy with a description would not be the named component.
  endpoint: z
    .lazy(() => documentedKind('endpoints').change)
    .describe('Fields of the new version. Omitted fields stay as they are.'),
})

const replayRun = z.object<FieldShapes<RunFigures>>({
  rows: z.int().nullable().describe('Rows of the result. Null: the request failed.'),
  duration_ms: z.number().describe('Time spent in the engine.'),
  rows_read: z.int().nullable().describe('Rows that the engine read. Null if unknown.'),
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe('Why the request failed. Null: it did not.'),
})

const row = z.record(z.string(), z.unknown()).nullable()

const replayedRequest: z.ZodType<ReplayedRequest> = z.object({
  uses: z.int().describe('How often it was sent. Recent requests count more.'),
  tenant: z.boolean().describe('Whether it was sent with a token that is limited to a project.'),
  format: z.string().describe('The most frequent format.'),
  outcome: z.enum(['same', 'different', 'failed']).describe('`failed`: only the new version fails.'),
  before: replayRun.describe('The current version.'),
  after: replayRun.describe('The new version.'),
  added_rows: z.int().describe('Rows that only the new version returns, also because a value changed.'),
  removed_rows: z.int().describe('Rows that only the current version returns.'),
  reordered: z.boolean().describe('Whether both return the same rows in another order.'),
  unstable: z.boolean().describe('Whether the current version, run again, returned something else.'),
  parameters: z.record(z.string(), z.string()).exactOptional().describe('Parameters that were sent.'),
  project: z.string().nullable().exactOptional().describe('Project of the token.'),
  examples: z
    .array(z.object({ before: row, after: row }))
    .exactOptional()
    .describe('Up to 5 rows that differ. Null: the version does not return the row.'),
})

const replay = z.object<FieldShapes<Replay>>({
  endpoint: z.string().describe('Name of the endpoint.'),
  version: z.int().describe('The current version.'),
  at: z.iso.datetime().describe('The time that both versions got as `@now`.'),
  requests: z.array(replayedRequest).describe('At most 50 requests, most frequent first.'),
  skipped: z.int().describe('Requests that were not run because the time was over.'),
})

const maxResults = 200

const seconds = z.int().min(0)
const cachedResult = z.object({
  key: z.string().describe('First characters of the key of the result.'),
  parameters: z.record(z.string(), z.string()).describe('Parameters as they were sent.'),
  project: z.string().nullable().describe("Project of the tenant's token. Null: requests of other tokens."),
  format: z.string().describe('Format of the result.'),
  version: z.int().describe('Version of the endpoint.'),
  age_seconds: seconds.describe('Since its query started.'),
  expires_in_seconds: seconds.describe('Until it is no longer fresh.'),
  refresh_in_seconds: seconds.nullable().describe('Until its next refresh. Null if it is not kept warm.'),
  bytes: z.int().describe('Bytes in memory.'),
  rows: z.int().describe('Rows. 0 if unknown.'),
  uses: z.int().describe('Number of requests that it served. Each refresh halves it.'),
  last_used_seconds: seconds.describe('Since the last request.'),
  state: z.enum(['fresh', 'stale', 'expired']).describe('Expired results are only served instead of errors.'),
  warm: z.boolean().describe('Whether it is refreshed in the background.'),
  failure: z.string().nullable().describe('Code of the error if the last refresh failed.'),
})
const cached = z.object({
  cache_seconds: z.int().nullable().describe('How long results are cached. Null: not cached.'),
  warm_seconds: z.int().nullable().describe('How often results are refreshed. Null: never.'),
  total: z.int().describe('Number of all results.'),
  results: z.array(cachedResult).describe(`At most ${maxResults}, the most used first.`),
})

nameComponents('input', { ParameterFields: parameterShape, ReplayFields: replayBody })
nameComponents('output', {
  Parameter: parameterView,
  Warning: warningShape,
  JsonPath: jsonPathShape,
  ReplayRun: replayRun,
  ReplayedRequest: replayedRequest,
  Replay: replay,
  CachedResult: cachedResult,
  EndpointCache: cached,
})

export const params = referenceParams('endpoints')

/** What endpoints have beyond all kinds: paths, replays and cached results. */
export function addEndpointRoutes(
  server: FastifyInstance,
  {
    definitions,
    endpoints,
    calls,
    replays,
  }: { definitions: Definitions; endpoints: Endpoints; calls: EndpointCalls; replays: Replays },
): void {
  const route = routesOf(server, { tag: 'Endpoints', access: 'read' })
  route(
    'GET /api/endpoints/:reference/paths',
    'listJsonPaths',
    'List paths that an endpoint reads from JSON text',
    {
      description: 'Paths of `metadata` that a typed column (`columns` of the source) makes faster to read.',
      params,
      responses: { 200: json('All paths, in the order of the SQL.', z.array(jsonPathShape)) },
      handler: async ({ params, caller }) =>
        endpoints.paths(definitions.find('endpoints', params.reference, caller)),
    },
  )
  route(
    'GET /api/endpoints/:reference/cache',
    'listCachedResults',
    'List the cached results of an endpoint',
    {
      description: 'Results in the memory of this process.',
      params,
      responses: { 200: json('The results.', cached) },
      handler: async ({ params, caller }) => {
        const found = definitions.find<SavedEndpoint>('endpoints', params.reference, caller)
        const { id, cache_seconds, warm_seconds } = found.definition
        const all = calls.cachedOf(id)
        return { cache_seconds, warm_seconds, total: all.length, results: all.slice(0, maxResults) }
      },
    },
  )
  route(
    'DELETE /api/endpoints/:reference/cache',
    'dropCachedResults',
    'Drop the cached results of an endpoint',
    {
      access: 'edit',
      description: 'The next requests compute them again. Other processes keep theirs.',
      params,
      responses: { 204: json('The results are dropped.') },
      handler: async ({ params, caller }) =>
        calls.cache.drop(definitions.find('endpoints', params.reference, caller).id),
    },
  )
  route('POST /api/endpoints/:reference/replay', 'replayRequests', 'Try a change with recent requests', {
    access: 'edit',
    description:
      'Runs the most frequent requests that are in the cache against the current version and the new one, and ' +
      'compares the rows. Nothing is saved. Stops after 60 s.',
    params,
    body: jsonBody(replayBody, {
      endpoint: { query: 'SELECT count() AS n FROM edge_logs WHERE timestamp > @now - INTERVAL 1 DAY' },
    }),
    responses: { 200: json('What would change for callers.', replay) },
    errors: [422, 504],
    handler: async (request, reply) => {
      const { params, body } = request
      const caller = request.caller as Caller
      const find = () => definitions.find<SavedEndpoint>('endpoints', params.reference, caller)
      return replays.replay(find, body, caller, goneSignal(reply))
    },
  })
}

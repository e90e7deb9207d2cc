import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import type { FieldShapes } from '../../core/base/validation.ts'
import type { Definitions } from '../../core/definitions/definitions.ts'
import { endpoints as endpointKind } from '../../core/endpoints/manage/endpoint-kind.ts'
import type { SavedEndpoint } from '../../core/endpoints/manage/endpoints.ts'
import { goneSignal } from '../../core/http/connections.ts'
import { documented, referenceParams } from '../../core/http/routes/kind-routes.ts'
import { json, jsonBody, routesOf } from '../../core/http/routes/route.ts'
import type { Replay, ReplayedRequest, RunFigures } from '../../shared/replayed-requests.ts'
import { type Replays, replayShape } from './replays.ts'

const replayBody = z.strictObject({
  ...replayShape.shape,
  // A copy with a description would not be the named component.
  endpoint: z
    .lazy(() => documented(endpointKind).change)
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

/** Trying a change of an endpoint with recent requests. */
export function addReplayRoutes(
  server: FastifyInstance,
  { definitions, replays }: { definitions: Definitions; replays: Replays },
): void {
  server.components.add({
    input: { ReplayFields: replayBody },
    output: { ReplayRun: replayRun, ReplayedRequest: replayedRequest, Replay: replay },
  })
  const route = routesOf(server, { tag: 'Endpoints', access: 'read' })
  route('POST /api/endpoints/:reference/replay', 'replayRequests', 'Try a change with recent requests', {
    access: 'edit',
    description:
      'Runs the most frequent requests that are in the cache against the current version and the new one, and ' +
      'compares the rows. Nothing is saved. Stops after 60 s.',
    params: referenceParams(endpointKind),
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

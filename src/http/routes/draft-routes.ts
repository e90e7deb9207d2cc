import type { FastifyInstance } from 'fastify'
import type { EndpointDrafts } from '../../endpoints/manage/endpoint-drafts.ts'
import { sendResult } from '../send-result.ts'
import { changedBy } from './management.ts'
import { goneSignal } from './query-routes.ts'

/** Looking at endpoints that are not saved, and trying them. */
export function addDraftRoutes(server: FastifyInstance, drafts: EndpointDrafts): void {
  server.post('/api/endpoints/check', async (request, reply) =>
    drafts.check(request.body, changedBy(request), goneSignal(request, reply)),
  )
  server.post('/api/endpoints/preview', async (request, reply) => {
    const since = performance.now()
    const run = await drafts.preview(request.body, changedBy(request), goneSignal(request, reply))
    const { columns, answer } = run
    // The rows are the engine's own bytes, in the frame of a call; the columns go before them.
    const head = Buffer.from(`{"columns":${JSON.stringify(columns)},`)
    const body = Buffer.concat([head, answer.body.subarray(1)])
    const type = 'application/json; charset=utf-8'
    return sendResult(request, reply, { kind: 'computed', answer: { ...answer, body } }, type, since)
  })
}

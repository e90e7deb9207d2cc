import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { idleMetrics } from '../../../test/support/metrics.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import type { SlowCalls } from '../../observability/slow-calls.ts'
import { addObservabilityRoutes } from './observability-routes.ts'

async function metricsOf(openMetrics: boolean): Promise<string> {
  const server = fastify()
  const routes = { metrics: idleMetrics(), openMetrics, slowCalls: {} as SlowCalls }
  addObservabilityRoutes(server, routes, {} as Endpoints)
  return (await server.inject('/metrics')).body
}

test('metrics that need no token leave out how many rows were read', async () => {
  expect(await metricsOf(false)).toContain('wellhead_rows_read_total')
  const open = await metricsOf(true)
  expect(open).not.toContain('rows_read')
  expect(open).toContain('wellhead_call_duration_seconds')
})

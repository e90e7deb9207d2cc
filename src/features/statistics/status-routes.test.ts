import { fastify } from 'fastify'
import { expect, test } from 'vitest'
import { idleMetrics } from '../../../test/support/metrics.ts'
import { listRoutes } from '../../core/http/routes/route.ts'
import { addStatusRoutes } from './status-routes.ts'

async function metricsOf(openMetrics: boolean): Promise<string> {
  const server = fastify()
  listRoutes(server)
  addStatusRoutes(server, {
    metrics: idleMetrics(),
    openMetrics,
    engineStatus: () => ({ ready: true, restarts: 0 }),
    phase: () => 'open',
  })
  return (await server.inject('/metrics')).body
}

test('metrics without a token do not include the number of rows read', async () => {
  expect(await metricsOf(false)).toContain('wellhead_rows_read_total')
  const open = await metricsOf(true)
  expect(open).not.toContain('rows_read')
  expect(open).toContain('wellhead_call_duration_seconds')
})

import type { FastifyInstance } from 'fastify'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { SlowCalls } from '../../observability/slow-calls.ts'

export interface ObservabilityRoutes {
  metrics: Metrics
  /** Whether the metrics can be read without a token. */
  openMetrics: boolean
  slowCalls: SlowCalls
}

type Referenced = { Params: { reference: string } }

/** Metrics for Prometheus, and the calls that took longest or failed. */
export function addObservabilityRoutes(
  server: FastifyInstance,
  { metrics, openMetrics, slowCalls }: ObservabilityRoutes,
  endpoints: Endpoints,
): void {
  const access = openMetrics ? 'public' : 'admin'
  // What was read depends on entries of all tenants, and without a token anybody could watch it.
  if (openMetrics) metrics.registry.removeSingleMetric('wellhead_rows_read_total')
  server.get('/metrics', { logLevel: 'silent', config: { access } }, async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.text()),
  )
  server.get<Referenced>('/api/endpoints/:reference/slow', async ({ params }) =>
    slowCalls.of(endpoints.get(params.reference).definition.id),
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { isolationUnverified } from '../../core/base/errors.ts'
import { version } from '../../core/base/package-file.ts'
import { type EngineStatus, engineShape, readyState } from '../../core/http/engine-status.ts'
import type { Phase } from '../../core/http/phase.ts'
import { json, routesOf, text } from '../../core/http/routes/route.ts'
import type { Metrics } from './metrics.ts'

const readiness = z.object(readyState)
const status = z.looseObject({
  version: z.string().describe('Version of the service.'),
  ...readyState,
  engine: engineShape.describe('Version of the engine, and how often it was restarted.'),
})
/** Names in the OpenAPI document. */
const components = {
  output: { Readiness: readiness, Status: status },
}

interface StatusParts {
  engineStatus: () => EngineStatus
  phase: () => Phase
  metrics: Metrics
  /** Whether metrics need no token. */
  openMetrics: boolean
}

export function addStatusRoutes(
  server: FastifyInstance,
  { engineStatus, phase, metrics, openMetrics }: StatusParts,
): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'State and description', access: 'public' })
  const silent = { logLevel: 'silent' } as const
  const readinessNow = () => {
    if (phase() === 'stopping') return { ready: false, reason: 'The service is stopping.' }
    const { ready, reason, leak } = engineStatus()
    if (ready && phase() === 'starting') return { ready: false, reason: 'The service is starting.' }
    if (!ready) return { ready, reason }
    // Admins are served and entries are stored, so requests must keep coming.
    return { ready, ...(leak !== undefined && { reason: isolationUnverified(leak).message }) }
  }
  route('GET /health', 'getHealth', 'Check whether the process is alive', {
    responses: { 200: json('The process is alive.', z.object({ status: z.literal('alive') })) },
    options: silent,
    handler: async () => ({ status: 'alive' }),
  })
  route('GET /ready', 'getReadiness', 'Check whether requests and logs are served', {
    responses: {
      200: json('The service is ready.', readiness),
      503: json('The service is not ready.', readiness, ['Retry-After']),
    },
    options: silent,
    handler: async (_request, reply) => {
      const state = readinessNow()
      if (!state.ready) reply.code(503).header('Retry-After', '1')
      return state
    },
  })
  route('GET /api/status', 'getStatus', 'Show versions and the state of the engine', {
    access: 'read',
    responses: { 200: json('The state.', status) },
    handler: async () => ({ version, ...readinessNow(), engine: engineStatus() }),
  })
  // The number of rows read depends on entries of all tenants.
  if (openMetrics) metrics.meters.registry.removeSingleMetric('wellhead_rows_read_total')
  route('GET /metrics', 'getMetrics', 'Read metrics in the format of Prometheus', {
    access: openMetrics ? 'public' : 'admin',
    description: 'Requires no token if the setting `WELLHEAD_METRICS` is `open`.',
    responses: { 200: text('The metrics.', 'text/plain') },
    options: silent,
    handler: async (_request, reply) =>
      reply.type(metrics.meters.registry.contentType).send(await metrics.text()),
  })
}

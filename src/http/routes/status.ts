import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { isolationUnverified } from '../../base/errors.ts'
import { version } from '../../base/package-file.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { nameComponents } from '../openapi/json-schema.ts'
import { json, routesOf, text } from './route.ts'

export interface StatusRoutes {
  engineStatus: () => EngineStatus
  /** What one tenant can see of another, if anything. Asked for every request. */
  leak: () => string | undefined
  stopping: () => boolean
  /** Whether everything besides the engine is ready. */
  open: () => boolean
}

export interface MetricsRoutes {
  metrics: Metrics
  openMetrics: boolean
}

const state = {
  ready: z.boolean().describe('Whether requests and logs are served.'),
  reason: z.string().exactOptional().describe('Why not, or why tenants are refused.'),
}
const leak = z.string().exactOptional().describe('What one tenant can see of another there.')
const readiness = z.object(state)
const engineState = { ...state, version: z.string().exactOptional(), restarts: z.int() }
const node = z.object({
  node: z.string().describe('Host and port.'),
  ...engineState,
  leak,
})
const engine = z.object({
  ...engineState,
  leak,
  nodes: z.array(node).readonly().exactOptional().describe('The nodes of a ClickHouse server or cluster.'),
})
export type EngineStatus = z.output<typeof engine>

const status = z.looseObject({
  version: z.string().describe('Version of the service.'),
  ...state,
  engine: engine.describe('Version of the engine, and how often it was restarted.'),
})
nameComponents('output', { Readiness: readiness, Status: status })

const tag = 'State and description'

export function addStatusRoutes(server: FastifyInstance, { engineStatus, stopping, open }: StatusRoutes) {
  const route = routesOf(server, { tag, access: 'public' })
  const options = { logLevel: 'silent' } as const
  const readinessNow = () => {
    if (stopping()) return { ready: false, reason: 'The service is stopping.' }
    const { ready, reason, leak } = engineStatus()
    if (ready && !open()) return { ready: false, reason: 'The service is starting.' }
    if (!ready) return { ready, reason }
    // Admins are served and entries are stored, so requests must keep coming.
    return { ready, ...(leak !== undefined && { reason: isolationUnverified(leak).message }) }
  }
  route('GET /health', 'getHealth', 'Check whether the process is alive', {
    responses: { 200: json('The process is alive.', z.object({ status: z.literal('alive') })) },
    options,
    handler: async () => ({ status: 'alive' }),
  })
  route('GET /ready', 'getReadiness', 'Check whether requests and logs are served', {
    responses: {
      200: json('The service is ready.', readiness),
      503: json('The service is not ready.', readiness, ['Retry-After']),
    },
    options,
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
}

export function addMetricsRoutes(server: FastifyInstance, { metrics, openMetrics }: MetricsRoutes): void {
  const route = routesOf(server, { tag, access: openMetrics ? 'public' : 'admin' })
  // The number of rows read depends on entries of all tenants.
  if (openMetrics) metrics.registry.removeSingleMetric('wellhead_rows_read_total')
  route('GET /metrics', 'getMetrics', 'Read metrics in the format of Prometheus', {
    description: 'Requires no token if the setting `WELLHEAD_METRICS` is `open`.',
    responses: { 200: text('The metrics.', 'text/plain') },
    options: { logLevel: 'silent' },
    handler: async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.text()),
  })
}

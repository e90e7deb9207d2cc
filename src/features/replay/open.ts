import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { Replays } from './replays.ts'
import { addReplayRoutes } from './routes.ts'

const withinMs = 60_000

export type OpenReplay = Awaited<ReturnType<typeof openReplay>>

export async function openReplay(core: Core) {
  const { engine, runner, cache, readable, calls, time, settings, definitions } = core
  const replays = new Replays({
    ...{ engine, runner, cache, time },
    sources: readable,
    retentionOf: calls.retentionOf,
    withinMs: withinMs * settings.engineTimeoutFactor,
  })
  return { routes: (server: FastifyInstance) => addReplayRoutes(server, { definitions, replays }) }
}

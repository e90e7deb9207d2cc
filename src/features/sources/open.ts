import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { sourceDetails } from './caller-details.ts'
import { HiddenEntries } from './hidden-entries.ts'
import { addSourceRoutes } from './routes.ts'
import { sourceInfo } from './source-info.ts'
import { sources as sourceKind } from './source-kind.ts'
import { SourceRetention } from './source-retention.ts'
import { sourceUsage } from './source-usage.ts'
import { addUsageRoutes } from './usage-routes.ts'

export type OpenSources = Awaited<ReturnType<typeof openSources>>

export async function openSources(core: Core) {
  const { engine, time, log, catalog, sources, rules, hidden, freeBytes, settings, hooks } = core
  const { calls, endpoints } = core
  const { deleteAfter: deleteAfterMs } = settings
  const retention = new SourceRetention({ engine, time, log, catalog, sources, deleteAfterMs })
  const hiddenEntries = new HiddenEntries({ engine, clock: time.wall, hidden, deleteAfterMs })
  const info = sourceInfo({ engine, sources, hidden })
  const usage = sourceUsage({
    ...{ engine, sources, hidden, freeBytes },
    clock: time.wall,
    reserveBytes: settings.diskReserve,
  })
  hooks.hiddenRows.push(() => retention.hidden)
  hooks.callerDetails.push(sourceDetails(info))
  sources.follow((changes) => retention.changed(changes))
  return {
    info,
    hiddenEntries,
    kinds: [{ ...sourceKind, ...sourceKind.open({ engine, sources, hiddenEntries }) }],
    routes(server: FastifyInstance) {
      addSourceRoutes(server, { sources: info, rules })
      addUsageRoutes(server, { usage, calls, endpoints })
    },
    load: () => retention.open(),
    stop: () => retention.stop(),
  }
}

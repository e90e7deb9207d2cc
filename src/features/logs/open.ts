import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { sources as sourcesFeature } from '../sources/index.ts'
import { entryDetails } from './caller-details.ts'
import { LogSearch } from './log-search.ts'
import { addRulePreviewRoutes, addSavedSearchRoutes, addSearchRoutes } from './routes.ts'
import { SavedSearches } from './saved-searches.ts'

export type OpenLogs = Awaited<ReturnType<typeof openLogs>>

export async function openLogs(core: Core) {
  const { engine, time, catalog, sources, rules, hidden, runner, settings, hooks } = core
  const { info } = core.feature(sourcesFeature)
  const search = new LogSearch({
    ...{ engine, sources, hidden },
    clock: time.wall,
    maxMemoryBytes: Math.floor(settings.engineMemory / 2),
    inTurn: (turn, work) => runner.inTurn(turn, work),
    threads: () => runner.searchThreads,
  })
  const searches = new SavedSearches(catalog, sources)
  hooks.callerDetails.push(entryDetails(info, search))
  return {
    search,
    routes(server: FastifyInstance) {
      addSearchRoutes(server, { search, sources: info })
      addSavedSearchRoutes(server, { searches })
      addRulePreviewRoutes(server, { sources: info, rules, search })
    },
  }
}

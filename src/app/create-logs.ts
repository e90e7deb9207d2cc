import { availableParallelism } from 'node:os'
import { LogIntake } from '../intake/log-intake.ts'
import type { Metrics } from '../observability/metrics.ts'
import { LogSearch } from '../sources/log-search.ts'
import { RulePreview } from '../sources/rule-preview.ts'
import { SavedSearches } from '../sources/saved-searches.ts'
import { SourceInfo } from '../sources/source-info.ts'
import { sourceUsage } from '../sources/source-usage.ts'
import type { EndpointParts } from './create-endpoints.ts'
import { maxPendingLogBytes, type Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type LogParts = ReturnType<typeof createLogs>

/** What takes entries in, finds them, and says how many there are. */
export function createLogs(
  { settings, time }: ServiceOptions,
  storage: Storage,
  { runner }: EndpointParts,
  metrics: Metrics,
) {
  const { catalog, sources, rules, projects } = storage
  const parts = { ...storage, clock: time.wall }
  const search = new LogSearch({
    ...parts,
    maxMemoryBytes: Math.floor(settings.engineMemory / 2),
    hidden: () => projects.erasures.hidden,
    inTurn: (turn, work) => runner.inTurn(turn, work),
  })
  return {
    intake: new LogIntake({
      ...parts,
      observer: metrics,
      maxBodyBytes: maxPendingLogBytes,
      maxReaders: Math.min(2, availableParallelism()),
    }),
    sources: new SourceInfo(parts),
    search,
    rulePreview: new RulePreview({ sources, rules, search }),
    searches: new SavedSearches(catalog, sources),
    usage: sourceUsage({ ...parts, reserveBytes: settings.diskReserve }),
  }
}

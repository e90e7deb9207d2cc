import { resultTag } from '../core/endpoints/call/call.ts'
import type { Http } from './create-http.ts'
import type { Parts } from './create-parts.ts'

/** What follows from a change of a definition, once it is stored. Nothing else listens to definitions. */
export function followChanges(parts: Parts, { streams, hot }: Http): void {
  const { sources, tables, endpoints, dashboards, alerts, projects, keys, arrivals, tail } = parts
  const { cache, results, warmKeys, queue, access, evaluator, metrics, statistics } = parts
  const sourceChanged = (name: string, isReplaced: boolean) => {
    // Results that read a source change when it is created, changed or deleted.
    arrivals.note(name)
    if (!sources.named(name)) tail.close(name)
    // Nobody gets entries of a deleted source from a cached result, also not as those of a new source of its name.
    if (isReplaced) {
      cache.dropReaders(name)
      results.drop((result) => result.sources.has(name))
    }
    metrics.namesChanged()
  }
  sources.follow((changes) => {
    parts.sourceRetention.changed(changes)
    for (const { before, after, item } of changes) {
      const showsOthers = before?.retention_days !== after?.retention_days
      if (before && after && showsOthers) tail.forget(item.name)
      sourceChanged(item.name, !before || !after || showsOthers)
    }
    // Tenants no longer follow a source that is not published anymore.
    streams.check()
    void projects.erasures.sourcesChanged()
  })
  sources.followDrops((name) => sourceChanged(name, true))
  tables.follow((changes) => {
    for (const { item } of changes) sourceChanged(item.name, true)
  })
  tables.followRows((name) => sourceChanged(name, true))
  endpoints.follow((changes) => {
    const names = changes.flatMap(({ before, after }) =>
      [before?.name, after?.name].filter((name) => name !== undefined),
    )
    for (const { id } of endpoints.readersOf(names)) {
      cache.drop(id)
      results.drop(({ group }) => group === id)
    }
    for (const { id, before, after } of changes) {
      const isSameResult = before && after && resultTag(before) === resultTag(after)
      if (!isSameResult) cache.drop(id)
      // Always: a follower may no longer have access to a renamed or unpublished endpoint.
      results.drop(({ group }) => group === id)
    }
    metrics.namesChanged()
    hot.clear()
  })
  alerts.follow((changes) => evaluator.changed(changes.map(({ item }) => item)))
  projects.definitions.follow(() => projects.plans.changed())
  // Tokens have the limits of the plans of their projects, and streams end that were begun with others.
  projects.plans.follow(() => access.plansChanged())
  projects.erasures.follow({
    flush: async () => statistics?.flush(),
    async onErase({ project, everything }, names) {
      // Results of other tenants have no such entries.
      const hasRows = (call: { project: string | undefined; sources: ReadonlySet<string> }) =>
        (call.project ?? project) === project && names.some((name) => call.sources.has(name))
      cache.dropCalls(hasRows)
      results.drop(hasRows)
      for (const name of names) tail.forget(name)
      if (everything) keys.forget(project)
      await evaluator.forget(project)
      await warmKeys.save()
    },
    queriesEnded: () => queue.settled(),
  })
  dashboards.follow(() => {
    hot.clear()
    streams.check()
  })
}

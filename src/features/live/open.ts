import type { FastifyInstance } from 'fastify'
import { WellheadError } from '../../core/base/errors.ts'
import { changedNames } from '../../core/catalog/items.ts'
import { readsErased } from '../../core/hooks.ts'
import type { Core } from '../../core.ts'
import { sources as sourcesFeature } from '../sources/index.ts'
import { followResult } from './follow-result.ts'
import { LiveResults } from './live-results.ts'
import { LiveTail } from './live-tail.ts'
import { addTailRoutes } from './routes.ts'

const maxResultBytes = 64 * 2 ** 20

/** Limits of a live tail: the latest entries of each source, and the entries not yet sent to one reader. */
const tailLimits = { maxRingBytes: 64 * 2 ** 20, maxPendingBytes: 512 * 2 ** 10 }

export type OpenLive = Awaited<ReturnType<typeof openLive>>

export async function openLive(core: Core) {
  const { time, log, shared, arrivals, sources, endpoints, calls, cache, streams, hooks } = core
  const { info } = core.feature(sourcesFeature)
  const tail = new LiveTail({ time, ...tailLimits })
  const results = new LiveResults({
    time,
    // Another service may insert into a shared server, so arrivals say nothing about it.
    arrivals: shared ? undefined : arrivals,
    latest: (...call) => calls.latest(...call),
    cache,
    maxBytes: maxResultBytes,
    onFailure: ({ endpoint, error }) => {
      // The engine's own message would hold parameter values.
      const code = error instanceof WellheadError ? error.code : 'internal'
      log.warn({ endpoint, code }, 'a live result could not be refreshed')
    },
  })
  hooks.linesStored.push((source, lines) => tail.publish(source, lines))
  hooks.followCall = (...call) => followResult({ endpoints, calls, results, streams }, ...call)
  hooks.rowsReplaced.push((name) => {
    if (!sources.named(name)) tail.close(name)
    results.drop((result) => result.sources.has(name))
  })
  hooks.erasure.push({
    forget(erased) {
      results.drop(readsErased(erased))
      for (const name of erased.sources) tail.forget(name)
    },
  })
  sources.follow((changes) => {
    for (const { before, after, item } of changes) {
      if (before && after && before.retention_days !== after.retention_days) tail.forget(item.name)
    }
  })
  endpoints.follow((changes) => {
    // Followers may also have lost access to a renamed or unpublished endpoint.
    const ids = new Set([...changes, ...endpoints.readersOf(changedNames(changes))].map(({ id }) => id))
    results.drop(({ group }) => ids.has(group))
  })
  return {
    routes: (server: FastifyInstance) => addTailRoutes(server, { sources: info, tail, streams }),
  }
}

import { natively } from '../../test/support/engines.ts'
import type { Ledger } from '../../test/support/ledger.ts'
import type { Target } from '../support/target.ts'

const table = 'FROM edge_logs WHERE project = @project'
const usualPauseMs = natively(20, 200)
const parameters = { project: { required: true } }

/** Endpoints that return what is stored for a project. */
const endpoints = [
  {
    name: 'torture.count',
    query: `SELECT count() AS n, uniqExact(id) AS ids ${table}`,
    parameters,
  },
  {
    name: 'torture.cached-count',
    query: `SELECT count() AS n, uniqExact(id) AS ids ${table}`,
    parameters,
    cache_seconds: 2,
    warm_seconds: 1,
  },
  {
    name: 'torture.ids',
    query: `SELECT cityHash64(id) % 500 AS bucket, groupArray((id, n)) AS found FROM (SELECT id, toUInt32(count()) AS n ${table} GROUP BY id) GROUP BY bucket`,
    parameters,
  },
]

export async function saveCountingEndpoints(target: Target): Promise<void> {
  const { status } = await target.call('/api/deployments', {
    method: 'POST',
    body: JSON.stringify({ endpoints }),
    headers: { 'Content-Type': 'application/json' },
  })
  if (status !== 200) throw new Error(`Saving the endpoints returned ${status}`)
}

/** Number of times that each id of a project is stored. */
export async function storedIds(target: Target, project: string): Promise<Map<string, number>> {
  const { result } = await target.json<{ result: { found: [string, number][] }[] }>(
    `/api/endpoints/query/torture.ids?project=${project}`,
  )
  return new Map(result.flatMap(({ found }) => found))
}

export interface CounterOptions {
  target: Pick<Target, 'call'>
  project: string
  ledger: Ledger
  cached: boolean
  /**
   * Whether visible entries must stay visible even if they were not acknowledged. A power cut may remove them, and so may
   * the restart of an engine that could not write them.
   */
  visibleEntriesStay: boolean
  stopped: () => boolean
  pauseMs?: number | undefined
}

export interface CountChecks {
  responses: number
  /** Requests with an error or without a response. */
  failed: number
  wrong: string[]
}

/**
 * Counts the entries until it is stopped. A count must be at least the number acknowledged before the request began (minus
 * the age of a cached response), and at most the number sent.
 */
export async function countUntilStopped(options: CounterOptions): Promise<CountChecks> {
  const { target, project, ledger, cached, pauseMs = usualPauseMs } = options
  const checks: CountChecks = { responses: 0, failed: 0, wrong: [] }
  const acknowledgedAt: { at: number; ids: number }[] = []
  const path = `/api/endpoints/query/torture.${cached ? 'cached-count' : 'count'}?project=${project}`
  let last = 0
  while (!options.stopped()) {
    // Without a pause, cached requests would take the CPU from the others.
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    const begun = performance.now()
    acknowledgedAt.push({ at: begun, ids: ledger.acknowledgedIds })
    try {
      const response = await target.call(path)
      const { result } = (await response.json()) as { result?: [{ n: number; ids: number }] }
      if (response.status !== 200 || !result) {
        checks.failed++
        continue
      }
      // `Age` is in whole seconds.
      const computedAfter = begun - (Number(response.headers.get('age') ?? 0) + 1) * 1000
      const atLeast = cached
        ? (acknowledgedAt.findLast(({ at }) => at <= computedAfter)?.ids ?? 0)
        : (acknowledgedAt.at(-1)?.ids ?? 0)
      const [{ n, ids }] = result
      checks.responses++
      if (n < Math.max(atLeast, last) || n > ledger.sentIds || n !== ids) {
        const details = `${n} entries with ${ids} ids, ${last} before`
        checks.wrong.push(
          `${cached ? 'a cached' : 'an uncached'} response is wrong: ${details}; at least ${atLeast} were acknowledged, ${ledger.sentIds} sent`,
        )
      }
      if (options.visibleEntriesStay) last = Math.max(last, n)
    } catch {
      checks.failed++
    }
  }
  return checks
}

import type { Ledger } from '../../test/support/ledger.ts'
import type { Target } from '../support/target.ts'

const table = 'FROM edge_logs WHERE project = @project'
const pauseMs = 20
const parameters = { project: { required: true } }

/** Endpoints that tell what is stored of a project. */
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
  if (status !== 200) throw new Error(`The endpoints could not be saved: ${status}`)
}

/** How often each id of a project is stored. */
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
  /** Whether what was seen once is seen again though nobody acknowledged it: a power cut may take it. */
  keepsSeen: boolean
  stopped: () => boolean
}

export interface Counted {
  answers: number
  /** Calls that got an error, or none. */
  failed: number
  wrong: string[]
}

/**
 * Asks again and again how many entries there are, until it is told to stop. An answer may not be less than what was
 * acknowledged before the call began, as long ago as the answer is old, nor more than was sent until it came.
 */
export async function countUntilStopped(options: CounterOptions): Promise<Counted> {
  const { target, project, ledger, cached } = options
  const counted: Counted = { answers: 0, failed: 0, wrong: [] }
  const acknowledgedAt: { at: number; ids: number }[] = []
  const path = `/api/endpoints/query/torture.${cached ? 'cached-count' : 'count'}?project=${project}`
  let last = 0
  while (!options.stopped()) {
    // Cached answers come so fast that whoever asks for them leaves no processor for the others.
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    const begun = performance.now()
    acknowledgedAt.push({ at: begun, ids: ledger.acknowledgedIds })
    try {
      const response = await target.call(path)
      const { result } = (await response.json()) as { result?: [{ n: number; ids: number }] }
      if (response.status !== 200 || !result) {
        counted.failed++
        continue
      }
      // The header is in whole seconds.
      const madeAfter = begun - (Number(response.headers.get('age') ?? 0) + 1) * 1000
      const atLeast = cached
        ? (acknowledgedAt.findLast(({ at }) => at <= madeAfter)?.ids ?? 0)
        : (acknowledgedAt.at(-1)?.ids ?? 0)
      const [{ n, ids }] = result
      counted.answers++
      if (n < Math.max(atLeast, last) || n > ledger.sentIds || n !== ids) {
        const seen = `${n} entries with ${ids} ids, ${last} before`
        counted.wrong.push(
          `${cached ? 'a cached' : 'an'} answer is wrong: ${seen}; at least ${atLeast} were acknowledged, ${ledger.sentIds} sent`,
        )
      }
      if (options.keepsSeen) last = Math.max(last, n)
    } catch {
      counted.failed++
    }
  }
  return counted
}

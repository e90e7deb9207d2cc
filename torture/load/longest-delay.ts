import { natively } from '../../test/support/engines.ts'
import type { TortureRun } from '../support/scenario.ts'
import { adminToken, type Target } from '../support/target.ts'
import { HttpClient } from './http-client.ts'
import { median, percentile } from './load-target.ts'

const name = 'torture.stall'
export const cached = `/api/endpoints/query/${name}`

/** Between the requests that are measured. The short form checks no times, and leaves the processor to other tests. */
const pauseOf = (run: TortureRun) => run.size(natively(1, 20), 50)

/** Allowed additional delay of other requests. An emulated engine takes more of the CPU. */
export const allowedDelayMs = natively(50, 1_000)

/**
 * Compares longest delays with those of the same load without an attack, measured in turns. Other work on the machine slows
 * some rounds of both, and an attack that blocks the service slows every round.
 */
export function isSlower(attackDelays: readonly number[], usualDelays: readonly number[]): boolean {
  return Math.min(...attackDelays) > median(usualDelays) + allowedDelayMs
}

/** The longest delay without any other work. Also creates the endpoint that is called. */
export async function quietDelay(run: TortureRun, target: Target): Promise<number> {
  await createEndpoint(target)
  const rest = () => new Promise((resolve) => setTimeout(resolve, run.size(3_000, 300)))
  return longestDelay(run, await target.url(), rest)
}

/** Cached for longer than a scenario takes. Another scenario may have created it. */
async function createEndpoint(target: Target): Promise<void> {
  const { status } = await target.call('/api/endpoints', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name, query: 'SELECT 1 AS n', cache_seconds: 86_400 }),
  })
  if (status !== 201 && status !== 409) throw new Error(`Creating an endpoint returned ${status}.`)
}

/** Sends cached queries and health checks during the work and returns the slowest time in ms. */
export async function longestDelay(
  run: TortureRun,
  url: string,
  work: () => Promise<unknown>,
): Promise<number> {
  const pauseMs = pauseOf(run)
  const http = new HttpClient(url, 2)
  // Fills the cache.
  await http.send({ path: cached, token: adminToken })
  let over = false
  const delays: number[] = []
  const watch = async (path: string) => {
    while (!over) {
      const { ms } = await http.send({ path, token: adminToken })
      delays.push(ms)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  const watching = Promise.all([watch(cached), watch('/health')])
  try {
    await work()
  } finally {
    over = true
    await watching
    http.close()
  }
  return Math.ceil(percentile(delays, 100))
}

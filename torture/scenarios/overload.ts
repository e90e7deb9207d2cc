import { natively } from '../../test/support/engines.ts'
import { type Answer, HttpCaller } from '../load/http-caller.ts'
import { comesTrue, engineRestarts, loadTarget, percentile, residentMiB } from '../load/load-target.ts'
import type { Scenario, TortureRun } from '../support/scenario.ts'
import { adminToken, type Target } from '../support/target.ts'

const name = 'torture.overload'
const path = (index: number) => `/api/endpoints/query/${name}?n=${index}`

/** Documented limits of the service: the longest wait for a slot, and the waiting requests of one caller. */
const queue = { maxWaitMs: natively(2_000, 20_000), maxWaitingPerCaller: 1000 } as const

/** Time that a request may take in addition to waiting for a slot. */
const slackMs = natively(1_000, 20_000)

/** Allowed growth of memory, for responses and connections. */
const mayAddMiB = 600

export const overload: Scenario = {
  name: 'overload',
  title: 'three times the capacity is served or refused with Retry-After, and the service recovers',
  async run(run) {
    const target = await loadTarget(run)
    await makeEndpoint(target)
    const before = { memory: residentMiB(target), restarts: await engineRestarts(target) }
    const url = await target.url()
    const { answers, counts, p99 } = run.size(1, 0) === 1 ? await offered(run, url) : await flooded(run, url)
    const faults = judged(answers)
    if (p99 > queue.maxWaitMs + slackMs)
      faults.push(`p99 is ${Math.round(p99)} ms.`)
    const recoveredAt = performance.now()
    const http = new HttpCaller(url, 1)
    const again = await comesTrue(async () => {
      const { status } = await http.call({ path: path(-1), token: adminToken })
      return status === 200
    }, 60_000)
    http.close()
    if (!again) faults.push('Requests fail a minute after the end.')
    const memory = residentMiB(target)
    if (memory > before.memory + mayAddMiB) faults.push(`Memory grew from ${before.memory} to ${memory} MiB.`)
    const restarts = (await engineRestarts(target)) - before.restarts
    if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
    return {
      counts: {
        ...counts,
        served: answers.filter(({ status }) => status === 200).length,
        refused: answers.filter(({ status }) => status === 503 || status === 429).length,
        'ms to recover': Math.round(performance.now() - recoveredAt),
        'MiB before': before.memory,
        'MiB after': memory,
        'engine restarts': restarts,
      },
      faults,
    }
  },
}

/** An uncached query that takes the engine some time. */
async function makeEndpoint(target: Target): Promise<void> {
  await target.json('/api/endpoints', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name,
      query: `SELECT @n AS n, sum(sipHash64(number)) AS s FROM numbers(${natively(5_000_000, 200_000)})`,
      parameters: { n: { type: 'integer' } },
    }),
  })
}

/** Only 200, or a refusal with `Retry-After`, is allowed. */
function judged(answers: readonly Answer[]): string[] {
  const faults: string[] = []
  for (const { status, headers, text } of answers) {
    const told = `${status}: ${text.slice(0, 200)}`
    if (status === 200) {
      if (!/^\{"result":\[\s*\{"n":-?\d+,"s":[^[\]]*\]\}$/.test(text.trim()))
        faults.push(`A response is incomplete: ${told}`)
    } else if (status === 503 || status === 429) {
      if (!/^\d+$/.test(String(headers['retry-after']))) faults.push(`Retry-After is missing: ${told}`)
      if (!/"code":"(?:overloaded|rate_limited)"/.test(text))
        faults.push(`An unexpected refusal: ${told}`)
    } else if (status !== 0) faults.push(`Unexpected response ${told}`)
  }
  return [...new Set(faults)].slice(0, 10)
}

/** Measures the capacity, then sends three times as much without waiting for responses. */
async function offered(run: TortureRun, url: string) {
  const http = new HttpCaller(url, 20_000)
  let index = 0
  const ask = () => http.call({ path: path(index++), token: adminToken })
  const measureMs = natively(10_000, 20_000)
  const until = performance.now() + measureMs
  let served = 0
  const caller = async () => {
    while (performance.now() < until) if ((await ask()).status === 200) served++
  }
  await Promise.all(Array.from({ length: 8 }, caller))
  const rate = (served / measureMs) * 1000
  run.say(`capacity ${rate.toFixed(1)} requests per second; sending ${(rate * 3).toFixed(1)}`)
  const pending: Promise<Answer>[] = []
  const seconds = Math.min(run.minutes * 60, natively(60, 90))
  const since = performance.now()
  let most = 0
  let open = 0
  while (performance.now() - since < seconds * 1000) {
    const due = Math.floor(((performance.now() - since) / 1000) * rate * 3)
    while (pending.length < due) {
      most = Math.max(most, ++open)
      pending.push(
        ask().finally(() => {
          open--
        }),
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const answers = await Promise.all(pending)
  http.close()
  const waits = answers.filter(({ status }) => status === 200).map(({ ms }) => ms)
  const slowest = percentile(waits, 99)
  return {
    answers,
    p99: slowest,
    counts: {
      'capacity per second': Math.round(rate * 10) / 10,
      sent: answers.length,
      'ms p50': Math.round(percentile(waits, 50)),
      'ms p99': Math.round(slowest),
      'open at once': most,
      'lost connections': answers.filter(({ status }) => status === 0).length,
    },
  }
}

/** Sends more requests at once than may wait. The excess must be refused; the rest is aborted after some were served. */
async function flooded(run: TortureRun, url: string) {
  const http = new HttpCaller(url, 20_000)
  const left = new AbortController()
  const count = queue.maxWaitingPerCaller + run.size(0, 300)
  let served = 0
  let over = 0
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const answer = await http.call({ path: path(index), token: adminToken, signal: left.signal })
      if (answer.status === 200) served++
      if (answer.status === 503) over++
      if (served >= 10 && over >= 200) left.abort()
      return answer
    }),
  )
  http.close()
  // Too few requests for percentiles.
  return {
    answers,
    p99: 0,
    counts: { sent: count, left: answers.filter(({ status }) => status === 0).length },
  }
}

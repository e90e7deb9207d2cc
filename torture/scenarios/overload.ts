import { natively } from '../../test/support/engines.ts'
import { HttpClient, type HttpResponse } from '../load/http-client.ts'
import { becomesTrue, engineRestarts, loadTarget, percentile, residentMiB } from '../load/load-target.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario, TortureRun } from '../support/scenario.ts'
import { adminToken, type Target } from '../support/target.ts'

const name = 'torture.overload'
const path = (index: number) => `/api/endpoints/query/${name}?n=${index}`

/** Documented longest wait for a slot. */
const maxWaitMs = natively(2_000, 20_000)

/** Time that a request may take in addition to waiting for a slot. */
const slackMs = natively(1_000, 20_000)

/** Allowed growth of memory, for responses and connections. */
const allowedGrowthMiB = 600

export const overload: Scenario = {
  name: 'overload',
  title: 'three times the capacity is served or refused with Retry-After, and the service recovers',
  async run(run) {
    const target = await loadTarget(run)
    await createEndpoint(run, target)
    const before = { memory: residentMiB(target), restarts: await engineRestarts(target) }
    const url = await target.url()
    const { responses, counts, p99 } =
      run.size(1, 0) === 1 ? await runOverload(run, url) : await runFlood(url)
    // The short form runs beside other tests, which may keep the machine busy for longer than a request may take to arrive.
    const faults = responseFaults(responses.filter(({ status }) => run.size(1, 0) === 1 || status !== 408))
    if (p99 > maxWaitMs + slackMs) faults.push(`p99 is ${Math.round(p99)} ms.`)
    const endedAt = performance.now()
    const http = new HttpClient(url, 1)
    const recovered = await becomesTrue(
      async () => {
        const { status } = await http.send({ path: path(-1), token: adminToken })
        return status === 200
      },
      run.size(60_000, patienceMs),
    )
    http.close()
    if (!recovered) faults.push('Requests fail a minute after the end.')
    const memory = residentMiB(target)
    if (memory > before.memory + allowedGrowthMiB)
      faults.push(`Memory grew from ${before.memory} to ${memory} MiB.`)
    const restarts = (await engineRestarts(target)) - before.restarts
    if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
    return {
      counts: {
        ...counts,
        served: responses.filter(({ status }) => status === 200).length,
        refused: responses.filter(({ status }) => status === 503 || status === 429).length,
        'ms to recover': Math.round(performance.now() - endedAt),
        'MiB before': before.memory,
        'MiB after': memory,
        'engine restarts': restarts,
      },
      faults,
    }
  },
}

/** An uncached query that takes the engine some time. */
async function createEndpoint(run: TortureRun, target: Target): Promise<void> {
  await target.json('/api/endpoints', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name,
      query: `SELECT @n AS n, sum(sipHash64(number)) AS s FROM numbers(${run.size(natively(5_000_000, 200_000), 1_000_000)})`,
      parameters: { n: { type: 'integer' } },
    }),
  })
}

/** Only 200, or a refusal with `Retry-After`, is allowed. */
function responseFaults(responses: readonly HttpResponse[]): string[] {
  const faults: string[] = []
  for (const { status, headers, text } of responses) {
    const details = `${status}: ${text.slice(0, 200)}`
    if (status === 200) {
      if (!/^\{"result":\[\s*\{"n":-?\d+,"s":[^[\]]*\]\}$/.test(text.trim()))
        faults.push(`A response is incomplete: ${details}`)
    } else if (status === 503 || status === 429) {
      if (!/^\d+$/.test(String(headers['retry-after']))) faults.push(`Retry-After is missing: ${details}`)
      if (!/"code":"(?:overloaded|rate_limited)"/.test(text)) faults.push(`An unexpected refusal: ${details}`)
    } else if (status !== 0) faults.push(`Unexpected response ${details}`)
  }
  return [...new Set(faults)].slice(0, 10)
}

/** Measures the capacity, then sends three times as much without waiting for responses. */
async function runOverload(run: TortureRun, url: string) {
  const http = new HttpClient(url, 20_000)
  let index = 0
  const send = () => http.send({ path: path(index++), token: adminToken })
  const measureMs = natively(10_000, 20_000)
  const until = performance.now() + measureMs
  let served = 0
  const caller = async () => {
    while (performance.now() < until) if ((await send()).status === 200) served++
  }
  await Promise.all(Array.from({ length: 8 }, caller))
  const rate = (served / measureMs) * 1000
  run.say(`capacity ${rate.toFixed(1)} requests per second; sending ${(rate * 3).toFixed(1)}`)
  const pending: Promise<HttpResponse>[] = []
  const seconds = Math.min(run.minutes * 60, natively(60, 90))
  const since = performance.now()
  let most = 0
  let open = 0
  while (performance.now() - since < seconds * 1000) {
    const due = Math.floor(((performance.now() - since) / 1000) * rate * 3)
    while (pending.length < due) {
      most = Math.max(most, ++open)
      pending.push(
        send().finally(() => {
          open--
        }),
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const responses = await Promise.all(pending)
  http.close()
  const waits = responses.filter(({ status }) => status === 200).map(({ ms }) => ms)
  const slowest = percentile(waits, 99)
  return {
    responses,
    p99: slowest,
    counts: {
      'capacity per second': Math.round(rate * 10) / 10,
      sent: responses.length,
      'ms p50': Math.round(percentile(waits, 50)),
      'ms p99': Math.round(slowest),
      'open at once': most,
      'lost connections': responses.filter(({ status }) => status === 0).length,
    },
  }
}

/** Sends more requests at once than are served in the time that they may wait, and aborts the rest after some were served. */
async function runFlood(url: string) {
  const http = new HttpClient(url, 20_000)
  const abandoned = new AbortController()
  const count = 200
  let served = 0
  const responses = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const response = await http.send({ path: path(index), token: adminToken, signal: abandoned.signal })
      if (response.status === 200) served++
      if (served >= 10) abandoned.abort()
      return response
    }),
  )
  http.close()
  // Too few requests for percentiles.
  return {
    responses,
    p99: 0,
    counts: { sent: count, abandoned: responses.filter(({ status }) => status === 0).length },
  }
}

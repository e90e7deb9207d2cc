import { readFileSync } from 'node:fs'
import { natively } from '../../test/support/engines.ts'
import { openEvents } from '../../test/support/network/event-reader.ts'
import { diceOf } from '../fuzz/dice.ts'
import { HttpClient } from '../load/http-client.ts'
import { engineRestarts, loadTarget, median, percentile, residentMiB } from '../load/load-target.ts'
import { createSoakEndpoints, mixedRequest, soakEndpoints } from '../load/mixed-requests.ts'
import type { Scenario, TortureRun } from '../support/scenario.ts'
import { adminToken, type Target } from '../support/target.ts'

/** Load as a share of the capacity. */
const share = 0.7

/** Allowed growth from the first to the last third, in medians. The engine fills its caches up to their limits. */
const allowedGrowth = {
  memory: { factor: 1.25, added: 64 },
  engineMemory: { factor: 1.5, added: 512 },
  p99: { factor: 3, added: natively(50, 1_000) },
} as const

interface Interval {
  calls: number
  errors: number
  p50: number
  p99: number
  memory: number
  engineMemory: number
}

export const soak: Scenario = {
  name: 'soak',
  title: 'response times and memory stay flat under mixed load at 70 % of capacity for --minutes',
  async run(run) {
    const target = await loadTarget(run)
    await createSoakEndpoints(target)
    const restartsBefore = await engineRestarts(target)
    const http = new HttpClient(await target.url(), 500)
    const dice = diceOf(run.random)
    const rate = await measureCapacity(run, http, dice)
    const faults: string[] = []
    const over = new AbortController()
    const beside = [readStreams(target, run, over.signal, faults), deployments(target, over.signal, faults)]
    const intervals = await sendSteadily(run, target, http, dice, rate * share, faults)
    over.abort()
    const [events, deployed] = (await Promise.all(beside)) as [number, number]
    http.close()
    if (run.minutes >= 2) faults.push(...growthFaults(intervals))
    const restarts = (await engineRestarts(target)) - restartsBefore
    if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
    const of = (what: keyof Interval) => intervals.map((interval) => interval[what])
    const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
    return {
      counts: {
        calls: sum(of('calls')),
        errors: sum(of('errors')),
        'requests per second': Math.round(rate * share * 10) / 10,
        'ms p50': Math.round(median(of('p50'))),
        'ms p99 first': Math.round(median(thirds(of('p99'))[0])),
        'ms p99 last': Math.round(median(thirds(of('p99'))[1])),
        'MiB first': median(thirds(of('memory'))[0]),
        'MiB last': median(thirds(of('memory'))[1]),
        'engine MiB first': median(thirds(of('engineMemory'))[0]),
        'engine MiB last': median(thirds(of('engineMemory'))[1]),
        'live events': events,
        deployments: deployed,
      },
      faults: faults.slice(0, 20),
    }
  },
}

type Dice = ReturnType<typeof diceOf>

/** The lowest of several measurements, because other load on the machine varies. */
async function measureCapacity(run: TortureRun, http: HttpClient, dice: Dice): Promise<number> {
  const lengthMs = run.size(10_000, 300)
  const rates: number[] = []
  for (let times = run.size(4, 2); times > 0; times--) {
    const until = performance.now() + lengthMs
    let served = 0
    const caller = async () => {
      while (performance.now() < until) {
        await http.send(mixedRequest(dice))
        served++
      }
    }
    await Promise.all(Array.from({ length: 8 }, caller))
    rates.push((served / (performance.now() - until + lengthMs)) * 1000)
  }
  // The first measurement fills the cache.
  const rate = Math.min(...rates.slice(1))
  run.say(`capacity ${rate.toFixed(1)} requests per second; sending ${(rate * share).toFixed(1)}`)
  return rate
}

/** Sends at a steady rate without waiting for responses. */
async function sendSteadily(
  run: TortureRun,
  target: Target,
  http: HttpClient,
  dice: Dice,
  rate: number,
  faults: string[],
): Promise<Interval[]> {
  const totalMs = run.size(run.minutes * 60_000, 2_000)
  const intervalMs = Math.min(60_000, Math.max(1_000, totalMs / 12))
  const intervals: Interval[] = []
  const open = new Set<Promise<void>>()
  let times: number[] = []
  let errors = 0
  let sent = 0
  const since = performance.now()
  const send = async () => {
    const { kind, ...request } = mixedRequest(dice)
    const { status, text, ms } = await http.send(request)
    times.push(ms)
    if (status === 200) return
    errors++
    // The short form runs beside other tests, which may keep the machine busy for longer than a query waits.
    if (run.size(0, 1) === 1 && status === 503 && text.includes('"overloaded"')) return
    faults.push(`a ${kind} request returned ${status}: ${text.slice(0, 200)}`)
  }
  while (performance.now() - since < totalMs) {
    const passedMs = performance.now() - since
    while (sent < (passedMs / 1000) * rate && open.size < 2_000) {
      sent++
      const pending: Promise<void> = send().finally(() => open.delete(pending))
      open.add(pending)
    }
    if (passedMs >= (intervals.length + 1) * intervalMs) {
      const { enginePid } = target
      const interval = {
        calls: times.length,
        errors,
        p50: percentile(times, 50),
        p99: percentile(times, 99),
        memory: residentMiB(target),
        engineMemory: enginePid === undefined ? 0 : residentMiBOf(enginePid),
      }
      intervals.push(interval)
      run.say(lineOf(interval, passedMs))
      times = []
      errors = 0
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await Promise.all(open)
  return intervals
}

function lineOf({ calls, errors, p50, p99, memory, engineMemory }: Interval, passedMs: number): string {
  const cells = [
    `${(passedMs / 60_000).toFixed(1)} min`,
    `${calls} requests`,
    `${errors} errors`,
    `p50 ${p50.toFixed(1)} ms`,
    `p99 ${p99.toFixed(1)} ms`,
    `service ${memory} MiB`,
    `engine ${engineMemory} MiB`,
  ]
  return cells.map((cell) => cell.padStart(16)).join(' |')
}

/** Reads live results and entries until the end and returns the number of events. */
async function readStreams(
  target: Target,
  run: TortureRun,
  over: AbortSignal,
  faults: string[],
): Promise<number> {
  const url = await target.url()
  const paths = ['/api/sources/edge_logs/tail', `/api/endpoints/query/${soakEndpoints.cached}?project=soak-1`]
  const counts = await Promise.all(
    Array.from({ length: run.size(10, 2) }, async (_, index) => {
      const reader = await openEvents(url + paths[index % paths.length], adminToken)
      if (reader.status !== 200) {
        faults.push(`A stream returned ${reader.status}.`)
        return 0
      }
      over.addEventListener('abort', () => reader.close(), { once: true })
      let events = 0
      for (;;) {
        const event = await reader.next().catch(() => undefined)
        if (event === undefined) break
        events++
      }
      if (!over.aborted) faults.push(`A stream ended unexpectedly after ${events} events.`)
      return events
    }),
  )
  return counts.reduce((total, count) => total + count, 0)
}

async function deployments(target: Target, over: AbortSignal, faults: string[]): Promise<number> {
  let deployed = 0
  while (!over.aborted) {
    const endpoints = [{ name: 'torture.deployed', query: 'SELECT 1 AS n', description: String(deployed) }]
    const response = await target.call('/api/deployments', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ endpoints }),
    })
    if (response.status === 200) deployed++
    else faults.push(`A deployment returned ${response.status}: ${await response.text()}`)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  }
  return deployed
}

function thirds(values: readonly number[]): [number[], number[]] {
  const third = Math.max(1, Math.floor(values.length / 3))
  return [values.slice(0, third), values.slice(-third)]
}

function growthFaults(intervals: readonly Interval[]): string[] {
  const faults: string[] = []
  for (const what of ['memory', 'engineMemory', 'p99'] as const) {
    const [first, last] = thirds(intervals.map((interval) => interval[what])).map(median) as [number, number]
    const { factor, added } = allowedGrowth[what]
    if (last > first * factor + added) {
      faults.push(
        `${what} rose from ${Math.round(first)} to ${Math.round(last)} between the first third and the last.`,
      )
    }
  }
  return faults
}

function residentMiBOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024)
}

/**
 * Engine supervision: time that a command and a service take to start, time until a killed or hanging engine is replaced, time until an abandoned query
 * stops using CPU, and CPU and memory at rest.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { atTheEnd } from './support/at-the-end.mjs'
import { createEngine } from './support/engine.mjs'
import { cpuMs, endedCpuMs, familyOf, proportionalBytes } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { mainFile, startServiceProcess, until } from './support/service-process.mjs'

const endless = 'SELECT sum(sipHash64(number)) FROM numbers(1000000000000)'

export const about = 'engine supervision'

export async function run({ engineNode, patience, quick, emulated, choose }) {
  if (!existsSync('/proc/self/smaps_rollup')) return { skipped: 'it needs /proc (Linux).' }
  const rounds = choose({ full: 3, quick: 1 })
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const remove = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  try {
    const figures = [
      ...commandStarts(choose({ full: 3, quick: 1 })),
      ...(await wholeService({ dataDir: join(scratch, 'service'), engineNode, patience, quick })),
      ...(await engineAlone({ dataDir: join(scratch, 'engine'), engineNode, patience, rounds })),
    ]
    const table = {
      id: 'supervision',
      title: 'Engine supervision',
      compares: 'Measured values and their limits.',
      first: 'what',
      rows: figures.map(({ what, values, promised, unit }) =>
        comparison({ name: `${what}, ${unit}`, sides: { measured: values }, aim: { atMost: promised } }),
      ),
    }
    const late = `Timeouts for an emulated engine are ${patience} times as long.`
    return { tables: [table], notes: emulated ? [late] : [] }
  } finally {
    remove()
  }
}

/** The shortest command over a program that does nothing, in turn. */
function commandStarts(rounds) {
  const command = [mainFile, '--version']
  const nothing = ['-e', '0']
  const times = Array.from({ length: rounds }, () => [startOf(command), startOf(nothing)])
  return [
    {
      what: 'wellhead --version, beyond bare Node',
      values: times.map(([own, bare]) => own.ms - bare.ms),
      promised: 100,
      unit: 'ms',
    },
    {
      what: 'wellhead --version, CPU over bare Node',
      values: times.map(([own, bare]) => own.cpuMs / bare.cpuMs),
      promised: 1.5,
      unit: 'times',
    },
  ]
}

/** The mean of some starts, because the system counts CPU time in steps of 10 ms. */
function startOf(args) {
  const starts = 5
  const before = endedCpuMs()
  const since = performance.now()
  for (let i = 0; i < starts; i++) spawnSync(process.execPath, args)
  return { ms: (performance.now() - since) / starts, cpuMs: (endedCpuMs() - before) / starts }
}

/** A service process: time until ready at the first start and at later ones, and use at rest. */
async function wholeService({ dataDir, engineNode, patience, quick }) {
  const environment = { WELLHEAD_ENGINE_NODE: engineNode, WELLHEAD_ENGINE_PATIENCE: String(patience) }
  const starts = []
  for (let start = 0; start < (quick ? 1 : 3); start++) {
    const { readyMs, stop } = await startServiceProcess(dataDir, environment)
    starts.push(readyMs / 1000)
    await stop()
  }
  const { pid, stop } = await startServiceProcess(dataDir, environment)
  try {
    // Waits until the work of the start is done.
    await delay(quick ? 2_000 : 5_000)
    const family = familyOf(pid)
    const bytes = family.reduce((sum, pid) => sum + proportionalBytes(pid), 0)
    const restMs = quick ? 3_000 : 10_000
    const before = family.map(cpuMs)
    await delay(restMs)
    const usedMs = family.reduce((sum, pid, i) => sum + cpuMs(pid) - before[i], 0)
    return [
      { what: 'service: start to ready', values: starts, promised: 1.5, unit: 's' },
      { what: 'memory of all processes, at rest', values: [bytes / 1e6], promised: 400, unit: 'MB' },
      { what: 'CPU, at rest', values: [(100 * usedMs) / restMs], promised: 1, unit: '%' },
    ]
  } finally {
    await stop()
  }
}

/** Kills, hangs and cancellations while a client keeps sending queries. */
async function engineAlone({ dataDir, engineNode, patience, rounds }) {
  const times = { kill: [], stop: [], segv: [], cancelled: [], late: [] }
  for (let round = 0; round < rounds; round++) {
    // A new one, because an engine that ends again and again is started later each time.
    const engine = createEngine({ dataDir, engineNode, patience })
    try {
      await engine.start()
      times.cancelled.push(await untilIdle(engine, 'caller'))
      times.late.push(await untilIdle(engine, 'deadline'))
      times.kill.push(await untilBack(engine, 'SIGKILL'))
      times.stop.push(await untilBack(engine, 'SIGSTOP'))
      times.segv.push(await untilBack(engine, 'SIGSEGV'))
    } finally {
      await engine.close()
    }
  }
  return [
    { what: 'kill -9 to the next response', values: times.kill, promised: 1, unit: 's' },
    { what: 'SIGSTOP to the next response', values: times.stop, promised: 3, unit: 's' },
    { what: 'SIGSEGV to the next response', values: times.segv, promised: 3, unit: 's' },
    { what: 'caller gone to no CPU used', values: times.cancelled, promised: 200, unit: 'ms' },
    { what: 'deadline to no CPU used', values: times.late, promised: 200, unit: 'ms' },
  ]
}

async function untilBack(engine, signal) {
  const { pid } = engine
  let since = 0
  const send = () => {
    since = performance.now()
    process.kill(pid, signal)
  }
  send()
  await until(async () => {
    try {
      await engine.query({ sql: 'SELECT 1', format: 'Null' }, { deadlineMs: 500 })
      if (engine.pid !== pid) return true
      // An emulator takes some SIGSEGV for its own, and goes on.
      if (performance.now() - since > 1_000) send()
      return false
    } catch (error) {
      if (!['engine_unavailable', 'query_timeout'].includes(error.code)) throw error
      return false
    }
  })
  return (performance.now() - since) / 1000
}

/** Time from the cancellation to the last moment in which the engine used more than a tenth of a core. */
async function untilIdle(engine, endedBy) {
  const stepMs = 20
  const caller = new AbortController()
  const deadlineMs = endedBy === 'deadline' ? 2_000 : 60_000
  const asked = performance.now()
  const { ended, hasEnded } = begin(engine, { deadlineMs, signal: caller.signal })
  if (endedBy === 'deadline') await delay(deadlineMs)
  else {
    // The query must be running before it can be cancelled.
    const before = cpuMs(engine.pid)
    await until(async () => hasEnded() || cpuMs(engine.pid) - before > 500)
    // On a busy machine, an engine that seems to hang may have been replaced.
    if (hasEnded()) return untilIdle(engine, endedBy)
    caller.abort()
  }
  const since = endedBy === 'deadline' ? asked + deadlineMs : performance.now()
  let lastBusy = since
  let used = cpuMs(engine.pid)
  let at = performance.now()
  while (at - lastBusy < 500) {
    await delay(stepMs)
    const [nowUsed, now] = [cpuMs(engine.pid), performance.now()]
    if (nowUsed - used > (now - at) / 10) lastBusy = now
    used = nowUsed
    at = now
  }
  await ended
  return lastBusy - since
}

function begin(engine, limits) {
  let isOver = false
  const ended = engine
    .query({ sql: endless, format: 'Null' }, limits)
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  return { ended, hasEnded: () => isOver }
}

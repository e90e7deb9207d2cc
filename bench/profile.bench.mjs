/**
 * Where the time of a request goes: a service process under Node's CPU profiler at full load, first with cached and then
 * with uncached requests.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from './support/at-the-end.mjs'
import { generate, startService, token, withoutWrk } from './support/called.mjs'
import { sumUp } from './support/cpu-profile.mjs'
import { numberFrom } from './support/figures.mjs'
import { cpuMs, familyOf } from './support/processes.mjs'
import { comparison, observation } from './support/result.mjs'
import { createLogs } from './traffic/realistic-logs.mjs'

const seed = 20_260_103
const entries = 2_000
const shownFunctions = 12

export const about = 'where the time of a request goes'

export async function run({ engineNode, patience, choose }) {
  const skipped = withoutWrk()
  if (skipped) return skipped
  const seconds = numberFrom('BENCH_SECONDS', choose({ full: 4, quick: 2, emulated: 10 }))
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const removeScratch = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const profiles = join(scratch, 'profiles')
  const options = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=500']
  const service = await startService(scratch, engineNode, patience, {}, options)
  const measured = {}
  try {
    const project = await sendEntries(service.url)
    const path = `/api/endpoints/query/usage.api-counts?project=${project}&interval=daily`
    const kinds = {
      cached: { headers: {}, connections: 32 },
      'not cached': { headers: { 'Cache-Control': 'no-cache' }, connections: 2 },
    }
    for (const [kind, { headers, connections }] of Object.entries(kinds)) {
      const call = (time) =>
        generate(service.url + path, { 'X-API-KEY': token, ...headers }, time, connections)
      await call(Math.min(2, seconds))
      const [own, ...others] = familyOf(service.pid)
      const used = () => ({ service: cpuMs(own), engine: others.reduce((sum, pid) => sum + cpuMs(pid), 0) })
      const [fromMicros, before] = [nowMicros(), used()]
      const { requests, p50 } = await call(seconds)
      const [toMicros, after] = [nowMicros(), used()]
      const perCall = (of) => ((after[of] - before[of]) * 1000) / requests
      const micros = { service: perCall('service'), engine: perCall('engine') }
      measured[kind] = { window: { fromMicros, toMicros }, requests, p50, micros }
    }
  } finally {
    await service.stop()
  }
  try {
    const [file] = readdirSync(profiles)
    const profile = JSON.parse(readFileSync(join(profiles, file), 'utf8'))
    return { tables: Object.entries(measured).flatMap(([kind, result]) => tablesOf(kind, result, profile)) }
  } finally {
    removeScratch()
  }
}

function nowMicros() {
  return Number(process.hrtime.bigint() / 1000n)
}

function tablesOf(kind, { window, requests, p50, micros }, profile) {
  const { busyMs, layers, functions } = sumUp(profile, window)
  const row = ({ name, ms }) =>
    observation(name, { share: `${((100 * ms) / busyMs).toFixed(1)} %`, 'µs a call': (1000 * ms) / requests })
  const id = kind.replace(' ', '-')
  const engine = kind === 'cached' ? { engine: 'no part' } : {}
  return [
    {
      id: `${id}-cost`,
      title: `A request to usage.api-counts, ${kind}`,
      compares: `CPU time of ${requests} requests, including the profiler's overhead and the engine's background work.`,
      ...engine,
      each: true,
      rows: [
        comparison({
          name: `processor time of a request in the service, ${kind}`,
          unit: 'µs',
          sides: { service: [micros.service], engine: [micros.engine] },
          over: false,
          more: { 'p50, ms': p50 },
        }),
      ],
    },
    {
      id: `${id}-layers`,
      title: `CPU time in the service by layer, ${kind}`,
      ...engine,
      first: 'layer',
      rows: layers.map(row),
    },
    {
      id: `${id}-functions`,
      title: `CPU time in the service: top ${shownFunctions} functions by self time, ${kind}`,
      ...engine,
      first: 'function',
      rows: functions.slice(0, shownFunctions).map(row),
    },
  ]
}

async function sendEntries(url) {
  const logs = createLogs(seed)
  const [project] = logs.projects
  const nowMicros = Date.now() * 1000
  const batch = Array.from({ length: entries }, (_, i) => logs.edge(nowMicros - i * 1000, 'lean', 0, project))
  const response = await fetch(`${url}/api/logs?source=edge_logs`, {
    method: 'POST',
    headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
    body: JSON.stringify(batch),
  })
  if (!response.ok) throw new Error(await response.text())
  return project
}

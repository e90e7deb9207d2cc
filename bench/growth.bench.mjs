/**
 * Query time as the data grows: for a project that grows with the data, for one of constant size, and for one with few
 * entries. Also disk space and the memory of both processes.
 *
 * BENCH_SIZES: numbers of entries in ascending order, separated by commas.
 */

import { callOver } from './databases/query-sides.mjs'
import { median, numbersFrom } from './support/figures.mjs'
import { openClient } from './support/http-client.mjs'
import { partsOf } from './support/measured-tables.mjs'
import { residentBytes } from './support/resident-bytes.mjs'
import { comparison, observation } from './support/result.mjs'
import { timesOf } from './support/rounds.mjs'
import { openService } from './support/service.mjs'
import { shown } from './support/text-report.mjs'
import { growTo, growthProjects } from './traffic/growing-logs.mjs'

const tables = ['wellhead.edge_logs', 'wellhead.function_edge_logs']

const questions = [
  { endpoint: 'logs.all', given: { project_tier: 'PRO' } },
  { endpoint: 'functions.invocation-stats', given: { interval: '7day' } },
  { endpoint: 'usage.api-counts', given: { interval: 'daily' } },
]

const cases = questions.flatMap(({ endpoint, given }) =>
  Object.entries(growthProjects).map(([tenant, project]) => ({
    name: `${endpoint}, ${tenant}`,
    endpoint,
    parameters: { project, ...given },
  })),
)

export const about = 'queries, memory and disk as the data grows'

export async function run({ engineNode, patience, choose }) {
  const sizes = numbersFrom(
    'BENCH_SIZES',
    choose({ full: [1e6, 1e7, 5e7], quick: [5e4, 2e5], emulated: [1e5, 1e6, 3e6], least: [5e3, 2e4] }),
  )
  const rounds = choose({ full: 5, quick: 3, emulated: 3 })
  const calls = choose({ full: 10, quick: 3, emulated: 5 })
  const nowMs = Date.now()
  const service = await openService({ engineNode, patience, clock: { now: () => nowMs } })
  const client = openClient({ url: service.url, token: service.adminToken.token, connections: 1 })
  const times = new Map(cases.map(({ name }) => [name, []]))
  const held = []
  try {
    let before = 0
    for (const size of sizes) {
      console.error(`Growing to ${shown(size)} entries`)
      const since = performance.now()
      await growTo(service.engine, { from: before, to: size, smallest: sizes[0], nowMs })
      const loadedMs = performance.now() - since
      const rowsLoaded = size - before
      before = size
      for (const call of cases) {
        const ask = () => timesOf(calls, () => callOver({ client }, call))
        const measured = []
        // The first round warms up.
        for (let round = 0; round <= rounds; round++) {
          const took = median(await ask())
          if (round > 0) measured.push(took)
        }
        times.get(call.name).push(measured)
      }
      held.push(await observed({ service, size, rowsLoaded, loadedMs }))
    }
    return { tables: tablesOf(sizes, times, held) }
  } finally {
    client.close()
    await service.close()
  }
}

async function observed({ service, size, rowsLoaded, loadedMs }) {
  const parts = await Promise.all(tables.map((table) => partsOf(service.engine, table)))
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  return observation(shown(size), {
    'disk, MB': bytes / 1e6,
    'bytes an entry': bytes / size,
    'service resident, MB': Math.round(residentBytes(process.pid) / 1e6),
    'engine resident, MB': Math.round(residentBytes(service.engine.pid) / 1e6),
    'active parts': parts.reduce((sum, part) => sum + part.parts, 0),
    'loaded, entries/s': Math.round((1000 * rowsLoaded) / loadedMs),
  })
}

function tablesOf(sizes, times, held) {
  const rows = [...times].map(([name, bySize]) => {
    const sides = Object.fromEntries(sizes.map((size, i) => [`of ${shown(size)}`, bySize[i]]))
    const row = comparison({ name, unit: 'ms', sides, over: false })
    const growth = median(bySize.at(-1)) / median(bySize[0])
    return { ...row, more: { 'largest over smallest': growth } }
  })
  const series = [...times].map(([name, bySize]) => ({ name, ys: bySize.map(median) }))
  return [
    {
      id: 'calls',
      title: 'Query time as the data grows',
      compares: `p50 of an uncached query over HTTP; the data grows ${shown(sizes.at(-1) / sizes[0])}-fold.`,
      rows,
      lines: { unit: 'ms', xs: sizes, series },
    },
    { id: 'held', title: 'Disk and memory', first: 'entries', rows: held },
  ]
}

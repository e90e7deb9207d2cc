/**
 * What the path costs: client → socket → host → engine, over calling the engine's binding in its own process.
 * Both sides run on the same engine and the same Node, in alternating rounds; the figures are ratios.
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createEngine } from './support/engine.mjs'
import { median, table } from './support/figures.mjs'

const cases = [
  { name: 'SELECT 1', sql: 'SELECT 1', calls: 20 },
  { name: '100 rows, 85 KB', sql: "SELECT number, repeat('x', 830) AS text FROM numbers(100)", calls: 20 },
  { name: '10 MB', sql: "SELECT number, repeat('x', 1000) AS text FROM numbers(10000)", calls: 5 },
]

export async function run({ engineNode, patience, quick }) {
  const rounds = quick ? 3 : 9
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const direct = fork(
    fileURLToPath(new URL('./support/direct-engine.mjs', import.meta.url)),
    [join(scratch, 'direct')],
    {
      execPath: engineNode,
      execArgv: [],
    },
  )
  const engine = createEngine({ dataDir: join(scratch, 'path'), engineNode, patience })
  try {
    await engine.start()
    const ask = (message) =>
      new Promise((resolve) => {
        direct.once('message', resolve)
        direct.send(message)
      })
    const rows = []
    for (const { name, sql, calls } of cases) {
      const times = { path: [], direct: [] }
      for (let round = 0; round <= rounds; round++) {
        const inProcess = await ask({ sql, calls })
        const overPath = await timeCalls(engine, sql, calls)
        // The first round warms both sides.
        if (round === 0) continue
        times.direct.push(...inProcess)
        times.path.push(...overPath)
      }
      const [pathMs, directMs] = [median(times.path), median(times.direct)]
      rows.push({
        case: name,
        'direct ms': directMs.toFixed(2),
        'path ms': pathMs.toFixed(2),
        'added ms': (pathMs - directMs).toFixed(2),
        ratio: (pathMs / directMs).toFixed(2),
      })
    }
    return table('Overhead of the path to the engine', rows)
  } finally {
    await engine.close()
    direct.kill('SIGKILL')
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function timeCalls(engine, sql, calls) {
  const times = []
  for (let i = 0; i < calls; i++) {
    const since = performance.now()
    await engine.query({ sql, format: 'JSON' }, { deadlineMs: 60_000 })
    times.push(performance.now() - since)
  }
  return times
}

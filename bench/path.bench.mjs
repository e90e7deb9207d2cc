/**
 * What the path costs: client → socket → host → engine, over calling the engine's binding in its own process.
 * Both sides run on the same engine and the same Node, in alternating rounds; the figures are ratios.
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atTheEnd } from './support/at-the-end.mjs'
import { createEngine } from './support/engine.mjs'
import { median } from './support/figures.mjs'
import { comparison } from './support/result.mjs'
import { alternate, timesOf } from './support/rounds.mjs'

const cases = [
  { name: 'SELECT 1', sql: 'SELECT 1', calls: 20 },
  { name: '100 rows, 85 KB', sql: "SELECT number, repeat('x', 830) AS text FROM numbers(100)", calls: 20 },
  { name: '10 MB', sql: "SELECT number, repeat('x', 1000) AS text FROM numbers(10000)", calls: 5 },
]

export const about = 'the way from the service to the engine'

export async function run({ engineNode, patience, choose }) {
  const rounds = choose({ full: 15, quick: 3, emulated: 5 })
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const removeScratch = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const direct = fork(
    fileURLToPath(new URL('./support/direct-engine.mjs', import.meta.url)),
    [join(scratch, 'direct')],
    { execPath: engineNode, execArgv: [] },
  )
  const engine = createEngine({ dataDir: join(scratch, 'path'), engineNode, patience })
  try {
    await engine.start()
    const ask = (message) =>
      new Promise((resolve) => {
        direct.once('message', resolve)
        direct.send(message)
      })
    const query = (sql) => engine.query({ sql, format: 'JSON' }, { deadlineMs: 60_000 })
    const rows = []
    for (const { name, sql, calls } of cases) {
      const sides = await alternate(
        {
          path: async () => median(await timesOf(calls, () => query(sql))),
          direct: async () => median(await ask({ sql, calls })),
        },
        rounds,
      )
      const added = median(sides.path) - median(sides.direct)
      rows.push(comparison({ name, unit: 'ms', sides, more: { 'added, ms': added } }))
    }
    const table = {
      id: 'path',
      title: 'The path to the engine',
      compares:
        'A statement from the service to the engine process, over a call of the binding in one process.',
      rows,
    }
    return { tables: [table] }
  } finally {
    await engine.close()
    direct.kill('SIGKILL')
    removeScratch()
  }
}

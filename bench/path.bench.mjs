/**
 * The path to the engine (client → port → server → engine) compared with calling the engine's binding in the same process.
 * Both sides use the same engine and the same Node, in alternating rounds; the figures are ratios.
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ClickHouseClient } from '../build/engine/clickhouse-client.js'
import { ClickHouseHttp } from '../build/engine/clickhouse-http.js'
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

export const about = 'the path from the service to the engine'

export async function run({ engineNode, patience, choose }) {
  const rounds = choose({ full: 15, quick: 3, emulated: 5 })
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const removeScratch = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const direct = fork(
    fileURLToPath(new URL('./databases/direct-engine.mjs', import.meta.url)),
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
    const query = (sql) => engine.query({ sql, format: 'JSONEachRow' }, { deadlineMs: 60_000 })
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
        'Time of a statement from the service to the engine process, divided by a call of the binding in one process.',
      rows,
    }
    return { tables: [table, await measureClients(rounds)] }
  } finally {
    await engine.close()
    direct.kill('SIGKILL')
    removeScratch()
  }
}

const answers = [
  { name: 'a few bytes', bytes: 10, calls: 200 },
  { name: '85 KB', bytes: 85_000, calls: 100 },
  { name: '10 MB', bytes: 10_000_000, calls: 5 },
]

/** Compares HTTP clients against a process that responds immediately. Without an engine, the ratios hold on every machine. */
async function measureClients(rounds) {
  const script = fileURLToPath(new URL('./support/instant-host.mjs', import.meta.url))
  const host = fork(script)
  const port = await new Promise((resolve) => host.once('message', resolve))
  const agent = new Agent({ keepAlive: true })
  const server = {
    url: new URL(`http://127.0.0.1:${port}`),
    maxConnections: 8,
    idleMs: 30_000,
    compress: false,
  }
  const calls = new ClickHouseClient(new ClickHouseHttp(server), {
    maxResultBytes: 2 ** 30,
    graceMs: 1000,
    repeatQueries: false,
  })
  const ways = {
    ours: (sql) => calls.query({ sql, format: 'JSONEachRow' }, { deadlineMs: 60_000 }),
    bare: (sql) =>
      new Promise((resolve, reject) => {
        const sent = request({ agent, port, host: '127.0.0.1', method: 'POST', path: '/' }, (response) => {
          response.on('data', () => {})
          response.on('end', resolve)
        })
        sent.on('error', reject)
        sent.end(sql)
      }),
  }
  try {
    const rows = []
    for (const { name, bytes, calls: count } of answers) {
      const time = (way) => async () => median(await timesOf(count, () => ways[way](String(bytes))))
      const sides = await alternate({ ours: time('ours'), bare: time('bare') }, rounds)
      const added = median(sides.ours) - median(sides.bare)
      rows.push(comparison({ name, unit: 'ms', sides, more: { 'added, ms': added } }))
    }
    return {
      id: 'clients',
      engine: 'no part',
      title: 'The path without an engine',
      compares: 'Request of the service to a process that responds immediately, divided by bare node:http.',
      rows,
    }
  } finally {
    calls.close()
    agent.destroy()
    host.kill('SIGKILL')
  }
}

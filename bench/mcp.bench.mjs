/**
 * Tool calls: a cached result through POST /mcp compared with the same cached result by GET, and with the same one by POST, which
 * passes the framework as well. The largest is cut for models. Loaded by wrk with 32 keep-alive connections, in alternating rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from './support/at-the-end.mjs'
import { bodyRow, bodySizes, connections, load, startService, token, withoutWrk } from './support/called.mjs'
import { median, numberFrom } from './support/figures.mjs'
import { comparison } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'

const json = { 'X-API-KEY': token, 'Content-Type': 'application/json' }

export const about = 'tool calls of agents'

export async function run({ engineNode, patience, quick }) {
  const skipped = withoutWrk()
  if (skipped) return skipped
  const seconds = numberFrom('BENCH_SECONDS', 1)
  const rounds = numberFrom('BENCH_ROUNDS', 3)
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const removeScratch = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const service = await startService(scratch, engineNode, patience)
  try {
    const rows = []
    for (const size of quick ? bodySizes.slice(0, 1) : bodySizes) {
      rows.push(await compare({ seconds, rounds }, service, size))
    }
    const how = `${connections} keep-alive connections, rounds of ${seconds} s`
    return {
      tables: [
        {
          id: 'calls',
          title: `Cached results through /mcp compared with GET, ${how}`,
          compares: 'Requests per second through /mcp, divided by those of GET.',
          engine: 'no part',
          rows,
        },
      ],
    }
  } finally {
    await service.stop()
    removeScratch()
  }
}

async function compare({ seconds, rounds }, { url, pid }, { name, rows }) {
  const endpoint = `bench.mcp-${name.replace(' ', '')}`
  const query = `SELECT ${bodyRow} FROM numbers(${rows})`
  await sent(`${url}/api/endpoints`, { name: endpoint, query, cache_seconds: 86_400 })
  const path = `${url}/api/endpoints/query/${endpoint}?_timestamps=iso`
  const call = {
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: endpoint.replace('.', '_'), arguments: {} },
  }
  const { result } = await sent(`${url}/mcp`, call)
  if (result?.structuredContent?.total_rows !== rows) throw new Error(JSON.stringify(result))
  const headers = { 'X-API-KEY': token }
  const target = { url: path, pid }
  const results = await alternate(
    {
      mcp: () => load({ url: `${url}/mcp`, pid }, headers, seconds, { body: JSON.stringify(call) }),
      get: () => load(target, headers, seconds),
      post: () => load(target, headers, seconds, { body: '{}' }),
    },
    rounds,
  )
  const figure = (side, of) => results[side].map((one) => one[of])
  const sides = Object.fromEntries(Object.keys(results).map((side) => [side, figure(side, 'perSecond')]))
  const more = {}
  for (const side of Object.keys(results)) more[`CPU of ${side}, µs`] = median(figure(side, 'cpuMicros'))
  return comparison({ name, unit: 'calls/s', sides, more })
}

async function sent(url, body) {
  const response = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

/**
 * What tenants cost: creating a token among a hundred and among a hundred thousand, a start with both numbers, and the memory of
 * the service.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from './support/at-the-end.mjs'
import { createEngine } from './support/engine.mjs'
import { numberFrom } from './support/figures.mjs'
import { proportionalBytes } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { startServiceProcess } from './support/service-process.mjs'

export const about = 'the catalog with many tokens'

const few = 100
const createdInARow = 20

export async function run({ engineNode, patience, choose }) {
  const many = numberFrom('BENCH_TOKENS', choose({ full: 100_000, quick: 5_000 }))
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const remove = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const dataDir = join(scratch, 'data')
  const environment = { WELLHEAD_ENGINE_NODE: engineNode, WELLHEAD_ENGINE_PATIENCE: String(patience) }
  try {
    const begin = await startServiceProcess(dataDir, environment)
    await createTokens(begin.url, dataDir, few - createdInARow)
    await begin.stop()
    const small = await measure(dataDir, environment, choose)
    await addTokens({ dataDir, engineNode, patience }, many - few - createdInARow)
    const large = await measure(dataDir, environment, choose)
    const row = (name, unit, key, aim) =>
      comparison({ name, unit, sides: { [`with ${many}`]: large[key], [`with ${few}`]: small[key] }, aim })
    return {
      tables: [
        {
          id: 'catalog',
          title: `${many} tokens instead of ${few}`,
          compares: 'Times and memory with many tokens, divided by those with few.',
          rows: [
            row('creating a token', 'ms', 'createMs', { atMost: 1.2 }),
            row('a cached request with the newest token', 'ms', 'requestMs', { atMost: 1.2 }),
            row('start to ready', 's', 'readyS'),
            row('memory of the service, without its engine', 'MB', 'memoryMb'),
          ],
        },
      ],
    }
  } finally {
    remove()
  }
}

/** Starts, and the last tokens of a series. */
async function measure(dataDir, environment, choose) {
  const readyS = []
  for (let start = 0; start < choose({ full: 2, quick: 1 }); start++) {
    const { readyMs, stop } = await startServiceProcess(dataDir, environment)
    readyS.push(readyMs / 1000)
    await stop()
  }
  const { pid, url, stop } = await startServiceProcess(dataDir, environment)
  try {
    const { times, token } = await createTokens(url, dataDir, createdInARow)
    const path = '/api/endpoints/query/usage.api-counts?interval=hourly'
    const requestMs = []
    for (let i = 0; i < 200; i++) requestMs.push(await timeOf(() => send(url, token, 'GET', path)))
    return {
      createMs: times,
      requestMs: requestMs.slice(100),
      readyS,
      memoryMb: [proportionalBytes(pid) / 1e6],
    }
  } finally {
    await stop()
  }
}

async function createTokens(url, dataDir, count) {
  const admin = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  const times = []
  let token
  for (let i = 0; i < count; i++) {
    const body = { description: `customer ${i}`, scopes: ['query'], project: `project-${i}` }
    times.push(
      await timeOf(async () => {
        token = (await send(url, admin, 'POST', '/api/access-tokens', body)).token
      }),
    )
  }
  return { times, token }
}

async function send(url, token, method, path, body) {
  const headers = { 'X-API-KEY': token, ...(body && { 'Content-Type': 'application/json' }) }
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

async function timeOf(work) {
  const since = performance.now()
  await work()
  return performance.now() - since
}

/** As the service stores them: to create each through the API would take half an hour. */
async function addTokens(options, count) {
  const engine = createEngine(options)
  await engine.start()
  try {
    const limits = { deadlineMs: 60_000 }
    const sql = 'SELECT max(position) + 1 FROM _catalog'
    const { body } = await engine.query({ sql, format: 'TabSeparatedRaw' }, limits)
    const first = Number(body.toString())
    const rows = []
    for (let i = 0; i < count; i++) rows.push(JSON.stringify(rowOf(first + i, i)))
    await engine.insert({ table: '_catalog', format: 'JSONEachRow' }, Buffer.from(rows.join('\n')), limits)
  } finally {
    await engine.close()
  }
}

function rowOf(position, i) {
  const hash = createHash('sha256').update(`token ${i}`).digest('hex')
  const created_at = new Date().toISOString()
  const rights = { scopes: ['query'], project: `customer-${i}`, parameters: {} }
  const body = {
    description: `customer ${i}`,
    ...rights,
    expires_at: null,
    requests_per_minute: null,
    created_at,
    created_by: 'admin',
    previous: null,
    hash,
  }
  return {
    entry: `bench ${i}`,
    kind: 'token',
    id: crypto.randomUUID(),
    version: 1,
    changed_at: created_at.replace('T', ' ').replace('Z', ''),
    changed_by: 'admin',
    deleted: false,
    body: JSON.stringify(body),
    position,
  }
}

/**
 * What tenants cost: creating a token among a hundred and among a hundred thousand, a start with both numbers, and the memory of
 * the service.
 *
 * BENCH_TOKENS: the larger number.
 */
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from './support/at-the-end.mjs'
import { createEngine } from './support/engine.mjs'
import { median, numberFrom } from './support/figures.mjs'
import { proportionalBytes } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { alternate, timesOf } from './support/rounds.mjs'
import { startServiceProcess } from './support/service-process.mjs'

export const about = 'the catalog with many tokens'

const few = 100
const createdInARow = 20
const requestsInARow = 100
const path = '/api/endpoints/query/usage.api-counts?interval=hourly'

export async function run({ engineNode, patience, choose }) {
  const many = numberFrom('BENCH_TOKENS', choose({ full: 100_000, quick: 5_000 }))
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const remove = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const environment = { WELLHEAD_ENGINE_NODE: engineNode, WELLHEAD_ENGINE_PATIENCE: String(patience) }
  const dataDirs = { many: join(scratch, 'many'), few: join(scratch, 'few') }
  try {
    const begin = await startServiceProcess(dataDirs.few, environment)
    await begin.stop()
    cpSync(dataDirs.few, dataDirs.many, { recursive: true })
    for (const [side, count] of Object.entries({ many, few })) {
      await addTokens({ dataDir: dataDirs[side], engineNode, patience }, count)
    }
    const startsOf = (side) => async () => {
      const { readyMs, stop } = await startServiceProcess(dataDirs[side], environment)
      await stop()
      return readyMs / 1000
    }
    const starts = await alternate(
      { many: startsOf('many'), few: startsOf('few') },
      choose({ full: 2, quick: 1 }),
    )
    const used = await takeTurns(dataDirs, environment)
    const row = (name, unit, { many: large, few: small }, atMost) =>
      comparison({
        name,
        unit,
        sides: { [`with ${many}`]: large, [`with ${few}`]: small },
        ...(atMost && { aim: { atMost } }),
      })
    return {
      tables: [
        {
          id: 'creation',
          title: 'Creating a token',
          rows: [
            comparison({
              name: `creating a token among ${few}, over HTTP`,
              unit: 'ms',
              sides: { Wellhead: used.createMs.few },
              aim: { atMost: 15 },
            }),
          ],
        },
        {
          id: 'catalog',
          title: `${many} tokens instead of ${few}`,
          compares: 'Times and memory with many tokens, divided by those with few.',
          each: true,
          rows: [
            row(`creating a token among ${many}`, 'ms', used.createMs, 1.2),
            row(`a cached request among ${many} tokens`, 'ms', used.requestMs, 1.2),
            row(`start to ready with ${many} tokens`, 's', starts, 3),
            row(`memory of the service with ${many} tokens`, 'MB', used.memoryMb),
          ],
        },
      ],
    }
  } finally {
    remove()
  }
}

/** Both services run, so that they are used in turn. Each figure is the median of a row of requests. */
async function takeTurns(dataDirs, environment) {
  const services = {}
  try {
    for (const [side, dataDir] of Object.entries(dataDirs)) {
      services[side] = await startServiceProcess(dataDir, environment)
    }
    const turnOf = (side) => async () => {
      const { url } = services[side]
      const { times, token } = await createTokens(url, dataDirs[side])
      await send(url, token, 'GET', path)
      const requests = await timesOf(requestsInARow, () => send(url, token, 'GET', path))
      return { createMs: median(times), requestMs: median(requests) }
    }
    const results = await alternate({ many: turnOf('many'), few: turnOf('few') }, 3)
    const bySide = (figure) => ({ many: figure('many'), few: figure('few') })
    return {
      createMs: bySide((side) => results[side].map(({ createMs }) => createMs)),
      requestMs: bySide((side) => results[side].map(({ requestMs }) => requestMs)),
      memoryMb: bySide((side) => [proportionalBytes(services[side].pid) / 1e6]),
    }
  } finally {
    for (const { stop } of Object.values(services)) await stop()
  }
}

async function createTokens(url, dataDir) {
  const admin = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  let token
  const times = await timesOf(createdInARow, async (i) => {
    const body = { description: `customer ${i}`, scopes: ['query'], project: `project-${i}` }
    token = (await send(url, admin, 'POST', '/api/access-tokens', body)).token
  })
  return { times, token }
}

async function send(url, token, method, path, body) {
  const headers = { 'X-API-KEY': token, ...(body && { 'Content-Type': 'application/json' }) }
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!response.ok) throw new Error(await response.text())
  return response.json()
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

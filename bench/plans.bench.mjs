/**
 * What plans cost: counting and checking a cached hit and an entry, beside what these cost as a whole; ways to remove entries that
 * plans have hidden; and an erasure. Entries are of a thousand projects, of which seven in ten keep a day, a quarter a week, and the
 * others what the source keeps. Figures of the engine are processor time and bytes, since wall time depends on the machine.
 *
 * BENCH_ROWS: entries that are stored. BENCH_ROUNDS: rounds of each comparison. BENCH_SECONDS: length of a round of hits.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { systemTime } from '../build/core/base/clock.js'
import { planShape } from '../build/features/plans/plan.js'
import { ProjectUsage } from '../build/features/plans/project-usage.js'
import { Quotas } from '../build/features/plans/quotas.js'
import { atTheEnd } from './support/at-the-end.mjs'
import { load, startService, token, withoutWrk } from './support/called.mjs'
import { numberFrom } from './support/figures.mjs'
import { command, createEdgeTable, partsOf, readRows } from './support/measured-tables.mjs'
import { cpuMs } from './support/processes.mjs'
import { comparison, observation } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'
import { until } from './support/service-process.mjs'
import { createLogs } from './traffic/realistic-logs.mjs'

const seed = 20_260_101
const projects = 1_000
const days = 10
const batch = 1_000
const dayMs = 86_400_000
const plan = { retention_days: 30, entries_per_day: 1e12, bytes_per_day: 1e14 }
const parsed = planShape.parse({ name: 'bench', ...plan })
const json = { 'Content-Type': 'application/json' }

export const about = 'plans: checks, nightly removal, erasure'

export async function run({ engineNode, patience, choose }) {
  const rows = numberFrom('BENCH_ROWS', choose({ full: 200_000, quick: 20_000 }))
  const rounds = numberFrom('BENCH_ROUNDS', choose({ full: 5, quick: 3 }))
  const seconds = numberFrom('BENCH_SECONDS', 1)
  const checks = await measureChecks({ engineNode, patience, rounds, seconds })
  const service = await openService({ engineNode, patience })
  try {
    return {
      tables: [
        {
          id: 'checks',
          title: 'Counting and checking, beside a request as a whole',
          compares: 'Processor time of counting and checking, divided by that of the request.',
          rows: checks,
        },
        {
          id: 'removal',
          title: `The nightly removal from ${rows} entries of ${days} days, one part each`,
          first: 'way',
          rows: await measureRemoval(service, rows),
        },
        {
          id: 'erasure',
          title: `An erasure of 1 % of ${rows} entries`,
          first: 'what',
          rows: [await measureErasure(service, rows)],
        },
      ],
    }
  } finally {
    await service.close()
  }
}

/** The whole is measured in a service, the check by itself: it is less than the noise of the whole. */
async function measureChecks({ engineNode, patience, rounds, seconds }) {
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const remove = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const service = await startService(scratch, engineNode, patience)
  const own = await openService({ engineNode, patience })
  const usage = new ProjectUsage({
    ...{ engine: own.engine, time: systemTime(), log: pino({ level: 'silent' }), shared: false },
    planOf: () => parsed,
  })
  try {
    const entries = await measureEntries(service, usage, rounds)
    const skipped = withoutWrk()
    return skipped ? entries : [await measureHits(service, usage, rounds, seconds), ...entries]
  } finally {
    await usage.stop()
    await own.close()
    await service.stop()
    remove()
  }
}

async function measureHits({ url, pid }, usage, rounds, seconds) {
  const headers = { 'X-API-KEY': await tenantOf(url, 'bench') }
  const target = { url: `${url}/api/endpoints/query/usage.api-counts?interval=daily`, pid }
  const count = 100_000
  const { whole, check } = await alternate(
    {
      whole: async () => (await load(target, headers, seconds)).cpuMicros,
      check: () =>
        microsOf(count, () => {
          for (let i = 0; i < count; i++)
            usage.called({ project: 'bench', status: 200, cache: 'hit', engineMs: 0 })
        }),
    },
    rounds,
  )
  const sides = { check, 'cached hit': whole }
  return comparison({ name: 'cached hit of a tenant', unit: 'µs', sides, aim: { atMost: 0.02 } })
}

async function measureEntries({ url, pid }, usage, rounds) {
  await tenantOf(url, 'bench')
  const logs = createLogs(seed)
  const quotas = new Quotas({ usage, planOf: () => parsed })
  const measured = []
  for (const [name, projectOf] of [
    ['entry, all of one project', () => 'bench'],
    ['entry, each of another project', (n) => `bench-${n}`],
  ]) {
    const entries = Array.from({ length: batch }, (_, n) => ({
      ...logs.edge(Date.now() * 1000 + n, 'lean'),
      project: projectOf(n),
    }))
    const body = JSON.stringify(entries)
    const texts = entries.map(({ project, ...rest }) => `${JSON.stringify({ project, ...rest })}\n`)
    let end = 0
    const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)))
    const lines = { bytes: Buffer.from(texts.join('')), ends, count: batch }
    const times = 10
    const { whole, check } = await alternate(
      {
        whole: async () => {
          const before = cpuMs(pid)
          for (let i = 0; i < times; i++) {
            await request(url, 'POST', '/api/logs?source=edge_logs', body)
          }
          return ((cpuMs(pid) - before) * 1000) / (times * batch)
        },
        check: () =>
          microsOf(times * batch, async () => {
            for (let i = 0; i < times; i++) {
              const admission = await quotas.admit(lines, { bytes: Buffer.alloc(0), ends: new Uint32Array() })
              admission.stored()
              admission.release()
            }
          }),
      },
      rounds,
    )
    const sides = { check, sending: whole }
    measured.push(comparison({ name, unit: 'µs', sides, aim: { atMost: 0.02 } }))
  }
  return measured
}

async function microsOf(count, work) {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/** A token of a project with a plan. */
async function tenantOf(url, project) {
  const existing = await fetch(`${url}/api/plans/BENCH`, { headers: { 'X-API-KEY': token } })
  if (existing.status === 404) {
    await request(url, 'POST', '/api/plans', JSON.stringify({ name: 'BENCH', ...plan }))
  }
  await request(url, 'PUT', `/api/projects/${project}?breaking=true`, JSON.stringify({ plan: 'BENCH' }))
  const made = await request(
    url,
    'POST',
    '/api/access-tokens',
    JSON.stringify({ scopes: ['query'], project }),
  )
  return made.token
}

async function request(url, method, path, body, key = token) {
  const response = await fetch(url + path, { method, headers: { 'X-API-KEY': key, ...json }, body })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

const projectSql = `concat('p', toString(cityHash64(number) % ${projects}))`
/** Of the number behind the letter: the first seven hundred keep a day, the next 250 a week. */
const expiredSql = (midnight) =>
  `(timestamp < toDateTime64('${midnight(1)}', 6, 'UTC') AND project IN (SELECT project FROM bench_plans WHERE plan = 'day')) OR ` +
  `(timestamp < toDateTime64('${midnight(7)}', 6, 'UTC') AND project IN (SELECT project FROM bench_plans WHERE plan = 'week'))`

/** Entries as a night finds them: those that another night removed are gone already, and each day is merged. */
async function fillTable(engine, name, rows, { isSettled }) {
  const midnightMs = Math.floor(Date.now() / dayMs) * dayMs
  const at = (back) => new Date(midnightMs - back * dayMs).toISOString().slice(0, 10)
  const table = await createEdgeTable(engine, name)
  const perDay = Math.floor(rows / days)
  for (let back = 1; back <= days; back++) {
    const gone = [back > 2 && "plan = 'day'", back > 8 && "plan = 'week'"].filter(Boolean).join(' OR ')
    const kept =
      isSettled && gone ? `WHERE project NOT IN (SELECT project FROM bench_plans WHERE ${gone})` : ''
    await command(
      engine,
      `INSERT INTO ${table} (project, id, timestamp, event_message, metadata) SELECT * FROM (SELECT ${projectSql} AS project, ` +
        'toString(generateUUIDv4()) AS id, ' +
        `toDateTime64('${at(back)} 00:00:00', 6, 'UTC') + number * ${86_400 / perDay} AS timestamp, ` +
        "concat('GET | 200 | https://', project, '.example.com/rest/v1/', toString(number % 97)) AS event_message, " +
        `concat('{"request":{"path":"/rest/v1/', toString(number % 97), '","method":"GET","url":"https://example.com","headers":{"cf_ray":"', ` +
        `hex(cityHash64(number, ${back})), '","user_agent":"', hex(cityHash64(number % 1000)), '"}},"response":{"status_code":200,"origin_time":', ` +
        `toString(cityHash64(number, 1) % 1000), '}}') AS metadata FROM numbers(${perDay})) ${kept} ` +
        'SETTINGS max_partitions_per_insert_block = 0',
    )
  }
  await command(engine, `OPTIMIZE TABLE ${table} FINAL`)
  return { table, expired: expiredSql((back) => `${at(back)} 00:00:00`), dayOf: (back) => at(back) }
}

/** Bytes that the engine's process read and wrote, from files or the page cache. */
function bytesOf({ pid }) {
  const read = (name) =>
    Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(readFileSync(`/proc/${pid}/io`, 'utf8'))[1])
  return { read: read('rchar'), written: read('wchar') }
}

async function measured(engine, table, work) {
  const [cpuBefore, before] = [cpuMs(engine.pid), bytesOf(engine)]
  const partsBefore = await partsOf(engine, table)
  await work()
  const after = bytesOf(engine)
  const parts = await partsOf(engine, table)
  const mib = (bytes) => bytes / 2 ** 20
  return {
    'CPU ms': cpuMs(engine.pid) - cpuBefore,
    'read, MiB': mib(after.read - before.read),
    'written, MiB': mib(after.written - before.written),
    'parts before, after': `${partsBefore.parts}, ${parts.parts}`,
    'on disk before, after, MiB': `${mib(partsBefore.bytes).toFixed(1)}, ${mib(parts.bytes).toFixed(1)}`,
  }
}

async function measureRemoval({ engine }, rows) {
  const { database } = engine
  await command(engine, `CREATE TABLE ${database}.bench_plans (project String, plan String) ORDER BY project`)
  await command(
    engine,
    `INSERT INTO ${database}.bench_plans SELECT concat('p', toString(number)), multiIf(number < 700, 'day', number < 950, 'week', 'all') FROM numbers(${projects})`,
  )
  const { table, expired, dayOf } = await fillTable(engine, 'bench_base', rows, { isSettled: true })
  const [{ left }] = await readRows(
    engine,
    `SELECT toFloat64(countIf(NOT (${expired}))) AS left FROM ${table}`,
  )
  const sync = 'mutations_sync = 2, allow_nondeterministic_mutations = 1'
  const affected = [2, 8].map(dayOf)
  const ways = {
    'ALTER … DELETE (as the service does)': (copy) =>
      command(engine, `ALTER TABLE ${copy} DELETE WHERE ${expired} SETTINGS ${sync}`),
    'ALTER … DELETE in the two days': async (copy) => {
      for (const day of affected) {
        await command(
          engine,
          `ALTER TABLE ${copy} DELETE IN PARTITION '${day}' WHERE ${expired} SETTINGS ${sync}`,
        )
      }
    },
    'lightweight DELETE': (copy) =>
      command(
        engine,
        `DELETE FROM ${copy} WHERE ${expired} SETTINGS lightweight_deletes_sync = 2, allow_nondeterministic_mutations = 1`,
      ),
    'lightweight DELETE, then a merge of the two days': async (copy) => {
      await command(
        engine,
        `DELETE FROM ${copy} WHERE ${expired} SETTINGS lightweight_deletes_sync = 2, allow_nondeterministic_mutations = 1`,
      )
      for (const day of affected) await command(engine, `OPTIMIZE TABLE ${copy} PARTITION '${day}' FINAL`)
    },
    'days written anew, REPLACE PARTITION': async (copy) => {
      const other = `${database}.bench_other`
      await command(engine, `CREATE TABLE ${other} AS ${copy}`)
      for (const day of affected) {
        await command(
          engine,
          `INSERT INTO ${other} SELECT * FROM ${copy} WHERE toDate(timestamp, 'UTC') = '${day}' AND NOT (${expired})`,
        )
        await command(engine, `ALTER TABLE ${copy} REPLACE PARTITION '${day}' FROM ${other}`)
      }
      await command(engine, `DROP TABLE ${other} SYNC`)
    },
    'TTL with a dictionary of projects': async (copy) => {
      await command(
        engine,
        `CREATE DICTIONARY ${database}.bench_days (project String, days UInt16) PRIMARY KEY project SOURCE(CLICKHOUSE(QUERY ` +
          `'SELECT project, transform(plan, [\\'day\\', \\'week\\'], [2, 8], 90) AS days FROM ${database}.bench_plans')) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)`,
      )
      await command(
        engine,
        `ALTER TABLE ${copy} MODIFY TTL toDate(timestamp) + toIntervalDay(dictGet('${database}.bench_days', 'days', project)) SETTINGS mutations_sync = 2`,
      )
      await command(engine, `ALTER TABLE ${copy} MATERIALIZE TTL SETTINGS mutations_sync = 2`)
    },
  }
  const results = []
  for (const [name, work] of Object.entries(ways)) {
    const copy = `${database}.bench_copy`
    await command(engine, `CREATE TABLE ${copy} AS ${table}`)
    await command(engine, `ALTER TABLE ${copy} ATTACH PARTITION ALL FROM ${table}`)
    try {
      const more = await measured(engine, copy, () => work(copy))
      const [{ n }] = await readRows(engine, `SELECT toFloat64(count()) AS n FROM ${copy}`)
      results.push(
        observation(name, { ...more, ...(n !== left && { 'rows that should be gone': n - left }) }),
      )
    } catch (error) {
      results.push(observation(name, { refused: error.message.slice(0, 120) }))
    }
    await command(engine, `DROP TABLE ${copy} SYNC`)
  }
  return results
}

async function measureErasure({ engine, url, adminToken }, rows) {
  const key = adminToken.token
  const name = 'erased_logs'
  await request(url, 'POST', '/api/sources', JSON.stringify({ name }), key)
  const table = `${engine.database}.${name}`
  const perDay = Math.floor(rows / days)
  for (let back = 0; back < days; back++) {
    await command(
      engine,
      `INSERT INTO ${table} (project, id, timestamp, event_message, metadata) SELECT if(number % 100 = 0, 'gone', ${projectSql}), ` +
        `toString(generateUUIDv4()), now64(6) - INTERVAL ${back} DAY - toIntervalMillisecond(number % 3600000), ` +
        `concat('GET | 200 | ', hex(cityHash64(number))), concat('{"request":{"path":"/', hex(cityHash64(number, ${back})), '"}}') FROM numbers(${perDay}) ` +
        'SETTINGS max_partitions_per_insert_block = 0',
    )
  }
  await command(engine, `OPTIMIZE TABLE ${table} FINAL`)
  let entries
  const since = performance.now()
  const more = await measured(engine, table, async () => {
    const begun = await request(url, 'POST', '/api/erasures', JSON.stringify({ project: 'gone' }), key)
    entries = begun.entries
    const state = async () =>
      (await (await fetch(`${url}/api/erasures/${begun.id}`, { headers: { 'X-API-KEY': key } })).json()).state
    await until(async () => (await state()) === 'done')
  })
  const [{ n }] = await readRows(engine, `SELECT toFloat64(countIf(project = 'gone')) AS n FROM ${table}`)
  return observation(`${entries} entries in ${days} days`, {
    ...more,
    'time, ms': performance.now() - since,
    left: n,
  })
}

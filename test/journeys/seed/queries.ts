import { readFileSync } from 'node:fs'
import { afterAll, beforeAll } from 'vitest'
import { builtInSources } from '../../../src/built-in-sources.ts'
import type { EndpointDefinition } from '../../../src/core/endpoints/definition/definition.ts'
import { readDefinition } from '../../../src/core/endpoints/definition/definition-file.ts'
import { bindQuery, withNow } from '../../../src/core/endpoints/definition/parameters.ts'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import type { Engine } from '../../../src/core/engine/engine.ts'
import { createSourceTable } from '../../../src/core/engine/tables.ts'
import { formatMicros, parseIsoTimestamp } from '../../../src/shared/timestamps.ts'
import type { OpenEngine } from '../../support/engines.ts'
import { openEngine } from '../../support/worker-server.ts'

/** The three saved queries on the real engine, with a time of call that each test chooses. */
export const limits = { deadlineMs: 120_000 }

export const second = 1_000_000n
export const minute = 60n * second
export const hour = 60n * minute
export const day = 24n * hour

export function at(iso: string): bigint {
  const micros = parseIsoTimestamp(iso)
  if (micros === undefined) throw new Error(`${iso} is no timestamp.`)
  return micros
}

/** As the engine prints it. */
export function printed(micros: bigint, decimals: 0 | 6 = 6): string {
  const iso = new Date(Number(micros / 1000n)).toISOString()
  const fraction = decimals === 0 ? '' : `.${String(micros % second).padStart(6, '0')}`
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}${fraction}`
}

const content = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

export function compile(file: string, text: string) {
  const reading = readDefinition(file, text)
  if ('problems' in reading) throw new Error(JSON.stringify(reading.problems))
  const typedColumns = (source: string) => builtInSources.find(({ name }) => name === source)?.columns
  return bindQuery(reading.definition.query, reading.definition.parameters, { typedColumns })
}

function load(path: string) {
  return compile(path, content(path))
}

export const saved = {
  stats: load('shipped/endpoints/functions.invocation-stats.sql'),
  logs: load('shipped/endpoints/logs.all.sql'),
  counts: load('shipped/endpoints/usage.api-counts.sql'),
  example: compile(
    'example.sql',
    /```sql\n([\s\S]+?)```/.exec(content('docs/guides/endpoints.md'))?.[1] ?? '',
  ),
}

export function definitionOf(name: string): EndpointDefinition {
  const reading = readDefinition(`${name}.sql`, content(`shipped/endpoints/${name}.sql`))
  if ('problems' in reading) throw new Error(JSON.stringify(reading.problems))
  return reading.definition
}

export const otherSources = [
  ...['postgres_logs', 'function_edge_logs', 'function_logs', 'auth_logs', 'realtime_logs'],
  ...['storage_logs', 'postgrest_logs', 'pgbouncer_logs'],
]

let opened: OpenEngine
let engine: Engine

export interface Entry {
  project?: string
  id?: string
  at: bigint
  event_message?: string
  metadata?: Record<string, unknown>
}

let lastId = 0

export async function insert(table: string, entries: Entry[]): Promise<void> {
  const rows = entries.map(({ at: timestamp, ...entry }) =>
    JSON.stringify({ id: `entry-${++lastId}`, ...entry, timestamp: formatMicros(timestamp) }),
  )
  const settings = {
    input_format_try_infer_dates: 0,
    input_format_try_infer_datetimes: 0,
  }
  await engine.insert({ table, format: 'JSONEachRow', settings }, Buffer.from(rows.join('\n')), limits)
}

export type Row = Record<string, unknown>

export interface Called {
  names: string[]
  types: string[]
  rows: Row[]
}

export async function call(
  name: keyof typeof saved,
  given: Record<string, string>,
  now: bigint,
  settings: Record<string, string | number> = {},
): Promise<Called> {
  const { sql, check } = saved[name]
  return run(sql, withNow(check(given), now), settings)
}

export async function run(
  sql: string,
  parameters: ReturnType<typeof withNow>,
  settings: Record<string, string | number> = {},
): Promise<Called> {
  const format = 'JSONCompactEachRowWithNamesAndTypes'
  const { body } = await engine.query({ sql, parameters, format, settings }, limits)
  const lines = body.toString().trim().split('\n')
  const [names, types, ...values] = lines.map((line) => JSON.parse(line)) as [string[], string[], unknown[][]]
  const rows = values.map((row) => Object.fromEntries(row.map((value, i) => [names[i] as string, value])))
  return { names, types, rows }
}

export async function plan(
  name: keyof typeof saved,
  given: Record<string, string>,
  now: bigint,
): Promise<string> {
  const { sql, check } = saved[name]
  const parameters = withNow(check(given), now)
  const explain = { sql: `EXPLAIN indexes = 1 ${sql}`, parameters, format: 'TSVRaw' }
  return (await engine.query(explain, limits)).body.toString()
}

export function seedEngine(): Engine {
  return engine
}

/** One engine for all the tests of a file. */
export function withSeedEngine(): void {
  beforeAll(async () => {
    opened = await openEngine()
    engine = opened.engine
    for (const source of builtInSources) {
      // The times of the tests are theirs; the retention goes by the time of the machine.
      const kept = { ...source, retention_days: 3650 }
      for (const sql of createSourceTable(kept, topologyOf(engine))) await engine.command({ sql }, limits)
    }
  })
  afterAll(() => opened?.close())
}

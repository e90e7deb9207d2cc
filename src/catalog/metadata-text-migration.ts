import type { Log } from '../base/log.ts'
import type { Engine } from '../engine/engine.ts'
import { outwardJson, readJsonRows } from '../engine/json-rows.ts'
import { sourceShape } from './source.ts'
import { createSourceTable, database, type Topology } from './tables.ts'

/** One statement copies a day of entries. */
const limits = { deadlineMs: 24 * 3_600_000 }

const entryColumns = 'project, id, timestamp, event_message, metadata'

/** The old table of a source while its entries are copied, and the day that is being copied. */
const oldName = (source: string) => `_json_${source}`
const copyName = (source: string) => `_text_${source}`

/**
 * Version 0.1.0 kept metadata in a column of the engine's JSON type, sorted without the id. Neither can be changed in place, so
 * the entries are copied to a new table, a day at a time: copied, counted, put in place, and only then removed from the old
 * table. It may be interrupted anywhere: a day that is there already is replaced as a whole.
 */
export async function keepMetadataAsText(engine: Engine, topology: Topology, log: Log): Promise<void> {
  const old = await oldTables(engine)
  if (old.length === 0) return
  if (topology.cluster !== undefined) {
    throw new Error(
      'The tables on this cluster were made by Wellhead 0.1.0, whose entries cannot be copied on a cluster. ' +
        'Use another database, or go back to 0.1.0.',
    )
  }
  const schemas = await tableSchemas(engine)
  for (const table of old) {
    const source = table.replace(/^_json_/, '')
    const create = schemas.get(source)
    // The table of a source that was deleted goes when sources are opened.
    if (create === undefined) continue
    if (table === source) await run(engine, `RENAME TABLE ${path(source)} TO ${path(oldName(source))}`)
    // Entries that expire while they are copied would be missing when they are counted.
    await run(engine, `SYSTEM STOP MERGES ${path(oldName(source))}`)
    await run(engine, create(source))
    for (const { day, rows } of await daysOf(engine, oldName(source))) {
      await copyDay(engine, source, create(copyName(source)), { day, rows })
      log.info({ source, day, entries: rows }, 'entries copied to the new form of the table')
    }
    await expireAsUsual(engine, source)
    await run(engine, `DROP TABLE IF EXISTS ${path(copyName(source))} SYNC`)
    await run(engine, `DROP TABLE ${path(oldName(source))} SYNC`)
  }
}

/** The copies were made without a TTL, and parts that do not say when they expire never do. */
async function expireAsUsual(engine: Engine, source: string): Promise<void> {
  const alter = `ALTER TABLE ${path(source)}`
  // Otherwise whole parts would be written again.
  await run(engine, `${alter} MODIFY SETTING materialize_ttl_recalculate_only = 1`)
  await run(engine, `${alter} MATERIALIZE TTL`, { mutations_sync: 1 })
  await run(engine, `${alter} RESET SETTING materialize_ttl_recalculate_only`)
}

interface Day {
  /** Id of the partition. */
  day: string
  rows: number
}

async function copyDay(engine: Engine, source: string, create: string, { day, rows }: Day): Promise<void> {
  const [from, copy, to] = [oldName(source), copyName(source), source].map(path) as [string, string, string]
  await run(engine, `DROP TABLE IF EXISTS ${copy} SYNC`)
  await run(engine, create)
  await run(engine, `ALTER TABLE ${copy} REMOVE TTL`)
  // Merges of a large day take longer than the two minutes that the engine waits for them.
  await run(
    engine,
    `ALTER TABLE ${copy} MODIFY SETTING lock_acquire_timeout_for_background_operations = 86400`,
  )
  await run(
    engine,
    `INSERT INTO ${copy} (${entryColumns}) SELECT project, id, timestamp, event_message, toJSONString(metadata) ` +
      `FROM ${from} WHERE _partition_id = '${day}'`,
    { ...outwardJson, json_type_escape_dots_in_keys: 1, max_partitions_per_insert_block: 0 },
  )
  // What was inserted without a token and never merged would be taken for an insert that nobody acknowledged.
  await run(engine, `OPTIMIZE TABLE ${copy} FINAL`, { optimize_throw_if_noop: 1, mutations_sync: 1 })
  await check(engine, source, day, copyName(source), rows)
  const there = await rowsOf(engine, source, day)
  if (there !== 0 && there !== rows) {
    throw new Error(
      `Another service writes to ${source} while its entries are copied. Stop all other services, then start again.`,
    )
  }
  await run(engine, `ALTER TABLE ${to} REPLACE PARTITION ID '${day}' FROM ${copy}`)
  await check(engine, source, day, source, rows)
  await run(engine, `ALTER TABLE ${from} DROP PARTITION ID '${day}'`)
}

async function check(
  engine: Engine,
  source: string,
  day: string,
  table: string,
  rows: number,
): Promise<void> {
  const found = await rowsOf(engine, table, day)
  if (found === rows) return
  throw new Error(
    `Copying the entries of ${source} failed: ${found} of ${rows} entries of ${day} arrived. Nothing was removed; start again.`,
  )
}

async function rowsOf(engine: Engine, table: string, day: string): Promise<number> {
  return (await daysOf(engine, table)).find((other) => other.day === day)?.rows ?? 0
}

async function daysOf(engine: Engine, table: string): Promise<Day[]> {
  const rows = await select<{ day: string; n: string }>(
    engine,
    'SELECT partition_id AS day, sum(rows) AS n FROM system.parts WHERE active AND rows > 0 ' +
      `AND database = '${database}' AND table = '${table}' GROUP BY day ORDER BY day`,
  )
  return rows.map(({ day, n }) => ({ day, rows: Number(n) }))
}

async function oldTables(engine: Engine): Promise<string[]> {
  const rows = await select<{ table: string }>(
    engine,
    `SELECT table FROM system.columns WHERE database = '${database}' AND name = 'metadata' AND type LIKE 'JSON%' ORDER BY table`,
  )
  return rows.map(({ table }) => table)
}

/** How the table of each source is made now, under any name. */
async function tableSchemas(engine: Engine): Promise<Map<string, (name: string) => string>> {
  const rows = await select<{ body: string; gone: boolean }>(
    engine,
    `SELECT argMax(body, version) AS body, argMax(deleted, version) AS gone FROM ${database}._catalog WHERE kind = 'source' GROUP BY id`,
  )
  const sources = rows.filter(({ gone }) => !gone).map(({ body }) => sourceShape.parse(JSON.parse(body)))
  return new Map(
    sources.map((source) => [
      source.name,
      (name) => createSourceTable({ ...source, name }, { cluster: undefined })[0] as string,
    ]),
  )
}

async function select<Row>(engine: Engine, sql: string): Promise<Row[]> {
  const { body } = await engine.query({ sql, format: 'JSONEachRow' }, limits)
  return readJsonRows<Row>(body)
}

async function run(engine: Engine, sql: string, settings: Record<string, number> = {}): Promise<void> {
  // The guard against dropping much by mistake would stop the copy of a large day.
  const anySize = { max_partition_size_to_drop: 0, max_table_size_to_drop: 0 }
  await engine.command({ sql, settings: { ...anySize, ...settings } }, limits)
}

function path(table: string): string {
  return `${database}.\`${table}\``
}

import type { Log } from '../../base/log.ts'
import type { Engine } from '../../engine/engine.ts'
import { outwardJson, queryRows } from '../../engine/json-rows.ts'
import { sourceShape } from '../source.ts'
import { createSourceTable } from '../tables.ts'
import type { Topology } from '../topology.ts'

/** A statement may copy a whole day of entries. */
const limits = { deadlineMs: 24 * 3_600_000 }

const entryColumns = 'project, id, timestamp, event_message, metadata'

/** The old table of a source while its entries are copied. */
const oldName = (source: string) => `_json_${source}`
/** The table of the day that is being copied. */
const copyName = (source: string) => `_text_${source}`

/**
 * Version 0.1.0 stored metadata in the engine's JSON type, and sorted without the id. Neither can be changed in place, so
 * entries are copied to a new table, one day at a time: copied, counted, put in place, and then removed from the old
 * table. It may be interrupted at any point: a day that was copied before is replaced as a whole.
 */
export async function keepMetadataAsText(engine: Engine, topology: Topology, log: Log): Promise<void> {
  const old = await oldTables(engine)
  if (old.length === 0) return
  if (topology.cluster !== undefined) {
    throw new Error(
      'The tables on this cluster were created by Wellhead 0.1.0 and cannot be migrated on a cluster. ' +
        'Use another database, or go back to 0.1.0.',
    )
  }
  const schemas = await tableSchemas(engine, topology)
  for (const table of old) {
    const source = table.replace(/^_json_/, '')
    const create = schemas.get(source)
    // Tables of deleted sources are dropped later.
    if (create === undefined) continue
    if (table === source) await run(engine, `RENAME TABLE ${path(source)} TO ${path(oldName(source))}`)
    // Entries that expire during the copy would make the counts differ.
    await run(engine, `SYSTEM STOP MERGES ${path(oldName(source))}`)
    await run(engine, create(source))
    for (const { day, rows } of await daysOf(engine, oldName(source))) {
      await copyDay(engine, source, create(copyName(source)), { day, rows })
      log.info({ source, day, entries: rows }, 'copied entries to the new table')
    }
    await restoreExpiry(engine, source)
    await run(engine, `DROP TABLE IF EXISTS ${path(copyName(source))} SYNC`)
    await run(engine, `DROP TABLE ${path(oldName(source))} SYNC`)
  }
}

/** The copies were made without a TTL; without this, they would never expire. */
async function restoreExpiry(engine: Engine, source: string): Promise<void> {
  const alter = `ALTER TABLE ${path(source)}`
  // Avoids rewriting whole parts.
  await run(engine, `${alter} MODIFY SETTING materialize_ttl_recalculate_only = 1`)
  await run(engine, `${alter} MATERIALIZE TTL`, { mutations_sync: 1 })
  await run(engine, `${alter} RESET SETTING materialize_ttl_recalculate_only`)
}

interface Day {
  /** Partition id. */
  day: string
  rows: number
}

async function copyDay(engine: Engine, source: string, create: string, { day, rows }: Day): Promise<void> {
  const [from, copy, to] = [oldName(source), copyName(source), source].map(path) as [string, string, string]
  await run(engine, `DROP TABLE IF EXISTS ${copy} SYNC`)
  await run(engine, create)
  await run(engine, `ALTER TABLE ${copy} REMOVE TTL`)
  // Merging a large day takes longer than the default of two minutes.
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
  // Unmerged parts without an insert token would be mistaken for an unacknowledged insert.
  await run(engine, `OPTIMIZE TABLE ${copy} FINAL`, { optimize_throw_if_noop: 1, mutations_sync: 1 })
  await check(engine, source, day, copyName(source), rows)
  const there = await rowsOf(engine, source, day)
  if (there !== 0 && there !== rows) {
    throw new Error(
      `Another service writes to ${source} during the migration. Stop all other services, then start again.`,
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
    `Copying ${source} failed: ${found} of ${rows} entries of ${day} were copied. Nothing was removed. Start again.`,
  )
}

async function rowsOf(engine: Engine, table: string, day: string): Promise<number> {
  return (await daysOf(engine, table)).find((other) => other.day === day)?.rows ?? 0
}

async function daysOf(engine: Engine, table: string): Promise<Day[]> {
  const rows = await select<{ day: string; n: string }>(
    engine,
    'SELECT partition_id AS day, sum(rows) AS n FROM system.parts WHERE active AND rows > 0 ' +
      `AND database = currentDatabase() AND table = '${table}' GROUP BY day ORDER BY day`,
  )
  return rows.map(({ day, n }) => ({ day, rows: Number(n) }))
}

async function oldTables(engine: Engine): Promise<string[]> {
  const rows = await select<{ table: string }>(
    engine,
    `SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'metadata' AND type LIKE 'JSON%' ORDER BY table`,
  )
  return rows.map(({ table }) => table)
}

/** By source: returns the statement that creates its new table under a given name. */
async function tableSchemas(
  engine: Engine,
  topology: Topology,
): Promise<Map<string, (name: string) => string>> {
  const rows = await select<{ body: string; gone: boolean }>(
    engine,
    `SELECT argMax(body, version) AS body, argMax(deleted, version) AS gone FROM _catalog WHERE kind = 'source' GROUP BY id`,
  )
  const sources = rows.filter(({ gone }) => !gone).map(({ body }) => sourceShape.parse(JSON.parse(body)))
  return new Map(
    sources.map((source) => [
      source.name,
      (name) => createSourceTable({ ...source, name }, topology)[0] as string,
    ]),
  )
}

function select<Row>(engine: Engine, sql: string): Promise<Row[]> {
  return queryRows<Row>(engine, { sql }, limits)
}

async function run(engine: Engine, sql: string, settings: Record<string, number> = {}): Promise<void> {
  // By default, the engine refuses to drop large tables and partitions.
  const dropAnySize = { max_partition_size_to_drop: 0, max_table_size_to_drop: 0 }
  await engine.command({ sql, settings: { ...dropAnySize, ...settings } }, limits)
}

function path(table: string): string {
  return `\`${table}\``
}

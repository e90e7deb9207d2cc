import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makePath, unlessMissing } from '../base/files/disk.ts'
import { insertLogFolder } from './embedded/durability/insert-log.ts'
import { checksumsFile, parsePart } from './embedded/durability/part-name.ts'
import type { Engine } from './engine.ts'
import { queryRows, queryText } from './json-rows.ts'

interface FrozenTable {
  name: string
  rows: number
  parts: string[]
}

export interface TableSnapshot {
  /** Holds the files at the paths that they have in the store. */
  directory: string
  tables: FrozenTable[]
  engineVersion: string
  release(): Promise<void>
}

/** Linking the files of a large table takes a while and blocks nothing. */
const limits = { deadlineMs: 600_000 }

/** A pending change of rows, which the engine continues after a restart. */
export const mutationName = /^mutation_\d+\.txt$/

/** A part whose files are incomplete. The engine repairs it at its next start. */
export class DamagedPart extends Error {
  constructor(part: string, table: string) {
    super(`Part ${part} of table ${table} is damaged on disk.`)
  }
}

/** Where a snapshot is. The name is always the same, so that the leftover of an interrupted snapshot is found. */
export interface SnapshotPlace {
  storeDirectory: string
  name: string
}

interface TableRow {
  name: string
  uuid: string
  engine: string
  metadata_path: string
}

/**
 * Takes a snapshot of all wanted tables: hard links to their parts, which need no space, and copies of their definitions,
 * mutations and insert logs. Tables must not be created or altered meanwhile. Rows may be inserted; those that were on
 * disk before are in the snapshot.
 */
export async function snapshotTables(
  engine: Engine,
  place: SnapshotPlace,
  isWanted: (table: string) => boolean,
): Promise<TableSnapshot> {
  const { storeDirectory } = place
  const directory = directoryOf(place)
  const release = () => removeSnapshot(place)
  await release()
  try {
    const tables: FrozenTable[] = []
    await copyInto(directory, storeDirectory, `metadata/${engine.database}.sql`)
    for (const table of await listTables(engine)) {
      if (!isWanted(table.name)) continue
      const frozen = await freezeTable(engine, table, place, directory)
      if (frozen) tables.push(frozen)
    }
    const engineVersion = await queryText(engine, { sql: 'SELECT version()' }, limits)
    return { directory, tables, engineVersion, release }
  } catch (error) {
    await release()
    throw error
  }
}

export async function removeSnapshot(place: SnapshotPlace): Promise<void> {
  await rm(directoryOf(place), { recursive: true, force: true })
}

function directoryOf({ storeDirectory, name }: SnapshotPlace): string {
  return join(storeDirectory, 'shadow', name)
}

/** Own tables first: if the response to an idempotency key is in the snapshot, its rows are in a table frozen later. */
function listTables(engine: Engine, name = ''): Promise<TableRow[]> {
  const sql =
    'SELECT name, toString(uuid) AS uuid, engine, metadata_path FROM system.tables ' +
    "WHERE database = currentDatabase() AND ({name:String} = '' OR name = {name:String}) " +
    "ORDER BY startsWith(name, '_') DESC, name"
  return queryRows<TableRow>(engine, { sql, parameters: { name } }, limits)
}

async function freezeTable(
  engine: Engine,
  table: TableRow,
  { storeDirectory, name: snapshot }: SnapshotPlace,
  directory: string,
): Promise<FrozenTable | undefined> {
  const { name, uuid } = table
  const files = join('store', uuid.slice(0, 3), uuid)
  try {
    if (!table.engine.endsWith('MergeTree')) {
      await copyInto(directory, storeDirectory, table.metadata_path)
      return undefined
    }
    // Before and after the parts, because a mutation may end or begin in between.
    await copyMutations(join(storeDirectory, files), join(directory, files))
    await engine.command({ sql: `ALTER TABLE \`${name}\` FREEZE WITH NAME '${snapshot}'` }, limits)
    // After the parts: the next start removes log entries without rows. In the other order, an insert could be in a part
    // but not in the log, and a retry would be stored twice.
    const [from, to] = [join(storeDirectory, files), join(directory, files)]
    await copyFile(join(from, 'format_version.txt'), join(to, 'format_version.txt'))
    await copyMutations(from, to)
    await copyInsertLog(join(from, insertLogFolder), join(to, insertLogFolder))
    await copyInto(directory, storeDirectory, table.metadata_path)
    return { name, ...(await keepPartsWithRows(name, join(directory, files))) }
  } catch (error) {
    // A table that was dropped meanwhile is left out.
    const [same] = await listTables(engine, name).catch(() => {
      throw error
    })
    if (same?.uuid === uuid) throw error
    await rm(join(directory, files), { recursive: true, force: true })
    await rm(join(directory, table.metadata_path), { force: true })
    return undefined
  }
}

async function copyInto(directory: string, storeDirectory: string, path: string): Promise<void> {
  const target = join(directory, path)
  await makePath(dirname(target), 0o700)
  await copyFile(join(storeDirectory, path), target)
}

async function copyMutations(from: string, to: string): Promise<void> {
  await makePath(to, 0o700)
  const names = (await readdir(from)).filter((name) => mutationName.test(name))
  // The engine removes mutations that are complete.
  for (const name of names) await copyFile(join(from, name), join(to, name)).catch(unlessMissing)
}

/** The engine may rotate the files of this log while they are copied. */
async function copyInsertLog(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const names = await readdir(from).catch(unlessMissing)
    if (names === undefined) return
    try {
      await rm(to, { recursive: true, force: true })
      await mkdir(to, { mode: 0o700 })
      for (const name of names) {
        const log = await readFile(join(from, name))
        // The last line may not be complete yet.
        await writeFile(join(to, name), log.subarray(0, log.lastIndexOf('\n') + 1))
      }
      return
    } catch (error) {
      unlessMissing(error)
      if (attempt >= 5) throw error
    }
  }
}

/** Removes parts without rows, which expiry leaves behind. Throws if a part is incomplete. */
async function keepPartsWithRows(table: string, directory: string): Promise<Omit<FrozenTable, 'name'>> {
  const parts: string[] = []
  let rows = 0
  for (const name of (await readdir(directory)).filter(parsePart)) {
    const count = (await readFile(join(directory, name, 'count.txt'), 'utf8').catch(unlessMissing)) ?? ''
    const sums = await stat(join(directory, name, checksumsFile)).catch(unlessMissing)
    if (!/^\d+$/.test(count) || !sums?.size) {
      throw new DamagedPart(name, table)
    }
    if (Number(count) === 0) {
      await rm(join(directory, name), { recursive: true })
      continue
    }
    parts.push(name)
    rows += Number(count)
  }
  return { rows, parts }
}

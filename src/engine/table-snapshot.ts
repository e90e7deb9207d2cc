import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { backupUnavailable } from '../base/errors.ts'
import { engineDatabase } from '../sql/names.ts'
import type { Engine } from './engine.ts'
import { readJsonRows } from './json-rows.ts'

export interface FrozenTable {
  name: string
  rows: number
  /** Names of the directories that hold its rows; those without any are left out. */
  parts: string[]
}

export interface TableSnapshot {
  /** Holds the files of one moment, at the paths that they have in the engine's directory. */
  directory: string
  tables: FrozenTable[]
  engineVersion: string
  release(): Promise<void>
}

/** Linking the files of a large table takes a while, and nothing is held up by it. */
const limits = { deadlineMs: 600_000 }

/** A change of a table's rows that the engine goes through with part by part, also after it was started anew. */
export const mutationName = /^mutation_\d+\.txt$/

/** One at a time, so that what is left of one that was cut short is always found. */
const snapshotName = 'wellhead_backup'

interface TableRow {
  name: string
  uuid: string
  engine: string
  metadata_path: string
}

/**
 * Has the engine link the files of all tables at once, which costs no space, and puts beside them what it keeps
 * outside of its parts: definitions, mutations, and which inserts it has seen. Nobody may make or change a table
 * meanwhile; rows may come, and are in the snapshot if they were on disk before it began.
 */
export async function snapshotTables(engine: Engine, storeDirectory: string): Promise<TableSnapshot> {
  const directory = snapshotDirectory(storeDirectory)
  const release = () => rm(directory, { recursive: true, force: true })
  await release()
  try {
    const tables: FrozenTable[] = []
    await copyInto(directory, storeDirectory, `metadata/${engineDatabase}.sql`)
    for (const table of await listTables(engine)) {
      const frozen = await freezeTable(engine, table, storeDirectory, directory)
      if (frozen) tables.push(frozen)
    }
    return { directory, tables, engineVersion: await versionOf(engine), release }
  } catch (error) {
    await release()
    throw error
  }
}

/** Removes what a process that ended in the middle has left. */
export async function removeLeftSnapshot(storeDirectory: string): Promise<void> {
  await rm(snapshotDirectory(storeDirectory), { recursive: true, force: true })
}

function snapshotDirectory(storeDirectory: string): string {
  return join(storeDirectory, 'shadow', snapshotName)
}

/**
 * The service's own tables come first: an answer to a sender that is in the snapshot was given when its rows were
 * on disk, so they are in the tables that are frozen after it.
 */
async function listTables(engine: Engine, name?: string): Promise<TableRow[]> {
  const { body } = await engine.query(
    {
      sql:
        'SELECT name, toString(uuid) AS uuid, engine, metadata_path FROM system.tables ' +
        "WHERE database = {database:String} AND ({name:String} = '' OR name = {name:String}) " +
        "ORDER BY startsWith(name, '_') DESC, name",
      parameters: { database: engineDatabase, name: name ?? '' },
      format: 'JSONEachRow',
    },
    limits,
  )
  return readJsonRows<TableRow>(body)
}

async function versionOf(engine: Engine): Promise<string> {
  const { body } = await engine.query({ sql: 'SELECT version()', format: 'TabSeparatedRaw' }, limits)
  return body.toString().trim()
}

async function freezeTable(
  engine: Engine,
  table: TableRow,
  storeDirectory: string,
  directory: string,
): Promise<FrozenTable | undefined> {
  const { name, uuid } = table
  const files = join('store', uuid.slice(0, 3), uuid)
  try {
    if (!table.engine.endsWith('MergeTree')) {
      await copyInto(directory, storeDirectory, table.metadata_path)
      return undefined
    }
    // Before the parts as well as after them: a mutation may be finished and forgotten meanwhile, and one may begin.
    await copyMutations(join(storeDirectory, files), join(directory, files))
    await engine.command(
      { sql: `ALTER TABLE ${engineDatabase}.\`${name}\` FREEZE WITH NAME '${snapshotName}'` },
      limits,
    )
    // After the parts: the log may then name inserts that are in none of them, which a start forgets; the other way
    // round, an insert that is in a part could be taken a second time.
    await copyBeside(join(storeDirectory, files), join(directory, files))
    await copyInto(directory, storeDirectory, table.metadata_path)
    return { name, ...(await keepPartsWithRows(name, join(directory, files))) }
  } catch (error) {
    // A source that was deleted just before is dropped by now.
    const [same] = await listTables(engine, name)
    if (same?.uuid === uuid) throw error
    await rm(join(directory, files), { recursive: true, force: true })
    await rm(join(directory, table.metadata_path), { force: true })
    return undefined
  }
}

async function copyInto(directory: string, storeDirectory: string, path: string): Promise<void> {
  const target = join(directory, path)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  await copyFile(join(storeDirectory, path), target)
}

async function copyBeside(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  await copyFile(join(from, 'format_version.txt'), join(to, 'format_version.txt'))
  await copyMutations(from, to)
  await copyInsertLog(join(from, 'deduplication_logs'), join(to, 'deduplication_logs'))
}

async function copyMutations(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  const names = (await readdir(from)).filter((name) => mutationName.test(name))
  // The engine forgets old mutations that every part has been through.
  for (const name of names) await copyFile(join(from, name), join(to, name)).catch(unlessMissing)
}

/** The engine begins a new file of this log now and then and removes the oldest, also while it is copied. */
async function copyInsertLog(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const names = await readdir(from).catch(unlessMissing)
    if (names === undefined) return
    try {
      await rm(to, { recursive: true, force: true })
      await mkdir(to, { mode: 0o700 })
      for (const name of names) await writeFile(join(to, name), wholeLines(await readFile(join(from, name))))
      return
    } catch (error) {
      unlessMissing(error)
      if (attempt >= 5) throw error
    }
  }
}

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** The last line may be on its way. */
function wholeLines(log: Buffer): Buffer {
  return log.subarray(0, log.lastIndexOf('\n') + 1)
}

const partName = /^[^_]+_\d+_\d+_\d+(?:_\d+)?$/

/**
 * Removes parts without rows from a snapshot: expiry leaves them behind, and an engine drops them soon after it opens.
 * A part that does not say how many rows it has was not written whole, and those it was merged from are not in the
 * snapshot.
 */
async function keepPartsWithRows(table: string, directory: string): Promise<Omit<FrozenTable, 'name'>> {
  const parts: string[] = []
  let rows = 0
  for (const name of (await readdir(directory)).filter((name) => partName.test(name))) {
    const count = (await readFile(join(directory, name, 'count.txt'), 'utf8').catch(unlessMissing)) ?? ''
    const sums = await stat(join(directory, name, 'checksums.txt')).catch(unlessMissing)
    if (!/^\d+$/.test(count) || !sums?.size) {
      throw backupUnavailable(
        `Part ${name} of table ${table} is damaged on disk. Restart the service, which repairs it where it can, and take the backup again.`,
      )
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

import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { atMost } from '../../../base/cache-limit.ts'
import { engineUnavailable } from '../../../base/errors.ts'
import { syncPath, unlessMissing } from '../../../base/files/disk.ts'
import { sqlText } from '../../../sql/names.ts'
import { insertLogFiles, insertLogFolder, type LogPosition, logPath, readInsertLog } from './insert-log.ts'
import { checksumsFile, isCovered, parsePart } from './part-name.ts'

type ReadText = (sql: string) => Promise<string>

/** An insert that is running, with what its table looked like before. */
export interface PendingInsert {
  table: string
  directory: string
  /** End of the table's log; absent if it has none. */
  log?: LogPosition | undefined
}

interface TableFiles {
  parts: ReadonlySet<string>
  /** The newest log file whose directory entry is on disk. */
  syncedLog?: string
}

/** A part that was neither merged nor mutated since its insert. */
const insertedPart = /^[^_]+_(\d+)_\1_0$/

/**
 * Checks on disk what an insert left, because the engine's word is not enough: on a full disk it has put a part in place
 * whose files are empty and reported success, and it does not sync the log by which it recognizes a retry.
 */
export class InsertVerifier {
  readonly #directories: LRUCache<string, string>
  readonly #files: LRUCache<string, TableFiles>

  constructor(maxTables: number) {
    this.#directories = new LRUCache(atMost(maxTables))
    this.#files = new LRUCache(atMost(maxTables))
  }

  /** Undefined for a table without a directory. */
  async begin(table: string, read: ReadText): Promise<PendingInsert | undefined> {
    const directory = await this.#directoryOf(table, read)
    if (directory === undefined) return undefined
    if (!this.#files.has(directory)) await this.#findNewParts(directory)
    const file = (await insertLogFiles(directory)).at(-1)
    if (file === undefined) return { table, directory, log: undefined }
    const stats = await stat(logPath(directory, file)).catch(unlessMissing)
    return { table, directory, log: { file, bytes: stats?.size ?? 0 } }
  }

  /** Whether a successful insert is complete on disk and in the log, and would survive a power cut. */
  async confirm(pending: PendingInsert, read: ReadText): Promise<boolean> {
    const { directory, log } = await this.#locate(pending, read)
    const { inserted, isEmpty } = await this.#findNewParts(directory)
    if (isEmpty) return false
    const { files, parts } = await readInsertLog(directory, { since: log, sync: true })
    const newest = files.at(-1)
    if (newest === undefined) return true
    const unlogged = inserted.filter((part) => !parts.has(part))
    if (unlogged.length > 0) {
      // A part of a concurrent insert may have been logged before this insert began.
      const whole = await readInsertLog(directory)
      if (unlogged.some((part) => !whole.parts.has(part))) return false
    }
    const known = this.#files.get(directory)
    if (known?.syncedLog !== newest) {
      await syncPath(join(directory, insertLogFolder))
      if (known) known.syncedLog = newest
    }
    return true
  }

  /**
   * Whether a failed insert left nothing behind. The engine logs the token before it puts the rows in place. If the
   * second step fails, it takes a retry for a duplicate: it reports success and drops the rows.
   */
  async confirmFailed({ table, directory, log }: PendingInsert, read: ReadText): Promise<boolean> {
    const { tokens } = await readInsertLog(directory, { since: log })
    if (tokens.size === 0) return true
    const names = await readSystemTable(read, 'SELECT name FROM system.parts WHERE active AND table', table)
    const active = names.split('\n').flatMap((name) => parsePart(name) ?? [])
    return [...tokens.values()].every((part) => isCovered(part, active))
  }

  /** Whether a table has the rows of all days of an insert, or of later ones. A data directory may have another place by now. */
  async hasInserts(
    { table, directory, log, days = 1 }: PendingInsert & { days?: number },
    read: ReadText,
  ): Promise<boolean> {
    const current = await this.#directoryOf(table, read)
    if (current === undefined || basename(current) !== basename(directory)) return false
    const { tokens } = await readInsertLog(current, { since: log })
    const storedDays = new Set([...tokens.values()].map((part) => part.slice(0, part.indexOf('_'))))
    return storedDays.size >= days
  }

  /** A table that was dropped and recreated since has another directory, and its whole log is newer than the insert. */
  async #locate(pending: PendingInsert, read: ReadText): Promise<PendingInsert> {
    if (await exists(pending.directory)) return pending
    const directory = await this.#directoryOf(pending.table, read)
    if (directory === undefined)
      throw engineUnavailable(`Table ${pending.table} was dropped during the insert.`)
    return { ...pending, directory, log: undefined }
  }

  /** Finds the parts that appeared in a table since the last time. */
  async #findNewParts(directory: string): Promise<{ inserted: string[]; isEmpty: boolean }> {
    const known = this.#files.get(directory)
    const all = (await readdir(directory).catch(unlessMissing)) ?? []
    const names = all.filter((name) => known?.parts.has(name) || parsePart(name))
    const added = names.filter((name) => !known?.parts.has(name))
    const checksums = await Promise.all(
      added.map((name) => stat(join(directory, name, checksumsFile)).catch(unlessMissing)),
    )
    const isEmpty = checksums.some((file) => file?.size === 0)
    if (!isEmpty) this.#files.set(directory, { ...known, parts: new Set(names) })
    return { inserted: added.filter((name) => insertedPart.test(name)), isEmpty }
  }

  async #directoryOf(table: string, read: ReadText): Promise<string | undefined> {
    const known = this.#directories.get(table)
    if (known !== undefined && (await exists(known))) return known
    const paths = await readSystemTable(read, 'SELECT data_paths[1] FROM system.tables WHERE name', table)
    const directory = paths.trimEnd() || undefined
    if (directory !== undefined) this.#directories.set(table, directory)
    return directory
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessMissing)) !== undefined
}

/** Runs a query that ends in the column of a table's name. */
function readSystemTable(read: ReadText, query: string, table: string): Promise<string> {
  const [name = '', database] = table.split('.').reverse()
  const inDatabase = database === undefined ? 'currentDatabase()' : sqlText(database)
  return read(`${query} = ${sqlText(name)} AND database = ${inDatabase}`)
}

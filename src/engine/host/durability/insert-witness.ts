import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { exceptions } from '../exceptions.ts'
import { quote } from '../statement.ts'
import { insertLogFiles, insertLogFolder, parsePart, partsIn } from './insert-log.ts'

/** The part of a session that the witness uses. */
interface Asked {
  run(sql: string, format: string): Promise<{ bytes: Uint8Array }>
}

/** A table as it was before an insert. */
export interface BegunInsert {
  table: string
  directory: string
  /** The newest file of the table's insert log, and where it ended. */
  log: { name: string; bytes: number } | undefined
}

/** Written last; without its content nothing in the directory can be believed. */
export const sumsFile = 'checksums.txt'

/** Neither merged nor changed since. */
const asInserted = /^[^_]+_(\d+)_\1_0$/

/**
 * Looks at what an insert left on disk before it is acknowledged. On a disk that takes no more bytes the engine was seen to
 * put a part in place whose files are all empty and to report the rows as stored; and it syncs rows, but not the line
 * of its log by which it knows the insert again.
 */
export class InsertWitness {
  readonly #maxTables: number
  readonly #directories = new Map<string, string>()
  /** By the directory of a table: the parts that were there, and were not empty. */
  readonly #parts = new Map<string, ReadonlySet<string>>()
  /** By the directory of a table: the newest file of its log whose name is on disk. */
  readonly #syncedLogs = new Map<string, string>()

  /** At most this many tables are remembered. */
  constructor(maxTables: number) {
    this.#maxTables = maxTables
  }

  /** Undefined where the table has no directory. */
  async begin(table: string, session: Asked): Promise<BegunInsert | undefined> {
    const directory = await this.#directoryOf(table, session)
    if (directory === undefined) return undefined
    if (!this.#parts.has(directory)) await this.#newParts(directory)
    const name = (await logFiles(directory)).at(-1)
    if (name === undefined) return { table, directory, log: undefined }
    const { size = 0 } = (await stat(logPath(directory, name)).catch(unlessMissing)) ?? {}
    return { table, directory, log: { name, bytes: size } }
  }

  /**
   * Whether the insert is on disk as a whole, with its line in the log, and will be after a power cut. Throws where the
   * table is gone.
   */
  async confirm(since: BegunInsert, session: Asked): Promise<boolean> {
    const begun = await this.#whereNow(since, session)
    // That somebody dropped the table is no fault of the engine, so it need not start over.
    if (begun === undefined) throw exceptions.tableDropped(since.table)
    const { directory } = begun
    const { inserted, isEmpty } = await this.#newParts(directory)
    if (isEmpty) return false
    const { files, named } = await readSince(begun, 'sync')
    const unnamed = inserted.filter((part) => !named.includes(part))
    // Others insert at the same time, and the line of a part may be older than this insert.
    if (files.length > 0 && unnamed.length > 0 && !(await areNamed(unnamed, directory))) return false
    const newest = files.at(-1)
    if (newest !== undefined && this.#syncedLogs.get(directory) !== newest) {
      await sync(join(directory, insertLogFolder))
      this.#syncedLogs.set(directory, newest)
    }
    return true
  }

  /** Parts that the log names since the insert began. */
  async partsSince(begun: BegunInsert): Promise<string[]> {
    return (await readSince(begun)).named
  }

  /** A table that was dropped and made again since is elsewhere, and all of it is newer than the insert. */
  async #whereNow(begun: BegunInsert, session: Asked): Promise<BegunInsert | undefined> {
    if ((await stat(begun.directory).catch(unlessMissing)) !== undefined) return begun
    const directory = await this.#directoryOf(begun.table, session)
    return directory === undefined ? undefined : { ...begun, directory, log: undefined }
  }

  /** Parts that appeared in a table's directory since the last look. */
  async #newParts(directory: string): Promise<{ inserted: string[]; isEmpty: boolean }> {
    const seen = this.#parts.get(directory)
    const all = (await readdir(directory).catch(unlessMissing)) ?? []
    const names = all.filter((name) => seen?.has(name) || parsePart(name))
    const added = names.filter((name) => !seen?.has(name))
    const sums = await Promise.all(
      added.map((name) => stat(join(directory, name, sumsFile)).catch(unlessMissing)),
    )
    const isEmpty = sums.some((file) => file?.size === 0)
    if (this.#parts.size >= this.#maxTables) this.#parts.clear()
    if (!isEmpty) this.#parts.set(directory, new Set(names))
    return { inserted: added.filter((name) => asInserted.test(name)), isEmpty }
  }

  async #directoryOf(table: string, session: Asked): Promise<string | undefined> {
    const known = this.#directories.get(table)
    // A table that was dropped and made again is elsewhere.
    if (known !== undefined && (await stat(known).catch(unlessMissing)) !== undefined) return known
    const [name, database] = table.split('.').reverse()
    const of = database === undefined ? 'currentDatabase()' : quote(database)
    const { bytes } = await session.run(
      `SELECT data_paths[1] FROM system.tables WHERE database = ${of} AND name = ${quote(name ?? '')}`,
      'TSVRaw',
    )
    const directory = Buffer.from(bytes).toString().trimEnd() || undefined
    if (this.#directories.size >= this.#maxTables) {
      this.#directories.clear()
      this.#syncedLogs.clear()
    }
    if (directory !== undefined) this.#directories.set(table, directory)
    return directory
  }
}

function logPath(directory: string, name: string): string {
  return join(directory, insertLogFolder, name)
}

async function logFiles(directory: string): Promise<string[]> {
  return insertLogFiles((await readdir(join(directory, insertLogFolder)).catch(unlessMissing)) ?? [])
}

/** Reads what was added to a table's log since an insert began; the engine begins a new file now and then. */
async function readSince(
  { directory, log }: BegunInsert,
  then?: 'sync',
): Promise<{ files: string[]; named: string[] }> {
  const all = await logFiles(directory)
  const files = log && all.includes(log.name) ? all.slice(all.indexOf(log.name)) : all
  let text = ''
  for (const name of files) {
    const file = await open(logPath(directory, name), 'r').catch(unlessMissing)
    // The oldest files go when newer ones are begun, and a table may be dropped at any moment.
    if (file === undefined) continue
    try {
      const { size } = await file.stat()
      const from = name === log?.name ? log.bytes : 0
      const bytes = Buffer.alloc(Math.max(0, size - from))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
      text += bytes.toString('utf8', 0, bytesRead)
      if (then === 'sync') await file.datasync()
    } finally {
      await file.close()
    }
  }
  return { files, named: partsIn(text) }
}

async function areNamed(parts: readonly string[], directory: string): Promise<boolean> {
  const files = await logFiles(directory)
  const texts = await Promise.all(files.map((name) => readFile(logPath(directory, name), 'utf8')))
  return parts.every((part) => texts.some((text) => text.includes(`\t${part}\t`)))
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r').catch(unlessMissing)
  if (file === undefined) return
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

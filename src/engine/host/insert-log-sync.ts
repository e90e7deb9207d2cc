import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { insertLogFiles, insertLogFolder, partsIn } from './insert-log.ts'
import { quote } from './statement.ts'

/** What is asked here of a session. */
interface Asked {
  run(sql: string, format: string): Promise<{ bytes: Uint8Array }>
}

export interface LogMark {
  path: string
  bytes: number
}

/** Puts on disk that an insert was made: the engine does so for its rows alone. */
export class InsertLogSync {
  readonly #maxTables: number
  readonly #directories = new Map<string, string>()
  /** Files whose names are on disk already. */
  readonly #newest = new Map<string, string>()

  /** So many tables are remembered. */
  constructor(maxTables: number) {
    this.#maxTables = maxTables
  }

  async sync(table: string, session: Asked): Promise<void> {
    const { logs, newest } = (await this.#newestLog(table, session)) ?? {}
    if (logs === undefined || newest === undefined) return
    await syncPath(join(logs, newest), 'datasync')
    if (this.#newest.get(logs) === newest) return
    await syncPath(logs, 'sync')
    this.#newest.set(logs, newest)
  }

  /** Where the log of a table ends now. */
  async mark(table: string, session: Asked): Promise<LogMark | undefined> {
    const log = await this.#newestLog(table, session)
    if (log === undefined) return undefined
    const path = join(log.logs, log.newest)
    return { path, bytes: (await stat(path).catch(unlessMissing))?.size ?? 0 }
  }

  /** Parts that the log names since then. */
  async partsSince(mark: LogMark | undefined, table: string, session: Asked): Promise<string[]> {
    const now = await this.mark(table, session)
    if (now === undefined) return []
    const text = await readFile(now.path)
    return partsIn(text.subarray(now.path === mark?.path ? mark.bytes : 0).toString())
  }

  /** Whether each of these parts is named by some line of the log; also where a table has none. */
  async names(parts: readonly string[], table: string, session: Asked): Promise<boolean> {
    const { logs } = (await this.#newestLog(table, session)) ?? {}
    if (logs === undefined) return true
    const files = insertLogFiles((await readdir(logs).catch(unlessMissing)) ?? [])
    const texts = await Promise.all(files.map((file) => readFile(join(logs, file), 'utf8')))
    return parts.every((part) => texts.some((text) => text.includes(`\t${part}\t`)))
  }

  async #newestLog(table: string, session: Asked): Promise<{ logs: string; newest: string } | undefined> {
    const directory = await this.directoryOf(table, session)
    if (directory === undefined) return undefined
    const logs = join(directory, insertLogFolder)
    const newest = insertLogFiles((await readdir(logs).catch(unlessMissing)) ?? []).at(-1)
    return newest === undefined ? undefined : { logs, newest }
  }

  /** Where a table lies; undefined where it is none of these. */
  async directoryOf(table: string, session: Asked): Promise<string | undefined> {
    const known = this.#directories.get(table)
    // A table that was dropped and made again is elsewhere.
    return known !== undefined && (await exists(known)) ? known : this.#find(table, session)
  }

  async #find(table: string, session: Asked): Promise<string | undefined> {
    const [name, database] = table.split('.').reverse()
    const of = database === undefined ? 'currentDatabase()' : quote(database)
    const { bytes } = await session.run(
      `SELECT data_paths[1] FROM system.tables WHERE database = ${of} AND name = ${quote(name ?? '')}`,
      'TSVRaw',
    )
    const directory = Buffer.from(bytes).toString().trimEnd() || undefined
    if (this.#directories.size >= this.#maxTables) {
      this.#directories.clear()
      this.#newest.clear()
    }
    if (directory !== undefined) this.#directories.set(table, directory)
    return directory
  }
}

async function syncPath(path: string, how: 'sync' | 'datasync'): Promise<void> {
  const file = await open(path, 'r').catch(unlessMissing)
  // The oldest files go when newer ones are begun, and a table may be dropped at any moment.
  if (file === undefined) return
  try {
    await file[how]()
  } finally {
    await file.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessMissing)) !== undefined
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

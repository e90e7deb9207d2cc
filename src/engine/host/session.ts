import { Session } from 'chdb'
import { measuredFormat, measuredRows, type RowForm, strangeOutput } from './measured-rows.ts'
import type { InsertTarget } from './statement.ts'

export interface SessionResult {
  bytes: Uint8Array
  /** Of most formats, the engine does not tell what was read. */
  readRows: number | undefined
  readBytes: number | undefined
  writtenRows: number
  writtenBytes: number
  elapsedSeconds: number
}

/** What runs in any session: the binding closes a session only when all of it has ended. */
const operations = new Set<Promise<unknown>>()

/**
 * One connection to the engine, running one query at a time. After anything failed in it, the engine puts
 * the partial output of the failed query before the next result; so a session in which anything failed is
 * spoiled and never used again.
 */
export class EngineSession {
  readonly #session: Session
  #spoiled = false

  constructor(directory: string, connectionArgs: readonly string[]) {
    this.#session = new Session(directory, { connectionArgs })
  }

  get spoiled(): boolean {
    return this.#spoiled
  }

  /** Makes this the session's last query. */
  spoil(): void {
    this.#spoiled = true
  }

  /** For statements of the host itself. */
  run(sql: string, format: string): Promise<SessionResult> {
    return this.#guard(async () => {
      const result = await this.#session.queryAsync(sql, { format })
      return {
        bytes: result.bytes(),
        readRows: undefined,
        readBytes: undefined,
        writtenRows: 0,
        writtenBytes: 0,
        elapsedSeconds: result.elapsed,
      }
    })
  }

  /** Runs a caller's statement, and makes sure that nothing but its own output is given back. */
  async answer(sql: string, format: string): Promise<SessionResult> {
    await this.set("log_comment = ''")
    return this.run(sql, format)
  }

  /** The same for rows, which show by themselves where the output of a statement begins. */
  async answerRows(sql: string, form: RowForm): Promise<SessionResult> {
    const result = await this.run(sql, measuredFormat)
    return this.#guard(async () => ({ ...result, ...measuredRows(result.bytes, form) }))
  }

  /** A SET statement has no output: if it shows any, that is what another query left behind. */
  async set(assignments: string): Promise<void> {
    const { bytes } = await this.run(`SET ${assignments}`, 'TabSeparated')
    if (bytes.length === 0) return
    this.#spoiled = true
    throw new Error(strangeOutput)
  }

  /** The rows go to the engine as they came: their bytes are never a JavaScript string. */
  insert(target: InsertTarget, rows: Buffer, settings: Record<string, string>): Promise<SessionResult> {
    return this.#guard(async () => {
      const { table, columns } = target
      const format = target.format as 'JSONEachRow'
      const written = await this.#session.insert({
        table,
        values: rows,
        format,
        settings,
        ...(columns && { columns }),
      })
      return {
        bytes: new Uint8Array(0),
        readRows: written.rowsWritten,
        readBytes: written.bytesWritten,
        writtenRows: written.rowsWritten,
        writtenBytes: written.bytesWritten,
        elapsedSeconds: written.elapsed,
      }
    })
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    const working = work()
    operations.add(working)
    try {
      return await working
    } catch (error) {
      this.#spoiled = true
      throw error
    } finally {
      operations.delete(working)
    }
  }

  /** Resolves when the engine has let go of the session. */
  async close(): Promise<void> {
    this.#spoiled = true
    this.#session.close()
    await Promise.allSettled(operations)
  }
}

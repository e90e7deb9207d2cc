import type { Session } from 'chdb'
import { sqlName } from '../../sql/names.ts'
import { exceptions } from './exceptions.ts'
import { foreignOutput, measuredFormat, measuredRows, type RowForm } from './measured-rows.ts'
import type { InsertTarget } from './statement.ts'

export interface SessionResult {
  bytes: Uint8Array
  /** Known for rows of JSON only. */
  read?: { read_rows: string; read_bytes: string }
}

/** What the host's own checks need of a session. */
export type SqlSession = Pick<EngineSession, 'run'>

/** Converting and sending what the client refuses would only block the others. */
function withinLimit(result: SessionResult, maxBytes: number): SessionResult {
  if (result.bytes.length > maxBytes) throw exceptions.resultTooLarge()
  return result
}

/** Running operations of all sessions: the binding frees a closed session only when all of them have ended. */
const operations = new Set<Promise<unknown>>()

/**
 * A connection to the engine that runs one query at a time. After a failure, the engine puts the partial output of the
 * failed query before the next result. So any failure spoils the session, and it is never used again.
 */
export class EngineSession {
  readonly #session: Session
  #database: string | undefined
  /** Set to make the current query the last one. */
  spoiled = false

  constructor(session: Session) {
    this.#session = session
  }

  run(sql: string, format: string): Promise<SessionResult> {
    return this.#guard(async () => {
      const result = await this.#session.queryAsync(sql, { format })
      return { bytes: result.bytes() }
    })
  }

  async use(database: string): Promise<void> {
    if (database === this.#database) return
    await this.run(`USE ${sqlName(database)}`, 'Null')
    this.#database = database
  }

  /** Runs a client's statement and makes sure that the result has no output of another query. */
  async query(sql: string, format: string, maxBytes: number): Promise<SessionResult> {
    await this.set("log_comment = ''")
    return withinLimit(await this.run(sql, format), maxBytes)
  }

  /** The same for rows in a format that marks the beginning of its output. */
  async queryRows(sql: string, form: RowForm, maxBytes: number): Promise<SessionResult> {
    const result = withinLimit(await this.run(sql, measuredFormat), maxBytes)
    return this.#guard(async () => ({ ...result, ...measuredRows(result.bytes, form) }))
  }

  /** SET has no output, so any output is left over from another query. */
  async set(assignments: string): Promise<void> {
    const { bytes } = await this.run(`SET ${assignments}`, 'TabSeparated')
    if (bytes.length === 0) return
    this.spoiled = true
    throw new Error(foreignOutput)
  }

  /** Passes the rows on as bytes; they never become a JavaScript string. */
  insert(target: InsertTarget, rows: Buffer, settings: Record<string, string>): Promise<SessionResult> {
    return this.#guard(async () => {
      const { table, columns } = target
      const format = target.format as 'JSONEachRow'
      const options = { table, values: rows, format, settings, ...(columns && { columns }) }
      await this.#session.insert(options)
      return { bytes: new Uint8Array(0) }
    })
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    const working = work()
    operations.add(working)
    try {
      return await working
    } catch (error) {
      this.spoiled = true
      throw error
    } finally {
      operations.delete(working)
    }
  }

  /** Resolves when the engine has freed the session. */
  async close(): Promise<void> {
    this.spoiled = true
    this.#session.close()
    await Promise.allSettled(operations)
  }
}

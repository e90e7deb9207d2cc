import { Session } from 'chdb'
import { measuredRows, measuredStatement } from './measured-rows.ts'
import { type InsertTarget, quote } from './statement.ts'

export interface SessionResult {
  bytes: Uint8Array
  /** Of most formats, the engine does not tell what was read. */
  readRows: number | undefined
  readBytes: number | undefined
  writtenRows: number
  writtenBytes: number
  elapsedSeconds: number
}

export interface Preparation {
  /** Tells this query from all others when it has to be stopped. */
  tag: string
  settings: ReadonlyMap<string, string>
  parameters: ReadonlyMap<string, string>
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
  readonly #settings = new Map<string, string>()
  #parameters: ReadonlySet<string> = new Set()
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

  /**
   * Sets what the next query needs and unsets what the last one left. A SET statement has no output: if
   * it shows any, that is what another query left behind, and the session must not be used.
   */
  async prepare(preparation: Preparation): Promise<void> {
    const assignments = [`log_comment = ${quote(preparation.tag)}`]
    for (const [name, value] of preparation.settings) {
      if (this.#settings.get(name) !== value) assignments.push(`${name} = ${quote(value)}`)
    }
    for (const name of this.#settings.keys()) {
      if (!preparation.settings.has(name)) assignments.push(`${name} = DEFAULT`)
    }
    for (const [name, value] of preparation.parameters) assignments.push(`param_${name} = ${quote(value)}`)
    // A parameter cannot be unset, so what is left of an earlier caller is at least emptied.
    const left = [...this.#parameters].filter((name) => !preparation.parameters.has(name))
    for (const name of left) assignments.push(`param_${name} = ''`)
    const { bytes } = await this.run(`SET ${assignments.join(', ')}`, 'TabSeparated')
    if (bytes.length > 0) {
      this.#spoiled = true
      throw new Error('A session held the output of another query.')
    }
    this.#settings.clear()
    for (const [name, value] of preparation.settings) this.#settings.set(name, value)
    this.#parameters = new Set(preparation.parameters.keys())
  }

  run(sql: string, format: string): Promise<SessionResult> {
    return this.#guard(async () => {
      const measured = measuredStatement(sql)
      const result = await this.#session.queryAsync(measured ?? sql, { format })
      const asArray = this.#settings.get('output_format_json_array_of_rows') === '1'
      const { bytes, readRows, readBytes } =
        measured === undefined
          ? { bytes: result.bytes(), readRows: undefined, readBytes: undefined }
          : measuredRows(result.bytes(), asArray)
      const elapsedSeconds = result.elapsed
      return { bytes, readRows, readBytes, writtenRows: 0, writtenBytes: 0, elapsedSeconds }
    })
  }

  /** The rows go to the engine as they came: their bytes are never a JavaScript string. */
  insert(target: InsertTarget, rows: Buffer): Promise<SessionResult> {
    return this.#guard(async () => {
      const { table, columns } = target
      const format = target.format as 'JSONEachRow'
      const written = await this.#session.insert({ table, values: rows, format, ...(columns && { columns }) })
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

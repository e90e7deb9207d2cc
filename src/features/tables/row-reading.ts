import { type TableColumn, TypeTeller } from '../../shared/column-types.ts'
import { tenantSource } from './table.ts'
import { type RowForm, readRows, rowWriter, type SentRows } from './table-rows.ts'

/** Result of reading all rows once. */
export interface RowSummary {
  /** Columns with the types that all values have. */
  columns: TableColumn[]
  rows: number
  /** Erased projects that have rows. */
  erased: string[]
}

/** Lines for the engine, or, after the last of them, the digest of columns and rows. */
export type RowChunk = { lines: Uint8Array<ArrayBuffer> } | { digest: string }

/** Reads a body on the thread of its caller: all rows for their summary, and then again, chunk by chunk. */
export class RowReading {
  readonly #sent: SentRows
  readonly #chunkLength: number
  #chunks: Generator<Uint8Array<ArrayBuffer>, string> | undefined

  constructor(body: Buffer, form: RowForm, chunkLength: number) {
    this.#sent = readRows(body, form)
    this.#chunkLength = chunkLength
  }

  summary(erasedProjects: ReadonlySet<string>): RowSummary {
    const { names, isTyped } = this.#sent
    const teller = new TypeTeller(names, isTyped)
    const erased = new Set<string>()
    const projectAt = names.indexOf(tenantSource)
    for (const row of this.#sent.rows()) {
      teller.add(row)
      const project = row[projectAt] ?? null
      if (project !== null && erasedProjects.has(String(project))) erased.add(String(project))
    }
    return { columns: teller.columns, rows: teller.rows, erased: [...erased] }
  }

  /** The next rows as values of the columns. */
  next(columns: readonly TableColumn[]): RowChunk {
    this.#chunks ??= this.#write(columns)
    const { done, value } = this.#chunks.next()
    return done ? { digest: value } : { lines: value }
  }

  *#write(columns: readonly TableColumn[]): Generator<Uint8Array<ArrayBuffer>, string> {
    const encoder = new TextEncoder()
    const { write, digest } = rowWriter(this.#sent, columns)
    let lines: string[] = []
    let length = 0
    for (const row of this.#sent.rows()) {
      const line = write(row)
      lines.push(line)
      length += line.length
      if (length < this.#chunkLength) continue
      yield encoder.encode(lines.join(''))
      lines = []
      length = 0
    }
    if (length > 0) yield encoder.encode(lines.join(''))
    return digest()
  }
}

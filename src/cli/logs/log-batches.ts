import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { InputReading, ReadEntry } from './entry-reader.ts'

/** What is sent in one request. */
export interface LogBatch {
  body: Buffer<ArrayBuffer>
  contentType: 'application/x-ndjson' | 'application/json'
  /** Line of each entry; none where the batch is a document. */
  lines: readonly number[]
}

/** An entry that was not stored. */
export interface Rejection {
  input: string
  /** The line where it begins, where that is known. */
  line?: number
  /** Its place in the document otherwise. */
  index?: number
  reason: string
}

export interface BatchBounds {
  maxBytes: number
  maxEntries: number
}

export type BatchOrRejection = { batch: LogBatch } | { rejection: { line: number; reason: string } }

/**
 * Gathers entries into batches. Where one ends is told by the entries alone, never by time, so that the same
 * input gives the same batches when it is sent again.
 */
export async function* gatherBatches(
  reading: InputReading,
  { maxBytes, maxEntries }: BatchBounds,
): AsyncGenerator<BatchOrRejection> {
  if (reading.kind === 'document') {
    yield { batch: { body: Buffer.from(reading.text), contentType: 'application/json', lines: [] } }
    return
  }
  let texts: Buffer[] = []
  let lines: number[] = []
  let bytes = 0
  const take = (): { batch: LogBatch } => {
    const body = Buffer.alloc(bytes, '\n')
    let at = 0
    for (const text of texts) at += text.copy(body, at) + 1
    const batch = { body, contentType: 'application/x-ndjson', lines } as const
    texts = []
    lines = []
    bytes = 0
    return { batch }
  }
  for await (const entry of reading.entries) {
    const reason = reasonOf(entry)
    if ('tooLong' in entry || reason !== undefined) {
      yield { rejection: { line: entry.line, reason: reason ?? '' } }
      continue
    }
    const size = entry.text.length + 1
    if (texts.length > 0 && (bytes + size > maxBytes || texts.length >= maxEntries)) yield take()
    texts.push(entry.text)
    lines.push(entry.line)
    bytes += size
  }
  if (texts.length > 0) yield take()
}

/** What the service would refuse the whole batch for. */
function reasonOf(entry: ReadEntry): string | undefined {
  if ('tooLong' in entry) return 'is too long to be an entry'
  return isUtf8(entry.text) ? undefined : 'is not valid UTF-8'
}

/**
 * Names batches by what they hold and which of several equal ones they are. The same input sent again has the
 * same keys, so nothing is stored twice; an input that holds the same lines twice has different ones.
 */
export class BatchKeys {
  readonly #source: string
  readonly #salt: string
  readonly #seen = new Map<string, number>()

  /** With a salt of its own, an input that was sent before is a new one. */
  constructor(source: string, salt = '') {
    this.#source = source
    this.#salt = salt
  }

  next({ body }: Pick<LogBatch, 'body'>): string {
    const content = createHash('sha256').update(`${this.#source}\0`).update(body).digest('hex')
    const ordinal = this.#seen.get(content) ?? 0
    this.#seen.set(content, ordinal + 1)
    return `logs-send-${createHash('sha256').update(`${this.#salt}${content}:${ordinal}`).digest('hex')}`
  }
}

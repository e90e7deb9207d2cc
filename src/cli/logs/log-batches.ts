import { isUtf8 } from 'node:buffer'
import type { ReadEntry } from './log-input.ts'

export interface LogBatch {
  body: Buffer<ArrayBuffer>
  /** Line of each entry. */
  lines: readonly number[]
}

/** An entry that was not stored. */
export interface Rejection {
  input: string
  line: number
  reason: string
}

export type BatchOrRejection = { batch: LogBatch } | { rejection: { line: number; reason: string } }

/** Batch boundaries depend only on the entries, never on time, so that the same input produces the same batches. */
export async function* gatherBatches(
  entries: AsyncIterable<ReadEntry>,
  { maxBytes, maxEntries }: { maxBytes: number; maxEntries: number },
): AsyncGenerator<BatchOrRejection> {
  let texts: Buffer[] = []
  let lines: number[] = []
  let bytes = 0
  const take = (): { batch: LogBatch } => {
    const body = Buffer.alloc(bytes, '\n')
    let at = 0
    for (const text of texts) at += text.copy(body, at) + 1
    const batch = { body, lines }
    texts = []
    lines = []
    bytes = 0
    return { batch }
  }
  for await (const entry of entries) {
    const { line } = entry
    // The service would reject the whole batch because of these entries.
    if ('tooLong' in entry) yield { rejection: { line, reason: 'is too long to be an entry' } }
    else if (!isUtf8(entry.text)) yield { rejection: { line, reason: 'is not valid UTF-8' } }
    else {
      const size = entry.text.length + 1
      if (texts.length > 0 && (bytes + size > maxBytes || texts.length >= maxEntries)) yield take()
      texts.push(entry.text)
      lines.push(line)
      bytes += size
    }
  }
  if (texts.length > 0) yield take()
}

/**
 * Creates idempotency keys from the content of a batch and its position among equal batches. Sending the same
 * input again produces the same keys, so nothing is stored twice. A different salt makes the same input a new one.
 */
export async function batchKeys(
  source: string,
  salt = '',
): Promise<(batch: Pick<LogBatch, 'body'>) => string> {
  // Slow to load, and other commands need none of it.
  const { createHash } = await import('node:crypto')
  const seen = new Map<string, number>()
  return ({ body }) => {
    const content = createHash('sha256').update(`${source}\0`).update(body).digest('hex')
    const ordinal = seen.get(content) ?? 0
    seen.set(content, ordinal + 1)
    return `logs-send-${createHash('sha256').update(`${salt}${content}:${ordinal}`).digest('hex')}`
  }
}

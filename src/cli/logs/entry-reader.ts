import { CommandFailure } from '../command-failure.ts'
import { formatBytes } from '../output/format-amount.ts'
import { prepend, readUntil } from './log-input.ts'
import { type ReadEntry, splitArray, splitLines } from './split-entries.ts'

/** An input contains entries to collect into batches, or it is one document that is sent unchanged. */
export type InputReading =
  | { kind: 'entries'; entries: AsyncGenerator<ReadEntry> }
  | { kind: 'document'; text: Buffer }

interface EntryBounds {
  /** Longer entries are rejected without reading them into memory. */
  maxEntryBytes: number
  /** A document of several lines is read into memory up to this size. */
  maxDocumentBytes: number
}

/** Detects JSON lines, an array or a single document by the start of the input. */
export async function readEntries(
  name: string,
  chunks: AsyncGenerator<Buffer>,
  { maxEntryBytes, maxDocumentBytes }: EntryBounds,
): Promise<InputReading> {
  let head = await readUntil(chunks, maxEntryBytes, hasWholeLine)
  const start = head.toString('utf8', 0, Math.min(head.length, 4096)).trimStart()
  if (start.startsWith('[')) {
    return { kind: 'entries', entries: splitArray(name, prepend(head, chunks), maxEntryBytes) }
  }
  const isBatch = /^\{\s*"batch"\s*:/.test(start)
  if (isBatch || (start.startsWith('{') && !firstLine(head).endsWith('}'))) {
    head = Buffer.concat([head, await readUntil(chunks, maxDocumentBytes - head.length)])
    const isWhole = head.length < maxDocumentBytes
    if (isWhole && isJson(head)) return { kind: 'document', text: head }
    if (!isWhole && isBatch) {
      throw new CommandFailure(
        `${name} is one document of more than ${formatBytes(maxDocumentBytes)}. Send its entries as an array or as lines.`,
      )
    }
  }
  return { kind: 'entries', entries: splitLines(prepend(head, chunks), maxEntryBytes) }
}

function hasWholeLine(chunk: Buffer): boolean {
  return chunk.includes('\n') && chunk.toString('latin1').trim() !== ''
}

function firstLine(text: Buffer): string {
  const start = text.findIndex((byte) => byte > 0x20)
  const end = text.indexOf('\n', start)
  return text.toString('utf8', start, end < 0 ? text.length : end).trimEnd()
}

function isJson(text: Buffer): boolean {
  try {
    JSON.parse(text.toString())
    return true
  } catch {
    return false
  }
}

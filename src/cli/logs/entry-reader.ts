import { CommandFailure } from '../command-failure.ts'
import { formatBytes } from '../output/format-amount.ts'
import { ArraySplitter } from './array-splitter.ts'
import { splitLines } from './line-splitter.ts'
import { prepend } from './log-input.ts'

/** A piece of an input that should be an entry. */
export type ReadEntry =
  | { text: Buffer; line: number }
  /** Not held, since it is larger than anything that would be stored. */
  | { tooLong: true; line: number }

/** An input is pieces to gather into batches, or one document that is sent as it is. */
export type InputReading =
  | { kind: 'entries'; entries: AsyncGenerator<ReadEntry> }
  | { kind: 'document'; text: Buffer }

export interface EntryBounds {
  /** A longer entry is not held in memory. */
  maxEntryBytes: number
  /** A document over several lines is held whole, and may be so long. */
  maxDocumentBytes: number
}

const newline = 0x0a

/** Tells lines of JSON, an array and a single document apart by how the input begins. */
export async function readEntries(
  name: string,
  chunks: AsyncGenerator<Buffer>,
  bounds: EntryBounds,
): Promise<InputReading> {
  const first = await readUntil(chunks, bounds.maxEntryBytes, hasWholeLine)
  const begin = first.toString('utf8', 0, Math.min(first.length, 4096)).trimStart()
  if (begin.startsWith('[')) {
    const splitter = new ArraySplitter(name, bounds.maxEntryBytes)
    return { kind: 'entries', entries: splitter.split(prepend(first, chunks)) }
  }
  let head = first
  const isBatch = /^\{\s*"batch"\s*:/.test(begin)
  if (isBatch || (begin.startsWith('{') && !firstLine(first).endsWith('}'))) {
    head = Buffer.concat([
      first,
      await readUntil(chunks, bounds.maxDocumentBytes - first.length, () => false),
    ])
    const whole = head.length < bounds.maxDocumentBytes
    if (whole && isJson(head)) return { kind: 'document', text: head }
    if (!whole && isBatch) {
      throw new CommandFailure(
        `${name} is one document of more than ${formatBytes(bounds.maxDocumentBytes)}. Send its entries as an array or as lines.`,
      )
    }
  }
  return { kind: 'entries', entries: splitLines(prepend(head, chunks), bounds.maxEntryBytes) }
}

async function readUntil(
  chunks: AsyncGenerator<Buffer>,
  maxBytes: number,
  enough: (read: Buffer) => boolean,
): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  while (length < maxBytes) {
    const next = await chunks.next()
    if (next.done) break
    parts.push(next.value)
    length += next.value.length
    if (enough(next.value)) break
  }
  return Buffer.concat(parts)
}

/** Lines before the first that has something do not count, but such inputs are rare, and only read on. */
function hasWholeLine(chunk: Buffer): boolean {
  return chunk.includes(newline) && chunk.toString('latin1').trim() !== ''
}

function firstLine(text: Buffer): string {
  const start = text.findIndex((byte) => byte > 0x20)
  const end = text.indexOf(newline, start)
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

import { isUtf8 } from 'node:buffer'
import { CommandFailure } from '../command-failure.ts'
import { formatBytes } from '../output/format-amount.ts'
import { prepend, readUntil } from './log-input.ts'

type ReadEntry =
  | { text: Buffer; line: number }
  /** Larger than any entry that would be stored, so it is not kept in memory. */
  | { tooLong: true; line: number }

/** An input contains lines to collect into batches, or it is one document that is sent unchanged. */
export type InputReading =
  | { kind: 'entries'; entries: AsyncGenerator<ReadEntry> }
  | { kind: 'document'; text: Buffer }

export const entryBounds = {
  /** Longer entries are rejected without reading them into memory. */
  maxEntryBytes: 8 * 2 ** 20,
  /** A document is read into memory up to this size. */
  maxDocumentBytes: 12 * 2 ** 20,
}

/** Detects JSON lines, or an array, a batch or an object of several lines by the start of the input. */
export async function readEntries(
  name: string,
  chunks: AsyncGenerator<Buffer>,
  { maxEntryBytes, maxDocumentBytes }: typeof entryBounds,
): Promise<InputReading> {
  let head = await readUntil(chunks, maxEntryBytes, hasWholeLine)
  const start = head.toString('utf8', 0, Math.min(head.length, 4096)).trimStart()
  const isList = /^(?:\[|\{\s*"batch"\s*:)/.test(start)
  if (isList || (start.startsWith('{') && !firstLine(head).endsWith('}'))) {
    head = Buffer.concat([head, await readUntil(chunks, maxDocumentBytes - head.length)])
    const isWhole = head.length < maxDocumentBytes
    if (isWhole && (isList || isJson(head))) return { kind: 'document', text: head }
    if (isList) {
      throw new CommandFailure(
        `${name} is one document of more than ${formatBytes(maxDocumentBytes)}. Send its entries as lines: jq -c '.[]'`,
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

/** One entry per line; blank lines are skipped but counted. */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  maxEntryBytes: number,
): AsyncGenerator<ReadEntry> {
  let parts: Buffer[] = []
  let bytes = 0
  let line = 1
  const add = (part: Buffer) => {
    bytes += part.length
    if (bytes > maxEntryBytes) parts = []
    else parts.push(part)
  }
  function* take(): Generator<ReadEntry> {
    const text = trimmed(Buffer.concat(parts))
    if (bytes > maxEntryBytes) yield { tooLong: true, line }
    else if (text.length > 0) yield { text, line }
    parts = []
    bytes = 0
    line++
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
      add(chunk.subarray(from, at))
      yield* take()
      from = at + 1
    }
    add(chunk.subarray(from))
  }
  yield* take()
}

const isPrintable = (byte: number | undefined) => byte !== undefined && byte > 0x20 && byte < 0x7f

/** Trims as the service does: it must count the same lines, or it would report wrong line numbers. */
function trimmed(text: Buffer): Buffer {
  // Invalid text is reported later and must not change here.
  if ((isPrintable(text[0]) && isPrintable(text.at(-1))) || !isUtf8(text)) return text
  return Buffer.from(text.toString().replace(/^\x1e/, '').trim())
}

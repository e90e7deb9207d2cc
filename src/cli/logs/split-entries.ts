import { isUtf8 } from 'node:buffer'
import { CommandFailure } from '../command-failure.ts'

export type ReadEntry =
  | { text: Buffer; line: number }
  /** Larger than any entry that would be stored, so it is not kept in memory. */
  | { tooLong: true; line: number }

const code = (character: string) => character.charCodeAt(0)
const [newline, quote, backslash, comma, bracket] = [...'\n"\\,['].map(code)
const opening = new Set([...'[{'].map(code))
const closing = new Set([...']}'].map(code))

/** The bytes of one entry until its end is found. */
class EntryBuffer {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes > this.#maxBytes) this.#parts = []
    else this.#parts.push(part)
  }

  /** Ends the entry; nothing if it is blank. */
  *take(line: number): Generator<ReadEntry> {
    const text = trimmed(Buffer.concat(this.#parts))
    if (this.#bytes > this.#maxBytes) yield { tooLong: true, line }
    else if (text.length > 0) yield { text, line }
    this.#parts = []
    this.#bytes = 0
  }
}

/** One entry per line; blank lines are skipped but counted. */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  maxEntryBytes: number,
): AsyncGenerator<ReadEntry> {
  const entry = new EntryBuffer(maxEntryBytes)
  let line = 1
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
      entry.add(chunk.subarray(from, at))
      yield* entry.take(line++)
      from = at + 1
    }
    entry.add(chunk.subarray(from))
  }
  yield* entry.take(line)
}

/** Splits a JSON array while reading it, so that memory holds only one member at a time. */
export async function* splitArray(
  name: string,
  chunks: AsyncIterable<Buffer>,
  maxEntryBytes: number,
): AsyncGenerator<ReadEntry> {
  const entry = new EntryBuffer(maxEntryBytes)
  let depth = 0
  let inString = false
  let isEscaped = false
  let isComplete = false
  let line = 1
  /** 0 until the member has more than spaces. */
  let entryLine = 0
  for await (const chunk of chunks) {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (byte === newline) line++
      if (isEscaped) isEscaped = false
      else if (inString) {
        if (byte === backslash) isEscaped = true
        else if (byte === quote) inString = false
      } else if (byte > 0x20) {
        if (isComplete) throw new CommandFailure(`${name}:${line}: unexpected content after the array.`)
        if (depth === 0) {
          // Skips a byte order mark before the array.
          if (byte === bracket) depth = 1
          from = at + 1
          continue
        }
        if (byte === quote) inString = true
        else if (opening.has(byte)) depth++
        else if (closing.has(byte)) depth--
        isComplete = depth === 0
        if (isComplete || (depth === 1 && byte === comma)) {
          if (entryLine > 0) entry.add(chunk.subarray(from, at))
          yield* onOneLine(entry.take(entryLine))
          from = at + 1
          entryLine = 0
        } else entryLine ||= line
      }
    }
    if (depth > 0 && entryLine > 0) entry.add(chunk.subarray(from))
  }
  if (!isComplete) throw new CommandFailure(`${name} ends in the middle of its array.`)
}

/** Entries are sent as lines. JSON has line breaks only where a space means the same. */
function* onOneLine(entries: Iterable<ReadEntry>): Generator<ReadEntry> {
  for (const entry of entries) {
    if ('text' in entry) {
      for (let at = entry.text.indexOf('\n'); at >= 0; at = entry.text.indexOf('\n', at + 1))
        entry.text[at] = 0x20
    }
    yield entry
  }
}

const isPrintable = (byte: number | undefined) => byte !== undefined && byte > 0x20 && byte < 0x7f

/** Trims as the service does: it must count the same lines, or it would report wrong line numbers. */
function trimmed(text: Buffer): Buffer {
  // Invalid text is reported later and must not change here.
  if ((isPrintable(text[0]) && isPrintable(text.at(-1))) || !isUtf8(text)) return text
  return Buffer.from(text.toString().replace(/^\x1e/, '').trim())
}

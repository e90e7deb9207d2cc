import { isUtf8 } from 'node:buffer'
import type { ReadEntry } from './entry-reader.ts'

const newline = 0x0a

/** One entry a line, with its number; empty lines are none. */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  maxEntryBytes: number,
): AsyncGenerator<ReadEntry> {
  let held: Buffer[] = []
  let heldBytes = 0
  let tooLong = false
  let line = 1
  const finish = (): ReadEntry | undefined => {
    const text = tooLong ? undefined : bare(Buffer.concat(held, heldBytes))
    const entry = text === undefined ? ({ tooLong: true, line } as const) : { text, line }
    held = []
    heldBytes = 0
    tooLong = false
    line++
    return text?.length === 0 ? undefined : entry
  }
  const hold = (part: Buffer) => {
    heldBytes += part.length
    if (heldBytes > maxEntryBytes) {
      tooLong = true
      held = []
    } else held.push(part)
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      hold(chunk.subarray(from, at))
      const entry = finish()
      if (entry) yield entry
      from = at + 1
    }
    hold(chunk.subarray(from))
  }
  const last = heldBytes > 0 ? finish() : undefined
  if (last) yield last
}

const isPrintable = (byte: number | undefined) => byte !== undefined && byte > 0x20 && byte < 0x7f

/** As the service will see it: it must count the same lines, or the numbers of rejected ones would be wrong. */
export function bare(line: Buffer): Buffer {
  // What is no text is told later, and must not be changed here.
  if ((isPrintable(line[0]) && isPrintable(line.at(-1))) || !isUtf8(line)) return line
  return Buffer.from(line.toString().replace(/^\x1e/, '').trim())
}

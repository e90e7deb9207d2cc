import { CommandFailure } from '../command-failure.ts'
import type { ReadEntry } from './entry-reader.ts'
import { bare } from './line-splitter.ts'

const code = (character: string) => character.charCodeAt(0)
const quote = code('"')
const backslash = code('\\')
const comma = code(',')
const newline = 0x0a
const bracket = code('[')
const open = new Set([bracket, code('{')])
const close = new Set([code(']'), code('}')])

/** Cuts an array into its members while it is read, so that a file of any size takes no more than one of them. */
export class ArraySplitter {
  readonly #name: string
  readonly #maxEntryBytes: number
  #depth = 0
  #inString = false
  #escaped = false
  #ended = false
  #line = 1
  #memberLine = 1
  /** Whether the member has more than spaces so far. */
  #begun = false
  #held: Buffer[] = []
  #heldBytes = 0
  #tooLong = false

  constructor(name: string, maxEntryBytes: number) {
    this.#name = name
    this.#maxEntryBytes = maxEntryBytes
  }

  async *split(chunks: AsyncIterable<Buffer>): AsyncGenerator<ReadEntry> {
    for await (const chunk of chunks) yield* this.#take(chunk)
    if (!this.#ended) throw new CommandFailure(`${this.#name} ends in the middle of its array.`)
  }

  *#take(chunk: Buffer): Generator<ReadEntry> {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (byte === newline) this.#line++
      if (this.#escaped) this.#escaped = false
      else if (this.#inString) {
        if (byte === backslash) this.#escaped = true
        else if (byte === quote) this.#inString = false
      } else if (byte > 0x20) {
        if (this.#ended)
          throw new CommandFailure(`${this.#name}:${this.#line}: there is something behind the array.`)
        if (this.#depth === 0) {
          // A byte order mark may stand before the array.
          if (byte === bracket) this.#depth = 1
          from = at + 1
          continue
        }
        if (byte === quote) this.#inString = true
        else if (open.has(byte)) this.#depth++
        else if (close.has(byte)) this.#depth--
        const ends = this.#depth === 0 || (this.#depth === 1 && byte === comma)
        if (!ends && !this.#begun) {
          this.#begun = true
          this.#memberLine = this.#line
        }
        if (ends) {
          this.#hold(chunk.subarray(from, at))
          yield* this.#finish()
          from = at + 1
          this.#ended = this.#depth === 0
        }
      }
    }
    if (this.#depth > 0) this.#hold(chunk.subarray(from))
  }

  #hold(part: Buffer): void {
    if (!this.#begun) return
    this.#heldBytes += part.length
    if (this.#heldBytes > this.#maxEntryBytes) {
      this.#tooLong = true
      this.#held = []
    } else this.#held.push(part)
  }

  *#finish(): Generator<ReadEntry> {
    const line = this.#memberLine
    const text = bare(onOneLine(Buffer.concat(this.#held)))
    if (this.#tooLong) yield { tooLong: true, line }
    else if (text.length > 0) yield { text, line }
    this.#begun = false
    this.#held = []
    this.#heldBytes = 0
    this.#tooLong = false
  }
}

/** Line breaks stand only between the parts of JSON, where a space is as good. */
function onOneLine(text: Buffer): Buffer {
  for (let at = text.indexOf(newline); at >= 0; at = text.indexOf(newline, at + 1)) text[at] = 0x20
  return text
}

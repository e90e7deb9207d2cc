import { backslash, quote } from '../base/json/json-scanner.ts'

/** What stands between the values of an entry in its line. */
export const syntax = {
  project: Buffer.from('{"project":'),
  id: Buffer.from(',"id":'),
  timestamp: Buffer.from(',"timestamp":"'),
  message: Buffer.from('","event_message":'),
  metadata: Buffer.from(',"metadata":'),
  emptyText: Buffer.from('""'),
  open: Buffer.from('{'),
  close: Buffer.from('}'),
  comma: Buffer.from(','),
  colon: Buffer.from(':'),
} as const

const secondsOfDay = 86_400

/** Rows for the engine in one buffer, each followed by a newline. */
export class Lines implements Iterable<Buffer> {
  readonly bytes: Buffer
  readonly ends: Uint32Array

  constructor(bytes: Uint8Array, ends: Uint32Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.ends = ends
  }

  /** Of text that ends with a newline. */
  static of(bytes: Buffer): Lines {
    const ends: number[] = []
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, end + 1)) ends.push(end + 1)
    return new Lines(bytes, Uint32Array.from(ends))
  }

  static from(lines: readonly Buffer[]): Lines {
    let end = 0
    const ends = lines.map((line) => {
      end += line.length
      return end
    })
    return new Lines(Buffer.concat(lines, end), Uint32Array.from(ends))
  }

  static join(several: readonly Lines[]): Lines {
    if (several.length === 1) return several[0] as Lines
    const ends = new Uint32Array(several.reduce((sum, { count }) => sum + count, 0))
    let [at, offset] = [0, 0]
    for (const lines of several) {
      for (const end of lines.ends) ends[at++] = offset + end
      offset += lines.bytes.length
    }
    const bytes = several.map((lines) => lines.bytes)
    return new Lines(Buffer.concat(bytes, offset), ends)
  }

  without(dropped: ReadonlySet<number>): Lines {
    return dropped.size === 0 ? this : Lines.from([...this].filter((_, line) => !dropped.has(line)))
  }

  get count(): number {
    return this.ends.length
  }

  at(index: number): Buffer {
    return this.bytes.subarray(this.#start(index), this.ends[index])
  }

  between(from: number, to: number): Buffer {
    return this.bytes.subarray(this.#start(from), this.#start(to))
  }

  *[Symbol.iterator](): Generator<Buffer> {
    for (let index = 0; index < this.count; index++) yield this.at(index)
  }

  /** Number of different days (UTC) of the lines. */
  days(): number {
    const days = new Set<number>()
    for (let line = 0; line < this.count; line++) {
      const at = this.bytes.indexOf(syntax.timestamp, this.#start(line)) + syntax.timestamp.length
      const seconds = Number(this.bytes.toString('latin1', at, this.bytes.indexOf(quote, at)))
      days.add(Math.floor(seconds / secondsOfDay))
    }
    return days.size
  }

  get withoutProject(): number {
    let count = 0
    for (const line of this) if (line[syntax.project.length + 1] === quote) count++
    return count
  }

  #start(index: number): number {
    return index === 0 ? 0 : (this.ends[index - 1] as number)
  }
}

/** Below this, a loop is faster than Buffer.copy. */
const fewBytes = 40

/** A buffer that is too small is copied into another. */
const roomFactor = 1.125

export class LineWriter {
  #bytes: Buffer
  #length = 0
  readonly #ends: number[] = []

  /** With room for more than the bytes of the entries: each line has an id and a time. */
  constructor(bytes = 0) {
    // Not from Node's pool, because the buffer may move to another thread.
    this.#bytes = Buffer.allocUnsafeSlow(1024 + Math.ceil(bytes * roomFactor))
  }

  get lineLength(): number {
    return this.#length - (this.#ends.at(-1) ?? 0)
  }

  latin1(text: string): void {
    this.#ensure(text.length)
    this.#length += this.#bytes.write(text, this.#length, 'latin1')
  }

  utf8(text: string): void {
    this.#ensure(text.length * 3)
    this.#length += this.#bytes.write(text, this.#length)
  }

  copy(from: Buffer, start = 0, end = from.length): void {
    this.#ensure(end - start)
    if (end - start > fewBytes) {
      this.#length += from.copy(this.#bytes, this.#length, start, end)
      return
    }
    const bytes = this.#bytes
    let length = this.#length
    for (let at = start; at < end; at++) bytes[length++] = from[at] as number
    this.#length = length
  }

  /** Copies valid JSON without whitespace between tokens. */
  compact(from: Buffer, start: number, end: number): void {
    this.#ensure(end - start)
    let inString = false
    for (let at = start; at < end; at++) {
      const byte = from[at] as number
      if (byte === quote) inString = !inString
      else if (!inString && byte <= 0x20) continue
      this.#bytes[this.#length++] = byte
      if (byte === backslash) this.#bytes[this.#length++] = from[++at] as number
    }
  }

  endLine(): void {
    this.#ensure(1)
    this.#bytes[this.#length++] = 0x0a
    this.#ends.push(this.#length)
  }

  /** A part of the line that is not ended. The next write may overwrite it. */
  part(start: number, end = this.lineLength): Buffer {
    const from = this.#ends.at(-1) ?? 0
    return this.#bytes.subarray(from + start, from + end)
  }

  /** Goes back to a place of the line that is not ended. */
  cut(at = 0): void {
    this.#length = (this.#ends.at(-1) ?? 0) + at
  }

  lines(): Lines {
    return new Lines(this.#bytes.subarray(0, this.#length), Uint32Array.from(this.#ends))
  }

  #ensure(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

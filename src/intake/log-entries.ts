import { isUtf8 } from 'node:buffer'
import { invalidBody, tooLarge } from '../base/errors.ts'
import { EntryReader, type EntryRules } from './entry.ts'
import { closeArray, JsonScanner, openArray, openObject } from './json-scanner.ts'
import { type ReadEntries, SourceReading } from './source-reading.ts'

/** A small body can hold millions of empty entries, each of which costs as much as a real one. */
export const maxEntries = 50_000

const newline = 0x0a
const recordSeparator = 0x1e
const comma = 0x2c
const closeObject = 0x7d

/** Reads one object, an array, {"batch":[…]}, or a line of JSON for each entry. */
export function readLogEntries(
  body: Buffer,
  contentType: string,
  source: string,
  rules: EntryRules,
): ReadEntries {
  if (!isUtf8(body)) throw invalidBody('The body is not valid UTF-8.')
  return new LogEntries(body, source, rules).read(contentType)
}

class LogEntries {
  readonly #body: Buffer
  readonly #start: number
  readonly #source: string
  readonly #rules: EntryRules
  #scanner: JsonScanner
  #reader: EntryReader
  #reading: SourceReading

  constructor(body: Buffer, source: string, rules: EntryRules) {
    this.#body = body
    const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
    this.#start = hasMark ? 3 : 0
    this.#source = source
    this.#rules = rules
    this.#scanner = new JsonScanner(body, this.#start)
    this.#reader = new EntryReader(this.#scanner)
    this.#reading = new SourceReading(source, rules)
  }

  read(contentType: string): ReadEntries {
    const scanner = this.#scanner
    scanner.space()
    const first = scanner.at
    if (first === scanner.end) throw invalidBody('The body is empty.')
    if (/ndjson|jsonl|json-seq/i.test(contentType)) return this.#lines()
    const isArray = scanner.peek() === openArray
    const whole = isArray ? this.#array() : this.#atBatch() ? this.#array() && this.#closed() : this.#entry()
    scanner.space()
    if (whole && scanner.at === scanner.end) return this.#reading.done()
    // A broken array is no list of lines, and what says that it is one JSON is held to it.
    const oneDocument = isArray || /\bjson\b/i.test(contentType)
    if (oneDocument || !this.#hasLines(first)) throw notJson()
    return this.#lines()
  }

  /** Moves to the array of a document that is nothing but {"batch":[…]}. */
  #atBatch(): boolean {
    const scanner = this.#scanner
    const start = scanner.at
    let array = -1
    const found =
      scanner.peek() === openObject &&
      scanner.object(() => {
        const isFirst = array < 0 && scanner.text(scanner.keyStart, scanner.keyEnd) === '"batch"'
        if (!isFirst || scanner.peek() !== openArray) return false
        array = scanner.at
        return scanner.value()
      })
    const isBatch = found && array >= 0
    scanner.at = isBatch ? array : start
    return isBatch
  }

  #closed(): boolean {
    const scanner = this.#scanner
    scanner.space()
    return scanner.peek() === closeObject && scanner.at++ < scanner.end
  }

  #array(): boolean {
    const scanner = this.#scanner
    scanner.at++
    scanner.space()
    if (scanner.peek() === closeArray) return scanner.at++ < scanner.end
    for (;;) {
      if (!this.#entry()) return false
      scanner.space()
      const next = scanner.peek()
      scanner.at++
      if (next === closeArray) return true
      if (next !== comma) return false
      scanner.space()
    }
  }

  #entry(): boolean {
    this.#count()
    const start = this.#scanner.at
    if (!this.#reader.scan()) return false
    this.#reading.add(this.#reader, this.#body, start, this.#scanner.at)
    return true
  }

  /** Before the entry costs anything. */
  #count(): void {
    if (this.#reading.count >= maxEntries)
      throw tooLarge(`A request may have at most ${maxEntries} entries: send smaller batches.`)
  }

  #hasLines(first: number): boolean {
    const at = this.#body.indexOf(newline, first)
    if (at < 0) return false
    const rest = new JsonScanner(this.#body, at)
    rest.space()
    return rest.at < rest.end
  }

  #lines(): ReadEntries {
    const body = this.#body
    const scanner = this.#scanner
    this.#reading = new SourceReading(this.#source, this.#rules)
    let readable = false
    scanner.at = this.#start
    scanner.end = body.length
    for (;;) {
      // Also over empty lines, of which there may be millions.
      while (scanner.at < body.length && isBetween(body[scanner.at] as number)) scanner.at++
      if (scanner.at >= body.length) break
      const start = scanner.at
      const next = body.indexOf(newline, start)
      const end = next < 0 ? body.length : next
      readable = this.#line(start, end) || readable
      scanner.at = end
    }
    if (!readable) throw notJson()
    return this.#reading.done()
  }

  #line(start: number, end: number): boolean {
    this.#count()
    const scanner = this.#scanner
    scanner.end = end
    const isValue = this.#reader.scan()
    const valueEnd = scanner.at
    scanner.space()
    const readable = isValue && scanner.at === end
    scanner.end = this.#body.length
    if (readable) this.#reading.add(this.#reader, this.#body, start, valueEnd)
    else this.#reading.reject('the line is not valid JSON', this.#body, start, lastOf(this.#body, start, end))
    return readable
  }
}

function isBetween(byte: number): boolean {
  return byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09 || byte === recordSeparator
}

function lastOf(body: Buffer, start: number, end: number): number {
  let at = end
  while (at > start && isBetween(body[at - 1] as number)) at--
  return at
}

function notJson(): Error {
  return invalidBody('The body is not valid JSON.')
}

import { isUtf8 } from 'node:buffer'
import { invalidBody } from '../base/errors.ts'
import { JsonScanner, openArray, openObject } from '../base/json/json-scanner.ts'
import { EntryReader } from './entry.ts'
import type { EntrySink } from './entry-batch.ts'

/** Fields that name a source, in a body and in the address: the first that does counts. */
export const sourceFields = ['source', 'source_name', 'collection', 'collection_name'] as const

const newline = 0x0a
const recordSeparator = 0x1e
const besideBatch = new Map(sourceFields.map((name) => [JSON.stringify(name), name]))

const notJson =
  'The body is not valid JSON. For one entry per line, send Content-Type: application/x-ndjson; curl needs --data-binary.'

/** Makes the sink of a body, whose source may be named beside `batch`. */
type NewSink<T> = (namedSource?: string) => EntrySink<T>

/** Reads one object, an array, {"batch":[…]}, or one JSON value per line. */
export function readLogEntries<T>(body: Buffer, contentType: string, newSink: NewSink<T>): T {
  if (!isUtf8(body)) throw invalidBody('The body is not valid UTF-8.')
  return new LogEntries(body, newSink).read(contentType)
}

class LogEntries<T> {
  readonly #body: Buffer
  readonly #start: number
  readonly #newSink: NewSink<T>
  readonly #scanner: JsonScanner
  readonly #reader: EntryReader
  #sink: EntrySink<T>

  constructor(body: Buffer, newSink: NewSink<T>) {
    this.#body = body
    const hasByteOrderMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
    this.#start = hasByteOrderMark ? 3 : 0
    this.#newSink = newSink
    this.#scanner = new JsonScanner(body, this.#start)
    this.#reader = new EntryReader(this.#scanner)
    this.#sink = newSink()
  }

  read(contentType: string): T {
    const scanner = this.#scanner
    scanner.space()
    const first = scanner.at
    if (first === scanner.end) throw invalidBody('The body is empty.')
    if (/ndjson|jsonl|json-seq/i.test(contentType)) return this.#lines()
    const isArray = scanner.peek() === openArray
    const batchEnd = isArray ? undefined : this.#atBatch()
    const isList = isArray || batchEnd !== undefined
    const whole = isList ? scanner.array(() => this.#entry()) : this.#entry()
    if (whole && batchEnd !== undefined) scanner.at = batchEnd
    scanner.space()
    if (whole && scanner.at === scanner.end) return this.#sink.finish()
    // A broken array is not NDJSON, and a body with the type application/json has to be one document.
    const oneDocument = isArray || /\bjson\b/i.test(contentType)
    if (oneDocument || !this.#hasLines(first)) throw invalidBody(notJson)
    return this.#lines()
  }

  /** Moves to the array of a document that is nothing but {"batch":[…]}, perhaps with a source, and returns where it ends. */
  #atBatch(): number | undefined {
    const scanner = this.#scanner
    const start = scanner.at
    let array = -1
    const named = new Map<string, string>()
    const found =
      scanner.peek() === openObject &&
      scanner.object(() => {
        const key = scanner.text(scanner.keyStart, scanner.keyEnd)
        const field = besideBatch.get(key)
        if (field !== undefined) {
          const at = scanner.at
          if (!scanner.value()) return false
          const value: unknown = JSON.parse(scanner.text(at, scanner.at))
          if (typeof value === 'string' && value !== '' && !named.has(field)) named.set(field, value)
          return true
        }
        const isFirst = array < 0 && key === '"batch"'
        if (!isFirst || scanner.peek() !== openArray) return false
        array = scanner.at
        return scanner.value()
      })
    const end = found && array >= 0 ? scanner.at : undefined
    const name = sourceFields.flatMap((field) => named.get(field) ?? [])[0]
    if (end !== undefined && name !== undefined) this.#sink = this.#newSink(name)
    scanner.at = end === undefined ? start : array
    return end
  }

  #entry(): boolean {
    const start = this.#scanner.at
    if (!this.#reader.scan()) return false
    this.#sink.add(this.#reader, this.#body.subarray(start, this.#scanner.at))
    return true
  }

  #hasLines(first: number): boolean {
    const at = this.#body.indexOf(newline, first)
    if (at < 0) return false
    const rest = new JsonScanner(this.#body, at)
    rest.space()
    return rest.at < rest.end
  }

  #lines(): T {
    const body = this.#body
    const scanner = this.#scanner
    this.#sink = this.#newSink()
    let readable = false
    scanner.at = this.#start
    scanner.end = body.length
    for (;;) {
      // Also skips empty lines, of which there may be millions.
      while (scanner.at < body.length && isSeparator(body[scanner.at] as number)) scanner.at++
      if (scanner.at >= body.length) break
      const start = scanner.at
      const next = body.indexOf(newline, start)
      const end = next < 0 ? body.length : next
      readable = this.#line(start, end) || readable
      scanner.at = end
    }
    if (!readable) throw invalidBody(notJson)
    return this.#sink.finish()
  }

  #line(start: number, end: number): boolean {
    const scanner = this.#scanner
    scanner.end = end
    const isValue = this.#reader.scan()
    const valueEnd = scanner.at
    scanner.space()
    const readable = isValue && scanner.at === end
    scanner.end = this.#body.length
    if (readable) this.#sink.add(this.#reader, this.#body.subarray(start, valueEnd))
    else this.#sink.reject('the line is not valid JSON', trimmed(this.#body.subarray(start, end)))
    return readable
  }
}

function isSeparator(byte: number): boolean {
  return byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09 || byte === recordSeparator
}

function trimmed(line: Buffer): Buffer {
  let end = line.length
  while (end > 0 && isSeparator(line[end - 1] as number)) end--
  return line.subarray(0, end)
}

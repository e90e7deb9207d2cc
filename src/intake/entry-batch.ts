import { v7 as uuidv7 } from 'uuid'
import { tooLarge } from '../base/errors.ts'
import { JsonScanner } from '../base/json/json-scanner.ts'
import { formatMicros } from '../base/text/timestamps.ts'
import { EntryReader, type EntryRules, entryLimits } from './entry.ts'
import { type Lines, LineWriter } from './lines.ts'

/** The entries of one request for one source: a few large buffers, which a worker thread can hand over. */
export interface EntryBatch {
  source: string
  /** The sources that OpenTelemetry records name; for the quarantine source, those that do not exist. */
  names: string[]
  count: number
  lines: Lines
  /** For each line, the index of its entry in the request. */
  indices: Uint32Array
  earliestMicros: bigint
  /** The first rejected entries. */
  errors: EntryError[]
  /** A line for each rejected entry, for the quarantine source. */
  quarantine: Lines
}

interface EntryError {
  index: number
  reason: string
}

/** A small body can hold millions of empty entries, each of which costs as much as a real one. */
export const maxEntries = 50_000

/** Number of rejected entries that a response lists. */
export const maxErrors = 100

const maxReasonLength = 300

export class EntryBatchWriter {
  readonly #source: string
  readonly #rules: EntryRules
  readonly #lines = new LineWriter()
  readonly #quarantine = new LineWriter()
  readonly #names = new Set<string>()
  readonly #indices: number[] = []
  readonly #errors: EntryError[] = []
  #count = 0
  #earliestMicros: number | bigint

  constructor(source: string, rules: EntryRules) {
    this.#source = source
    this.#rules = rules
    this.#earliestMicros = rules.nowMs * 1000
  }

  addName(name: string): void {
    this.#names.add(name)
  }

  /** Adds the scanned entry. */
  add(reader: EntryReader, text: Buffer): void {
    const reason = reader.store(this.#rules, this.#lines)
    if (reason !== undefined) this.reject(reason, text)
    else {
      this.#indices.push(this.#nextIndex())
      if (reader.micros < this.#earliestMicros) this.#earliestMicros = reader.micros
    }
  }

  reject(fullReason: string, text: Buffer, source = this.#source): void {
    const index = this.#nextIndex()
    // A reason may name a source, which can be any text.
    const reason = fullReason.slice(0, maxReasonLength)
    if (this.#errors.length < maxErrors) this.#errors.push({ index, reason })
    const { nowMs, owner } = this.#rules
    writeQuarantineLine(this.#quarantine, text, { source, index, reason, owner, nowMs })
  }

  #nextIndex(): number {
    if (this.#count < maxEntries) return this.#count++
    throw tooLarge(`A request may have at most ${maxEntries} entries. Send smaller batches.`)
  }

  finish(): EntryBatch {
    return {
      source: this.#source,
      names: [...this.#names],
      count: this.#count,
      lines: this.#lines.lines(),
      indices: Uint32Array.from(this.#indices),
      earliestMicros: BigInt(this.#earliestMicros),
      errors: this.#errors,
      quarantine: this.#quarantine.lines(),
    }
  }
}

interface RejectedEntry extends EntryError {
  source: string
  /** The caller's project, whatever the entry says: no other tenant may see the entry. */
  owner: string | undefined
  nowMs: number
}

const maxTextBytes = entryLimits.maxBytes / 4

export function writeQuarantineLine(
  lines: LineWriter,
  bytes: Buffer,
  { source, index, reason, owner = '', nowMs }: RejectedEntry,
): void {
  const cut = bytes.length > maxTextBytes
  const text = bytes.toString('utf8', 0, maxTextBytes)
  const row = {
    project: owner,
    id: uuidv7({ msecs: nowMs }),
    timestamp: formatMicros(BigInt(nowMs) * 1000n),
    // The cut may split the last character.
    event_message: cut ? text.replace(/\ufffd$/, '') : text,
    metadata: { source: source.toWellFormed(), index, reason: reason.toWellFormed(), ...(cut && { cut }) },
  }
  lines.utf8(JSON.stringify(row))
  lines.endLine()
}

type EntryResult = { line: Buffer; micros: number | bigint } | { reason: string }

export function readEntry(text: string, rules: EntryRules): EntryResult {
  const scanner = new JsonScanner(Buffer.from(text))
  const reader = new EntryReader(scanner)
  const lines = new LineWriter()
  scanner.space()
  const valid = reader.scan()
  scanner.space()
  if (!valid || scanner.at < scanner.end) return { reason: 'the line is not valid JSON' }
  const reason = reader.store(rules, lines)
  return reason === undefined ? { line: lines.lines().at(0), micros: reader.micros } : { reason }
}

import { v7 as uuidv7 } from 'uuid'
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
  /** Pairs: the index of a rejected entry, and the position of its reason in `reasons`. */
  rejected: Uint32Array
  reasons: string[]
  /** A line for each rejected entry, for the quarantine source. */
  quarantine: Lines
}

const maxReasonLength = 300

export class EntryBatchWriter {
  readonly #source: string
  readonly #rules: EntryRules
  readonly #lines = new LineWriter()
  readonly #quarantine = new LineWriter()
  readonly #names = new Set<string>()
  readonly #indices: number[] = []
  readonly #rejected: number[] = []
  readonly #reasons = new Map<string, number>()
  #count = 0
  #earliestMicros: number | bigint

  constructor(source: string, rules: EntryRules) {
    this.#source = source
    this.#rules = rules
    this.#earliestMicros = rules.nowMs * 1000
  }

  get count(): number {
    return this.#count
  }

  addName(name: string): void {
    this.#names.add(name)
  }

  /** Adds the scanned entry, whose text is between `start` and `end`. */
  add(reader: EntryReader, bytes: Buffer, start: number, end: number): void {
    const reason = reader.store(this.#rules, this.#lines)
    if (reason !== undefined) this.reject(reason, bytes, start, end)
    else {
      this.#indices.push(this.#count++)
      if (reader.micros < this.#earliestMicros) this.#earliestMicros = reader.micros
    }
  }

  reject(fullReason: string, bytes: Buffer, start: number, end: number, source = this.#source): void {
    const index = this.#count++
    // A reason may name a source, which can be any text.
    const reason = fullReason.slice(0, maxReasonLength)
    const position = this.#reasons.get(reason) ?? this.#reasons.size
    this.#reasons.set(reason, position)
    this.#rejected.push(index, position)
    const { nowMs, owner } = this.#rules
    writeQuarantineLine(this.#quarantine, { source, index, reason, owner, nowMs }, bytes, start, end)
  }

  finish(): EntryBatch {
    return {
      source: this.#source,
      names: [...this.#names],
      count: this.#count,
      lines: this.#lines.lines(),
      indices: Uint32Array.from(this.#indices),
      earliestMicros: BigInt(this.#earliestMicros),
      rejected: Uint32Array.from(this.#rejected),
      reasons: [...this.#reasons.keys()],
      quarantine: this.#quarantine.lines(),
    }
  }
}

interface RejectedEntry {
  source: string
  index: number
  reason: string
  /** The caller's project, whatever the entry says: no other tenant may see the entry. */
  owner: string | undefined
  nowMs: number
}

const maxTextBytes = entryLimits.maxBytes / 4

export function writeQuarantineLine(
  lines: LineWriter,
  { source, index, reason, owner = '', nowMs }: RejectedEntry,
  bytes: Buffer,
  start: number,
  end: number,
): void {
  const cut = end - start > maxTextBytes
  const text = bytes.toString('utf8', start, cut ? start + maxTextBytes : end)
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

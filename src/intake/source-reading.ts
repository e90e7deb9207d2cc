import { v7 as uuidv7 } from 'uuid'
import { formatMicros } from '../base/timestamps.ts'
import { type EntryReader, type EntryRules, entryLimits } from './entry.ts'
import { type Lines, LineWriter } from './lines.ts'

/** What was read for one source: few large pieces, which another thread can hand over as they are. */
export interface ReadEntries {
  source: string
  /** The names that the entries gave it themselves. */
  names: string[]
  count: number
  lines: Lines
  /** The index that the entry of each line was sent with. */
  indices: Uint32Array
  /** The oldest of the times of the lines. */
  earliestMicros: bigint
  /** Indices of rejected entries, each followed by the place of its reason in `reasons`. */
  rejected: Uint32Array
  reasons: string[]
  /** A line for each rejected entry, for the source that keeps them. */
  quarantine: Lines
}

/** Reads the entries that are meant for one source. */
export class SourceReading {
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

  named(name: string): void {
    this.#names.add(name)
  }

  /** Stores the entry that was scanned, which has these bytes. */
  add(reader: EntryReader, bytes: Buffer, start: number, end: number): void {
    const reason = reader.store(this.#rules, this.#lines)
    if (reason !== undefined) this.reject(reason, bytes, start, end)
    else {
      this.#indices.push(this.#count++)
      if (reader.micros < this.#earliestMicros) this.#earliestMicros = reader.micros
    }
  }

  /** Keeps the text of an entry, as far as it fits. */
  reject(reason: string, bytes: Buffer, start: number, end: number, source = this.#source): void {
    const index = this.#count++
    const number = this.#reasons.get(reason) ?? this.#reasons.size
    this.#reasons.set(reason, number)
    this.#rejected.push(index, number)
    const { nowMs, owner } = this.#rules
    writeQuarantined(this.#quarantine, { source, index, reason, project: owner, nowMs }, bytes, start, end)
  }

  done(): ReadEntries {
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

export interface Rejected {
  source: string
  index: number
  reason: string
  /** Of the caller, whatever the entry says: another tenant must not see what this one sent. */
  project: string | undefined
  nowMs: number
}

const maxTextBytes = entryLimits.maxBytes / 4

export function writeQuarantined(
  lines: LineWriter,
  { source, index, reason, project = '', nowMs }: Rejected,
  bytes: Buffer,
  start: number,
  end: number,
): void {
  const cut = end - start > maxTextBytes
  const text = bytes.toString('utf8', start, cut ? start + maxTextBytes : end)
  const row = {
    project,
    id: uuidv7({ msecs: nowMs }),
    timestamp: formatMicros(BigInt(nowMs) * 1000n),
    // The last character may be cut in two.
    event_message: cut ? text.replace(/\ufffd$/, '') : text,
    metadata: { source: source.toWellFormed(), index, reason: reason.toWellFormed(), ...(cut && { cut }) },
  }
  lines.utf8(JSON.stringify(row))
  lines.endLine()
}

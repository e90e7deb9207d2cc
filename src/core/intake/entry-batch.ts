import { tooLarge } from '../base/errors.ts'
import { JsonScanner } from '../base/json/json-scanner.ts'
import { serviceLine } from '../base/service-line.ts'
import { uuidsAt } from '../base/text/uuid.ts'
import { EntryReader } from './entry.ts'
import { type EntryNature, type EntryTerms, entryLimits, type NotStored } from './entry-terms.ts'
import { type Lines, LineWriter } from './lines.ts'
import { withheld } from './ruled-line.ts'
import type { Rules } from './rules/rules.ts'
import { rulesOf } from './rules/source-rules.ts'

/** What receives the scanned entries of a request. */
export interface EntrySink<T> {
  add(reader: EntryReader, text: Buffer): void
  reject(reason: string, text: Buffer): void
  finish(): T
}

/** The entries of one request for one source: a few large buffers, which a worker thread can hand over. */
export interface EntryBatch {
  source: string
  /** The sources that OpenTelemetry records name; for the quarantine source, those that do not exist. */
  names: string[]
  count: number
  lines: Lines
  /** For each line, the index of its entry in the request. */
  indices: Uint32Array
  /** The first rejected entries. */
  errors: EntryError[]
  rejected: number
  /** Entries that rules of the source dropped. */
  dropped: number
  /** The rules of the source as text, and how many entries each of them dropped or changed. */
  rules: string | undefined
  hits: number[]
  /** Lines for the quarantine source: the first rejected entries, and how many others there are. */
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

/** Number of rejected entries of a request that are kept. */
export const maxQuarantined = 1_000

const maxReasonLength = 300

/** A plain value: the rules are text. */
export type BatchTerms = Omit<EntryTerms, 'rules'> & { rules?: string | undefined }

interface Place extends EntryNature {
  /** Of the entry in the request. */
  index?: number
  /** As the sender named it. */
  source?: string
}

export class EntryBatchWriter implements EntrySink<EntryBatch> {
  readonly #source: string
  readonly #terms: EntryTerms
  readonly #rules: Rules | undefined
  readonly #rulesText: string | undefined
  readonly #lines: LineWriter
  readonly #quarantine = new LineWriter()
  readonly #names = new Set<string>()
  readonly #indices: number[] = []
  readonly #errors: EntryError[] = []
  #count = 0
  #rejected = 0
  #dropped = 0
  readonly #hits: number[] = []
  /** Where the rejected entries begin that are not kept. */
  #leftOutFrom: RejectedEntry | undefined

  /** The bytes are about those of the lines. */
  constructor(source: string, { rules, ...terms }: BatchTerms, bytes?: number) {
    this.#source = source
    this.#rulesText = rules
    this.#rules = rules === undefined ? undefined : rulesOf(rules)
    this.#terms = { newId: uuidsAt(terms.nowMs), ...terms, rules: this.#rules }
    this.#lines = new LineWriter(bytes)
  }

  addName(name: string): void {
    this.#names.add(name)
  }

  /** Adds the scanned entry. */
  add(reader: EntryReader, text: Buffer, { index = this.#count, ...place }: Place = {}): void {
    const result = reader.store(this.#terms, this.#lines, { ...place, hits: this.#hits })
    if (result === undefined) this.#indices.push(this.#counted(index))
    else if (!result.dropped) {
      const own = result.kept ?? reader.withoutIdleProject(text, this.#terms, place)
      this.#reject(result.reason, own, { ...place, index })
    } else {
      this.#counted(index)
      this.#dropped++
    }
  }

  /** Rejects what is no JSON. */
  reject(reason: string, text: Buffer, place: Place = {}): void {
    this.#reject(reason, this.#rules?.hides ? withheld : text, place)
  }

  #reject(
    fullReason: string,
    text: Buffer | string,
    { source = this.#source, index: place = this.#count }: Place,
  ): void {
    const index = this.#counted(place)
    // A reason may name a source, which can be any text.
    const reason = fullReason.slice(0, maxReasonLength)
    if (this.#errors.length < maxErrors) this.#errors.push({ index, reason })
    const { nowMs, owner } = this.#terms
    const entry = { source, index, reason, owner, nowMs }
    if (this.#rejected++ < maxQuarantined) writeQuarantineLine(this.#quarantine, Buffer.from(text), entry)
    else this.#leftOutFrom ??= entry
  }

  #counted(index: number): number {
    if (index < maxEntries) {
      this.#count++
      return index
    }
    throw tooLarge(`A request may have at most ${maxEntries} entries. Send smaller batches.`)
  }

  finish(): EntryBatch {
    const leftOut = this.#rejected - maxQuarantined
    if (this.#leftOutFrom) {
      const text = `The first ${maxQuarantined} rejected entries of this request are kept, ${leftOut} others are not.`
      writeQuarantineLine(this.#quarantine, Buffer.from(text), { ...this.#leftOutFrom, left_out: leftOut })
    }
    return {
      source: this.#source,
      names: [...this.#names],
      count: this.#count,
      lines: this.#lines.lines(),
      indices: Uint32Array.from(this.#indices),
      errors: this.#errors,
      rejected: this.#rejected,
      dropped: this.#dropped,
      rules: this.#rulesText,
      hits: this.#hits,
      quarantine: this.#quarantine.lines(),
    }
  }
}

/** Rejects some lines, which the quarantine does not keep. */
export function withoutLines(batch: EntryBatch, rejected: ReadonlySet<number>, reason: string): EntryBatch {
  const indices = [...rejected].map((line) => batch.indices[line] as number)
  const errors = [...batch.errors, ...indices.slice(0, maxErrors).map((index) => ({ index, reason }))]
  errors.sort((one, other) => one.index - other.index).splice(maxErrors)
  return {
    ...batch,
    lines: batch.lines.without(rejected),
    indices: batch.indices.filter((_, line) => !rejected.has(line)),
    errors,
    rejected: batch.rejected + rejected.size,
  }
}

interface RejectedEntry extends EntryError {
  source: string
  /** The caller's project, whatever the entry says: no other tenant may see the entry. */
  owner: string | undefined
  nowMs: number
  left_out?: number
}

const maxTextBytes = entryLimits.maxBytes / 4

export function writeQuarantineLine(
  lines: LineWriter,
  bytes: Buffer,
  { source, index, reason, owner = '', nowMs, ...rest }: RejectedEntry,
): void {
  const cut = bytes.length > maxTextBytes
  const text = bytes.toString('utf8', 0, maxTextBytes)
  // The cut may split the last character.
  const message = cut ? text.replace(/\ufffd$/, '') : text
  const about = { source: source.toWellFormed(), index, reason: reason.toWellFormed() }
  const metadata = { ...about, ...rest, ...(cut && { cut }) }
  lines.utf8(
    serviceLine({ project: owner, id: uuidsAt(nowMs)(), atMs: nowMs, message, metadata }).slice(0, -1),
  )
  lines.endLine()
}

type EntryResult = { line: Buffer; micros: number | bigint } | Pick<NotStored, 'reason' | 'dropped'>

export function readEntry(text: string, terms: EntryTerms): EntryResult {
  const scanner = new JsonScanner(Buffer.from(text))
  const reader = new EntryReader(scanner)
  const lines = new LineWriter()
  scanner.space()
  const valid = reader.scan()
  scanner.space()
  if (!valid || scanner.at < scanner.end) return { reason: 'the line is not valid JSON' }
  return reader.store(terms, lines) ?? { line: lines.lines().at(0), micros: reader.micros }
}

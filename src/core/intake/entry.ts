import { isIsoShaped } from '../../shared/timestamps.ts'
import { type JsonScanner, openArray, openObject, quote } from '../base/json/json-scanner.ts'
import { uuidsAt } from '../base/text/uuid.ts'
import { canonical, entryKeys, keysOf, type Member, memberOf, type Span } from './entry-members.ts'
import { type EntryNature, type EntryTerms, entryLimits, type NotStored, problems } from './entry-terms.ts'
import { readTimestamp, readUsualTimestamp, timeText } from './entry-timestamp.ts'
import { maxProjectLength } from './line-projects.ts'
import { LineWriter, syntax } from './lines.ts'
import { applyToLine, type LineParts, withheld } from './ruled-line.ts'
import type { Rules } from './rules/rules.ts'

const dayMs = 86_400_000
/** A smaller `time` is a duration. */
const earliestTimeMs = Date.UTC(2000, 0, 1)
/** Larger numbers are durations in smaller units. */
const maxTimeAheadMs = 366 * dayMs
const hyphen = 0x2d
const letterN = 0x6e

/** Turns entries into lines for the engine. Values that are stored as sent are located and copied, never parsed. */
export class EntryReader {
  readonly #scanner: JsonScanner
  readonly #bytes: Buffer
  /** Where parts of the line begin that rules read. */
  readonly #at: LineParts = { id: 0, timestamp: 0, message: 0, metadata: 0 }
  #isObject = false
  /** The first reason to reject the entry. */
  #reason: string | undefined
  #eventMessage: Span | undefined
  #message: Member | undefined
  #msg: Member | undefined
  #timestamp: Span | undefined
  #time: Member | undefined
  #id: Span | undefined
  #project: Member | undefined
  #metadata: Span | undefined
  #innerRef: Span | undefined
  #innerProject: Span | undefined
  #others: Member[] = []
  /** The timestamp of the last stored entry. */
  micros: number | bigint = 0

  constructor(scanner: JsonScanner) {
    this.#scanner = scanner
    this.#bytes = scanner.bytes
    // The entry itself is not counted.
    scanner.maxDepth = entryLimits.maxDepth + 1
  }

  /** Scans the next value; false if it is not valid JSON. */
  scan(): boolean {
    const scanner = this.#scanner
    scanner.values = 0
    scanner.problem = undefined
    this.#eventMessage = this.#message = this.#msg = this.#timestamp = this.#time = undefined
    this.#id = this.#project = this.#metadata = this.#innerRef = this.#innerProject = undefined
    if (this.#others.length > 0) this.#others = []
    this.#isObject = scanner.peek() === openObject
    return this.#isObject ? scanner.object(this.#readMember) : scanner.value()
  }

  /** The text of a key that is unknown here; undefined if it is absent, empty or no text. */
  textOf(name: string): string | undefined {
    const span = this.#otherValue(Buffer.from(JSON.stringify(name)))
    const isText = span !== undefined && this.#bytes[span.start] === quote
    return isText ? (this.#scalar(span) as string) || undefined : undefined
  }

  /** Writes the line of the scanned entry, unless it is not stored. */
  store(
    terms: EntryTerms,
    lines: LineWriter,
    { hits = [], ...nature }: EntryNature & { hits?: number[] } = {},
  ): NotStored | undefined {
    const { rules } = terms
    const isDeep = this.#scanner.problem === 'depth'
    this.#reason = this.#problemOf() ?? nature.problem
    if (!this.#isObject || isDeep || (this.#reason && !rules)) return this.#rejected(rules)
    this.#writeLine(terms, lines, nature)
    const { maxBytes } = entryLimits
    const isTooLarge = lines.lineLength >= maxBytes
    if (rules && !isTooLarge && !applyToLine(rules, lines, this.#at, hits)) {
      lines.cut()
      return { reason: 'a rule drops it', dropped: true }
    }
    if (lines.lineLength >= maxBytes) this.#reason ??= 'the entry is larger than 1 MiB'
    if (this.#reason === undefined) {
      lines.endLine()
      return undefined
    }
    const kept = rules && !isTooLarge ? this.#keptText(rules, lines) : undefined
    lines.cut()
    return kept === undefined ? this.#rejected(rules) : { reason: this.#reason, kept }
  }

  #problemOf(): string | undefined {
    const { problem, values } = this.#scanner
    if (!this.#isObject) return 'an entry must be a JSON object'
    if (problem) return problems[problem]
    if (values > entryLimits.maxValues) return `the entry has more than ${entryLimits.maxValues} values`
    return undefined
  }

  #rejected(rules: Rules | undefined): NotStored {
    return { reason: this.#reason as string, ...(rules?.hides && { kept: withheld }) }
  }

  /** The entry as it was sent, with the message and the metadata that rules left in the line. */
  #keptText(rules: Rules, lines: LineWriter): string {
    const sent = { timestamp: this.#timestamp, id: this.#id, project: this.#project?.value }
    const members = Object.entries(sent).flatMap(([name, span]) => {
      const isScalar = span && ![openObject, openArray].includes(this.#bytes[span.start] as number)
      return isScalar ? [`"${name}":${rules.masked(this.#bytes.toString('utf8', span.start, span.end))}`] : []
    })
    return `{${members.map((member) => `${member},`).join('')}"event_message":${lines.part(this.#at.message)}`
  }

  /** The second of two equal known keys is kept like an unknown key. */
  readonly #readMember = (): boolean => {
    const scanner = this.#scanner
    const { keyStart, keyEnd, hasEscape } = scanner
    const isMetadata = this.#metadata === undefined && this.#isKey(entryKeys.metadata)
    const name = isMetadata ? undefined : this.#nameOfKey()
    const start = scanner.at
    scanner.hasSpace = false
    const isWalked = isMetadata && scanner.peek() === openObject
    if (!(isWalked ? scanner.object(this.#readInnerMember) : scanner.value(1))) return false
    const value = { start, end: scanner.at, spaced: scanner.hasSpace, escaped: scanner.hasEscape }
    if (isMetadata) this.#metadata = value
    else if (name === 'timestamp') this.#timestamp = value
    else if (name === 'eventMessage') this.#eventMessage = value
    else if (name === 'id') this.#id = value
    else {
      const member = { key: { start: keyStart, end: keyEnd, spaced: false, escaped: hasEscape }, value }
      if (name === 'project') this.#project = member
      else if (name === 'message') this.#message = member
      else if (name === 'msg') this.#msg = member
      else if (name === 'time') this.#time = member
      else this.#others.push(member)
    }
    return true
  }

  #nameOfKey() {
    if (!this.#timestamp && this.#isKey(entryKeys.timestamp)) return 'timestamp'
    if (!this.#eventMessage && this.#isKey(entryKeys.eventMessage)) return 'eventMessage'
    if (!this.#id && this.#isKey(entryKeys.id)) return 'id'
    if (!this.#project && this.#isKey(entryKeys.project)) return 'project'
    if (!this.#message && this.#isKey(entryKeys.message)) return 'message'
    if (!this.#msg && this.#isKey(entryKeys.msg)) return 'msg'
    if (!this.#time && this.#isKey(entryKeys.time)) return 'time'
    return undefined
  }

  /** The engine reads the first of two members with the same key. */
  readonly #readInnerMember = (): boolean => {
    const scanner = this.#scanner
    const isRef = this.#innerRef === undefined && this.#isKey(entryKeys.projectRef)
    const isProject = this.#innerProject === undefined && this.#isKey(entryKeys.project)
    const start = scanner.at
    if (!scanner.value(2)) return false
    if (!isRef && !isProject) return true
    const value = { start, end: scanner.at, spaced: false, escaped: scanner.hasEscape }
    if (isRef) this.#innerRef = value
    else this.#innerProject = value
    return true
  }

  #isKey(expected: Buffer): boolean {
    const { keyStart, keyEnd, hasEscape } = this.#scanner
    if (hasEscape) return canonical(this.#bytes, keyStart, keyEnd).equals(expected)
    if (keyEnd - keyStart !== expected.length) return false
    for (let at = 1; at < expected.length; at++) {
      if (this.#bytes[keyStart + at] !== expected[at]) return false
    }
    return true
  }

  #writeLine(terms: EntryTerms, lines: LineWriter, nature: EntryNature): void {
    const message = this.#present(this.#alias(this.#alias(this.#eventMessage, this.#message), this.#msg))
    const time = this.#time
    const isTime =
      time !== undefined && !this.#present(this.#timestamp) && this.#isTimestamp(time.value, terms)
    if (time && !isTime) this.#others.push(time)
    this.micros = this.#microsOf(isTime ? time.value : this.#timestamp, terms)
    lines.copy(syntax.project)
    this.#writeProject(terms, lines, nature)
    lines.copy(syntax.id)
    this.#at.id = lines.lineLength
    this.#writeId(terms, lines)
    this.#at.timestamp = lines.lineLength
    lines.copy(syntax.timestamp)
    lines.latin1(timeText(this.micros))
    lines.copy(syntax.message)
    this.#at.message = lines.lineLength
    if (!message) lines.copy(syntax.emptyText)
    else if (this.#bytes[message.start] === quote) lines.copy(this.#bytes, message.start, message.end)
    else lines.utf8(JSON.stringify(this.#compactText(message)))
    lines.copy(syntax.metadata)
    this.#at.metadata = lines.lineLength
    this.#writeMetadata(lines)
    lines.copy(syntax.close)
  }

  /** The value of an alias, unless the usual name has one: then the alias is a key like any other. */
  #alias(usual: Span | undefined, alias: Member | undefined): Span | undefined {
    if (!this.#present(usual)) return alias?.value
    if (alias) this.#others.push(alias)
    return usual
  }

  /** The metadata as sent, then the entry's other keys; keys that the metadata has too go below `_other`. */
  #writeMetadata(lines: LineWriter): void {
    const metadata = this.#metadata
    const isObject = metadata !== undefined && this.#bytes[metadata.start] === openObject
    if (isObject && this.#others.length === 0) {
      this.#writeValue(lines, metadata)
      return
    }
    lines.copy(syntax.open)
    const before = lines.lineLength
    const keys = isObject ? keysOf(this.#bytes, metadata) : new Set<string>()
    // Without its braces.
    if (isObject) this.#writeValue(lines, { ...metadata, start: metadata.start + 1, end: metadata.end - 1 })
    else if (metadata && this.#present(metadata)) {
      this.#writeMember(lines, entryKeys.metadata, metadata, before)
      keys.add('metadata')
    }
    const duplicates: [Buffer, Span][] = []
    for (const { key, value } of this.#others) {
      const bytes = this.#bytes.subarray(key.start, key.end)
      const name = JSON.parse(bytes.toString()) as string
      if (keys.has(name)) duplicates.push([bytes, value])
      else this.#writeMember(lines, bytes, value, before)
      keys.add(name)
    }
    if (duplicates.length > 0) {
      let other = '_other'
      while (keys.has(other)) other = `_${other}`
      this.#writeKey(lines, Buffer.from(JSON.stringify(other)), before)
      lines.copy(syntax.open)
      const inside = lines.lineLength
      for (const [key, value] of duplicates) this.#writeMember(lines, key, value, inside)
      lines.copy(syntax.close)
    }
    lines.copy(syntax.close)
  }

  #writeMember(lines: LineWriter, key: Buffer, value: Span, first: number): void {
    this.#writeKey(lines, key, first)
    this.#writeValue(lines, value)
  }

  /** Writes a comma first, unless the line is as long as it was where the object began. */
  #writeKey(lines: LineWriter, key: Buffer, first: number): void {
    if (lines.lineLength > first) lines.copy(syntax.comma)
    lines.copy(key)
    lines.copy(syntax.colon)
  }

  #writeValue(lines: LineWriter, { start, end, spaced }: Span): void {
    if (spaced) lines.compact(this.#bytes, start, end)
    else lines.copy(this.#bytes, start, end)
  }

  /** A project that is named elsewhere than in the field `project`. */
  #projectWithin({ projectPath }: Pick<EntryTerms, 'projectPath'>): Span | undefined {
    return (
      (projectPath && this.#scalarAt(projectPath)) ??
      this.#present(this.#innerRef ?? this.#otherValue(entryKeys.projectRef)) ??
      this.#present(this.#innerProject)
    )
  }

  /** The text of the entry, without a project that does not count: an erasure reads there whose it is. */
  withoutIdleProject(
    text: Buffer,
    terms: Pick<EntryTerms, 'projectPath'>,
    { isProjectLast }: EntryNature,
  ): Buffer {
    const project = this.#project
    if (!isProjectLast || !project || !this.#projectWithin(terms)) return text
    // What names the other one follows.
    return Buffer.concat([text.subarray(0, project.key.start), text.subarray(project.value.end + 1)])
  }

  #writeProject(terms: EntryTerms, lines: LineWriter, nature: EntryNature): void {
    const { owner } = terms
    const sent = this.#present(this.#project?.value)
    const span = (nature.isProjectLast ? undefined : sent) ?? this.#projectWithin(terms) ?? sent
    if (owner === undefined) {
      if (span) this.#writeName(span, 'project', maxProjectLength, lines)
      else lines.copy(syntax.emptyText)
      return
    }
    const own = Buffer.from(JSON.stringify(owner))
    if (nature.isEvent) {
      if (this.#project && sent && sent === span && !own.equals(this.#text(sent, 'project')))
        this.#others.push(this.#project)
      lines.copy(own)
      return
    }
    const project = span ? this.#text(span, 'project') : syntax.emptyText
    if (project.length > syntax.emptyText.length && !own.equals(project)) {
      this.#reject(`the token is limited to project ${owner}; send that project or omit it`)
    }
    lines.copy(own)
  }

  /** A text or a number at a path of the stored metadata. */
  #scalarAt([first = '', ...rest]: readonly string[]): Span | undefined {
    let found = this.#metadata && memberOf(this.#bytes, this.#metadata, first)
    found ??= this.#otherValue(Buffer.from(JSON.stringify(first)))
    for (const key of rest) found &&= memberOf(this.#bytes, found, key)
    return found && /^["\d-]/.test(String.fromCharCode(this.#bytes[found.start] ?? 0)) ? found : undefined
  }

  #otherValue(name: Buffer): Span | undefined {
    return this.#others.find(({ key }) => canonical(this.#bytes, key.start, key.end).equals(name))?.value
  }

  #writeId({ nowMs, newId }: EntryTerms, lines: LineWriter): void {
    const id = this.#present(this.#id)
    if (!id) {
      lines.latin1(`"${(newId ?? uuidsAt(nowMs))()}"`)
      return
    }
    this.#writeName(id, 'id', entryLimits.maxIdLength, lines)
  }

  /** Other programs call the duration of a request `time`, or its hour. Whether an instant is accepted is decided as for `timestamp`. */
  #isTimestamp(span: Span, { nowMs }: EntryTerms): boolean {
    if (!this.#present(span)) return true
    const micros = this.#readMicros(span)
    if (micros === undefined) {
      const value = this.#scalar(span)
      return typeof value === 'string' && isIsoShaped(value)
    }
    const isDate = this.#bytes[span.start] === quote && this.#bytes[span.start + 5] === hyphen
    return isDate || (micros > earliestTimeMs * 1000 && micros < (nowMs + maxTimeAheadMs) * 1000)
  }

  #readMicros(span: Span): number | bigint | undefined {
    const usual = readUsualTimestamp(this.#bytes, span.start + 1, span.end - 1)
    return Number.isNaN(usual) ? readTimestamp(this.#scalar(span)) : usual
  }

  #microsOf(span: Span | undefined, { nowMs, retentionDays }: EntryTerms): number | bigint {
    if (!span || !this.#present(span)) return nowMs * 1000
    const micros = this.#readMicros(span)
    if (micros === undefined) {
      this.#reject('timestamp must be ISO 8601 or a Unix time in s, ms, µs or ns')
      return nowMs * 1000
    }
    if (micros > (nowMs + entryLimits.maxAheadMs) * 1000)
      this.#reject('timestamp is more than one hour in the future')
    if (retentionDays !== undefined && micros < (nowMs - retentionDays * dayMs) * 1000) {
      const days = retentionDays === 1 ? '1 day' : `${retentionDays} days`
      this.#reject(`timestamp is older than the source's retention of ${days}`)
    }
    return micros
  }

  #reject(reason: string): void {
    this.#reason ??= reason
  }

  /** A value that is null counts as absent. */
  #present(span: Span | undefined): Span | undefined {
    return span !== undefined && this.#bytes[span.start] !== letterN ? span : undefined
  }

  /** A string or a number as a JSON string. Equal texts have equal bytes. */
  #text(span: Span, name: string): Buffer {
    if (this.#bytes[span.start] === quote) return canonical(this.#bytes, span.start, span.end)
    const value = this.#scalar(span)
    if (typeof value !== 'number' && typeof value !== 'bigint') {
      this.#reject(`${name} must be a string or a number`)
      return syntax.emptyText
    }
    return Buffer.from(`"${value}"`)
  }

  #writeName(span: Span, name: string, maxLength: number, lines: LineWriter): void {
    if (span.end - span.start - 2 > maxLength) {
      const text = JSON.parse(this.#text(span, name).toString()) as string
      if ([...text].length > maxLength) this.#reject(`${name} is longer than ${maxLength} characters`)
    }
    const isPlain = this.#bytes[span.start] === quote && !span.escaped
    if (isPlain) lines.copy(this.#bytes, span.start, span.end)
    else lines.copy(this.#text(span, name))
  }

  /** A string, number or boolean; long integers keep all of their digits. */
  #scalar({ start, end }: Span): unknown {
    const first = this.#bytes[start]
    if (first === openObject || first === openArray) return undefined
    const text = this.#bytes.toString('utf8', start, end)
    return /^-?\d{16,}$/.test(text) ? BigInt(text) : JSON.parse(text)
  }

  #compactText(span: Span): string {
    const text = new LineWriter()
    this.#writeValue(text, span)
    text.endLine()
    return text.lines().bytes.toString().trimEnd()
  }
}

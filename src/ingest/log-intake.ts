import type { Readable } from 'node:stream'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { engineUnavailable, internal, tooLarge, WellheadError } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import { callsSource, otelSource, quarantineSource } from '../catalog/built-in-sources.ts'
import type { Sources } from '../catalog/sources.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { isDiskTrouble, isUnreadableRow } from '../engine/engine-errors.ts'
import { ByteBudget } from './byte-budget.ts'
import { Committer } from './committer.ts'
import type { DiskGuard } from './disk-guard.ts'
import { type EntryReading, entryLimits, readEntry } from './entry.ts'
import { stringifyJson } from './faithful-json.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import type { LiveTail } from './live-tail.ts'
import { readLogBody } from './log-body.ts'
import type { SentEntry } from './log-entries.ts'

/** Where OpenTelemetry records go that name no source. */
export const defaultOtlpSource = otelSource
/** What the service writes itself, and takes from nobody. */
export const ownSource = callsSource
/** What entries are taken into that have no source; nothing of them is stored but what quarantine keeps. */
export const refusedSource = quarantineSource

export interface IntakeAnswer {
  accepted: number
  rejected: number
  errors: { index: number; reason: string }[]
}

/** What became of entries that were sent together. */
export interface IntakeObserver {
  stored(report: { source: string; accepted: number; rejected: number; bytes: number; ms: number }): void
  /** With the code of the error that the sender got. */
  refused(code: string): void
}

export interface LogIntakeOptions {
  engine: Engine
  sources: Pick<Sources, 'find' | 'get'>
  keys: IdempotencyKeys
  disk: DiskGuard
  clock: Clock
  /** Hears how far back the entries reach that come. */
  arrivals: Arrivals
  /** Hears every entry that is stored. */
  tail: Pick<LiveTail, 'publish'>
  observer?: IntakeObserver
  /** Bytes of bodies that may be held at once, and of lines that may wait to be stored. */
  maxPendingBytes: number
}

/** How entries are sent. */
export interface Sending {
  /** Who sends. The same key of another sender is another key. */
  caller: string
  /** The only project that the caller may send entries of; they need not name it. */
  project?: string | undefined
  /** Idempotency key. */
  key?: string | undefined
  /** Called where a request with the same key was answered before, and this one stores nothing. */
  onReplay?: (() => void) | undefined
}

const columns = ['project', 'id', 'timestamp', 'event_message', 'metadata'] as const

const limits = { deadlineMs: 60_000 }

/** A small body can hold millions of empty entries, each of which costs as much as a real one. */
const maxEntries = 50_000
const entriesPerTurn = 500

/** Takes entries and answers when each of them is on disk, in its source or in quarantine. */
export class LogIntake {
  readonly #options: LogIntakeOptions
  readonly #committer: Committer
  readonly #bodies: ByteBudget

  constructor(options: LogIntakeOptions) {
    this.#options = options
    this.#committer = new Committer({
      insert: (source, lines, token) => this.#insert(source, lines, token),
      isUnreadable: isUnreadableRow,
      isAway: (error) => engineUnavailable.is(error) && !isDiskTrouble(error),
      onStored: (source, lines) => options.tail.publish(source, lines),
      maxPendingBytes: options.maxPendingBytes,
      maxInsertBytes: 32 * 2 ** 20,
      attempts: 30,
      pause: (ms) => delay(ms),
    })
    this.#bodies = new ByteBudget(options.maxPendingBytes)
  }

  get heldBodyBytes(): number {
    return this.#bodies.heldBytes
  }

  get pendingBytes(): number {
    return this.#committer.pendingBytes
  }

  /** The name of the source that this is the name or an alias of. */
  findSource(name: string): string | undefined {
    return this.#options.sources.find(name)?.name
  }

  /** Reads a body; its bytes count for as long as the work on it goes on. */
  async withBody<T>(
    sent: Readable | undefined,
    encoding: string | undefined,
    work: (body: Buffer) => Promise<T>,
  ): Promise<T> {
    const share = this.#bodies.share()
    try {
      return await work(await readLogBody(sent, encoding, share))
    } finally {
      share.release()
    }
  }

  async take(sourceName: string, entries: SentEntry[], sending: Sending): Promise<IntakeAnswer> {
    try {
      return await this.#take(sourceName, entries, sending)
    } catch (error) {
      this.#options.observer?.refused(error instanceof WellheadError ? error.code : internal.code)
      throw error
    }
  }

  async #take(sourceName: string, entries: SentEntry[], sending: Sending): Promise<IntakeAnswer> {
    const source = this.#options.sources.get(sourceName)
    if (entries.length > maxEntries) throw tooLarge(`More than ${maxEntries} entries came at once.`)
    this.#options.disk.check()
    const { caller, project, key, onReplay } = sending
    if (key === undefined) return this.#store(source.name, entries, project)
    const store = (token: string) => this.#store(source.name, entries, project, token)
    return this.#options.keys.once([caller, source.id], key, store, onReplay)
  }

  async #store(
    source: string,
    entries: SentEntry[],
    project: string | undefined,
    token?: string,
  ): Promise<IntakeAnswer> {
    const nowMs = this.#options.clock.now()
    const since = performance.now()
    const lines: Buffer[] = []
    const indexOfLine: number[] = []
    const errors: IntakeAnswer['errors'] = []
    let earliestMicros = BigInt(nowMs) * 1000n
    for (const [index, entry] of entries.entries()) {
      // Others want their turn, too.
      if (index % entriesPerTurn === entriesPerTurn - 1) await nextTurn()
      const reading = readSent(entry, nowMs, project)
      if ('reason' in reading) errors.push({ index, reason: reading.reason })
      else {
        lines.push(reading.line)
        if (reading.micros < earliestMicros) earliestMicros = reading.micros
        indexOfLine.push(index)
      }
    }
    const quarantine = (rejected: IntakeAnswer['errors'], part: string) => ({
      source: quarantineSource,
      lines: rejected.map(({ index, reason }) =>
        quarantineLine({ source, index, reason, project }, entries[index] as SentEntry, nowMs),
      ),
      token: token && `${token}/${part}`,
    })
    const stored = await this.#committer
      .submit({ source, lines, token }, quarantine(errors, 'rejected'))
      // Whether it went well or not: what is in the engine now was not there before.
      .finally(() => lines.length > 0 && this.#options.arrivals.note(source, earliestMicros))
    const [refused, notKept] = stored as [Map<number, string>, Map<number, string>]
    const late = [...refused].map(([line, reason]) => ({ index: indexOfLine[line] as number, reason }))
    const [lateNotKept] = await this.#committer.submit({ ...quarantine(late, 'refused'), begun: true })
    if (notKept.size > 0 || (lateNotKept?.size ?? 0) > 0) throw internal('a rejected entry could not be kept')
    for (const error of late) errors.push(error)
    if (errors.length > 0) this.#options.arrivals.note(quarantineSource, BigInt(nowMs) * 1000n)
    errors.sort((one, other) => one.index - other.index)
    const accepted = entries.length - errors.length
    const bytes = lines.reduce((sum, line) => sum + line.length, 0)
    this.#options.observer?.stored({
      source,
      accepted,
      rejected: errors.length,
      bytes,
      ms: performance.now() - since,
    })
    return { accepted, rejected: errors.length, errors }
  }

  async #insert(source: string, lines: Buffer, token: string): Promise<void> {
    await this.#options.engine.insert(
      {
        table: `${database}.${source}`,
        columns,
        format: 'JSONEachRow',
        settings: {
          insert_deduplication_token: token,
          // Entries may be of any day, and each day is a partition.
          max_partitions_per_insert_block: 0,
        },
      },
      lines,
      limits,
    )
  }

  /** Resolves when everything taken is stored. */
  settled(): Promise<void> {
    return this.#committer.settled()
  }
}

function readSent(entry: SentEntry, nowMs: number, project: string | undefined): EntryReading {
  if ('unreadable' in entry) return { reason: 'the line is not valid JSON' }
  return entry.refusal ?? readEntry(entry.value, nowMs, project)
}

interface Rejected {
  source: string
  index: number
  reason: string
  /** Of the caller, whatever the entry says: another tenant must not see what this one sent. */
  project: string | undefined
}

/** The text of a rejected entry, as far as it fits. */
function quarantineLine(rejected: Rejected, entry: SentEntry, nowMs: number): Buffer {
  const { index, reason, project } = rejected
  const source = ('refusal' in entry && entry.refusal?.source) || rejected.source
  const text = textOf(entry).toWellFormed()
  const most = entryLimits.maxBytes / 4
  const reading = readEntry(
    {
      project,
      event_message: text.slice(0, most).toWellFormed(),
      metadata: { source, index, reason, ...(text.length > most && { cut: true }) },
    },
    nowMs,
  )
  if ('reason' in reading) throw new Error(`A rejected entry cannot be kept: ${reading.reason}.`)
  return reading.line
}

function textOf(entry: SentEntry): string {
  if ('unreadable' in entry) return entry.unreadable
  try {
    return stringifyJson(entry.value)
  } catch {
    // Nested so deeply that it cannot even be written down again.
    return ''
  }
}

import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { engineUnavailable, internal, WellheadError } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import { callsSource, otelSource, quarantineSource } from '../catalog/built-in-sources.ts'
import type { Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { isDiskTrouble, isUnreadableRow } from '../engine/engine-errors.ts'
import { ByteBudget } from './byte-budget.ts'
import { Committer } from './committer.ts'
import type { DiskGuard } from './disk-guard.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import { LineWriter } from './lines.ts'
import { readLogBody, type SentBody } from './log-body.ts'
import type { OtlpEncoding } from './otlp/otlp.ts'
import type { KnownSource } from './reading.ts'
import { ReadingPool } from './reading-pool.ts'
import { type ReadEntries, writeQuarantined } from './source-reading.ts'

/** Where OpenTelemetry records go that name no source. */
export const defaultOtlpSource = otelSource
/** What the service writes itself, and takes from nobody. */
export const ownSource = callsSource

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
  sources: Pick<Sources, 'find' | 'get' | 'list'>
  keys: IdempotencyKeys
  disk: DiskGuard
  clock: Clock
  /** Hears how far back the entries reach that come. */
  arrivals: Arrivals
  /** Hears every entry that is stored. */
  tail: { publish(source: string, lines: Iterable<Buffer>): void }
  observer?: IntakeObserver
  /** Bytes of bodies that may be held at once, and of lines that may wait to be stored. */
  maxPendingBytes: number
  /** Threads that read large bodies. */
  maxReaders: number
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

/** Bounds of the threads that read bodies; the bytes of all bodies have a bound besides. */
const readerLimits = { maxWaiting: 1_000, maxHeapMiB: 1_024 }

/** Takes entries and answers when each of them is on disk, in its source or in quarantine. */
export class LogIntake {
  readonly #options: LogIntakeOptions
  readonly #committer: Committer
  readonly #bodies: ByteBudget
  readonly #readers: ReadingPool

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
    this.#readers = new ReadingPool({ ...readerLimits, maxWorkers: options.maxReaders })
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
    work: (body: SentBody) => Promise<T>,
  ): Promise<T> {
    const share = this.#bodies.share()
    try {
      return await work(await readLogBody(sent, encoding, share))
    } finally {
      share.release()
    }
  }

  /** Takes the entries of a body for one source. */
  take(sourceName: string, body: SentBody, contentType: string, sending: Sending): Promise<IntakeAnswer> {
    return this.#counted(async () => {
      const source = this.#options.sources.get(sourceName)
      this.#options.disk.check()
      const nowMs = this.#options.clock.now()
      const job = {
        kind: 'logs',
        nowMs,
        owner: sending.project,
        contentType,
        source: knownSource(source),
      } as const
      const [read] = (await this.#readers.read(body, job)) as [ReadEntries]
      return this.#storeOnce(read, nowMs, sending)
    })
  }

  /** Takes OpenTelemetry records, which may be for several sources; `check` throws for those that are not allowed. */
  takeOtlp(
    body: SentBody,
    encoding: OtlpEncoding,
    preset: string,
    sending: Sending,
    check: (source: string) => void,
  ): Promise<IntakeAnswer[]> {
    return this.#counted(async () => {
      this.#options.disk.check()
      const nowMs = this.#options.clock.now()
      const sources = new Map<string, KnownSource>()
      for (const source of this.#options.sources.list()) {
        for (const name of [source.name, ...source.aliases]) sources.set(name, knownSource(source))
      }
      const job = { kind: 'otlp', nowMs, owner: sending.project, encoding, source: preset, sources } as const
      const reads = await this.#readers.read(body, job)
      // Whatever is forbidden is so before anything is stored.
      for (const { names } of reads) for (const name of names) check(sources.get(name)?.name ?? name)
      return Promise.all(reads.map((read) => this.#storeOnce(read, nowMs, sending)))
    })
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#options.observer?.refused(error instanceof WellheadError ? error.code : internal.code)
      throw error
    }
  }

  #storeOnce(read: ReadEntries, nowMs: number, sending: Sending): Promise<IntakeAnswer> {
    const { caller, project, key, onReplay } = sending
    if (key === undefined) return this.#store(read, nowMs, project)
    const { id } = this.#options.sources.get(read.source)
    const store = (token: string) => this.#store(read, nowMs, project, token)
    return this.#options.keys.once([caller, id], key, store, onReplay)
  }

  async #store(
    read: ReadEntries,
    nowMs: number,
    project: string | undefined,
    token?: string,
  ): Promise<IntakeAnswer> {
    const since = performance.now()
    const { source, lines } = read
    const { arrivals, observer } = this.#options
    const part = (name: string) => ({ source: quarantineSource, token: token && `${token}/${name}` })
    const stored = await this.#committer
      .submit({ source, lines, token }, { ...part('rejected'), lines: read.quarantine })
      // Whether it went well or not: what is in the engine now was not there before.
      .finally(() => lines.count > 0 && arrivals.note(source, read.earliestMicros))
    const [refused, notKept] = stored as [Map<number, string>, Map<number, string>]
    const errors = rejectedOf(read)
    const late = new LineWriter()
    for (const [line, reason] of refused) {
      const index = read.indices[line] as number
      const row = lines.at(line)
      writeQuarantined(late, { source, index, reason, project, nowMs }, row, 0, row.length - 1)
      errors.push({ index, reason })
    }
    const [lateNotKept] = await this.#committer.submit({
      ...part('refused'),
      lines: late.lines(),
      begun: true,
    })
    if (notKept.size > 0 || (lateNotKept?.size ?? 0) > 0) throw internal('a rejected entry could not be kept')
    if (errors.length > 0) arrivals.note(quarantineSource, BigInt(nowMs) * 1000n)
    errors.sort((one, other) => one.index - other.index)
    const [accepted, rejected] = [read.count - errors.length, errors.length]
    observer?.stored({ source, accepted, rejected, bytes: lines.bytes.length, ms: performance.now() - since })
    return { accepted, rejected, errors }
  }

  async #insert(source: string, lines: Buffer, token: string): Promise<void> {
    await this.#options.engine.insert(
      {
        table: `${database}.${source}`,
        columns,
        format: 'JSONEachRow',
        settings: {
          insert_deduplication_token: token,
          // Metadata is stored as the text that it is, whatever a server's profile says.
          input_format_json_read_objects_as_strings: 1,
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

  async stop(): Promise<void> {
    await this.#readers.stop()
    await this.settled()
  }
}

function knownSource({ name, retention_days }: Source): KnownSource {
  return { name, retentionDays: retention_days }
}

function rejectedOf({ rejected, reasons }: ReadEntries): IntakeAnswer['errors'] {
  const errors: IntakeAnswer['errors'] = []
  for (let at = 0; at < rejected.length; at += 2) {
    errors.push({ index: rejected[at] as number, reason: reasons[rejected[at + 1] as number] as string })
  }
  return errors
}

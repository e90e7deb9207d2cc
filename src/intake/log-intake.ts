import type { Readable } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import { forbidden, internal, WellheadError } from '../base/errors.ts'
import { isWrittenByService, otelSource } from '../catalog/built-in-sources.ts'
import type { Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import type { DecodeJob, TargetSource } from './decode-body.ts'
import { DecoderPool } from './decoder-pool.ts'
import type { EntryBatch } from './entry-batch.ts'
import { EntryStore, type EntryStoreOptions, type IntakeOutcome } from './entry-store.ts'
import type { IdempotencyKeys, Replayable } from './idempotency.ts'
import { ByteBudget, type DiskGuard } from './intake-limits.ts'
import type { OtlpEncoding } from './otlp/otlp.ts'
import { readRequestBody } from './request-body.ts'

interface LogIntakeOptions extends EntryStoreOptions {
  sources: Pick<Sources, 'find' | 'get' | 'list'>
  keys: IdempotencyKeys
  disk: DiskGuard
  clock: Clock
  maxReaders: number
}

export interface Upload {
  body: Readable | undefined
  contentEncoding: string | undefined
  idempotencyKey: string | undefined
  sender: Sender
}

interface Sender {
  /** Scopes idempotency keys: equal keys of two senders are independent. */
  readonly id: string
  /** The only project that the sender may send entries for; entries may omit it. */
  readonly project: string | undefined
  mayIngest(source: string): boolean
}

type Received = Replayable<IntakeOutcome>

const decoderLimits = { maxWaiting: 1_000, maxHeapMiB: 1_024 }

/** Accepts entries and responds once each of them is on disk, in its source or in quarantine. */
export class LogIntake {
  readonly #options: LogIntakeOptions
  readonly #bodies: ByteBudget
  readonly #decoders: DecoderPool
  readonly #store: EntryStore

  constructor(options: LogIntakeOptions) {
    this.#options = options
    this.#bodies = new ByteBudget(options.maxPendingBytes)
    this.#decoders = new DecoderPool({ ...decoderLimits, maxWorkers: options.maxReaders })
    this.#store = new EntryStore(options)
  }

  get heldBodyBytes(): number {
    return this.#bodies.heldBytes
  }

  get pendingBytes(): number {
    return this.#store.pendingBytes
  }

  async receiveLogs(upload: Upload, sourceName: string, contentType: string): Promise<Received> {
    checkMaySend(upload.sender, this.#options.sources.find(sourceName)?.name ?? sourceName)
    const [received] = await this.#receive(upload, (base) => {
      const mayKnow = (name: string) => upload.sender.mayIngest(name) && !isWrittenByService(name)
      const source = targetOf(this.#options.sources.get(sourceName, mayKnow))
      return { ...base, kind: 'logs', contentType, source }
    })
    return received as Received
  }

  /** Receives OpenTelemetry records, which may be for several sources; those that name none are for `defaultSource`. */
  receiveOtlp(upload: Upload, encoding: OtlpEncoding, defaultSource = otelSource): Promise<Received[]> {
    return this.#receive(upload, (base) => {
      const sources = new Map<string, TargetSource>()
      for (const source of this.#options.sources.list()) {
        for (const name of [source.name, ...source.aliases]) sources.set(name, targetOf(source))
      }
      return { ...base, kind: 'otlp', encoding, defaultSource, sources }
    })
  }

  async #receive(
    upload: Upload,
    jobOf: (base: Pick<DecodeJob, 'nowMs' | 'owner'>) => DecodeJob,
  ): Promise<Received[]> {
    const share = this.#bodies.share()
    try {
      const body = await readRequestBody(upload.body, upload.contentEncoding, share)
      return await this.#counted(async () => {
        // Tokens from before projects were validated may hold half of a surrogate pair, which the engine cannot store.
        const owner = upload.sender.project?.toWellFormed()
        const job = jobOf({ nowMs: this.#options.clock.now(), owner })
        this.#options.disk.check()
        const batches = await this.#decoders.decode(body, job)
        // Every source is checked before anything is stored.
        for (const name of batches.flatMap(({ names }) => names)) checkMaySend(upload.sender, name)
        return Promise.all(batches.map((batch) => this.#storeOnce(batch, job, upload)))
      })
    } finally {
      share.release()
    }
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#options.observer?.refused(error instanceof WellheadError ? error.code : internal.code)
      throw error
    }
  }

  async #storeOnce(batch: EntryBatch, job: DecodeJob, upload: Upload): Promise<Received> {
    const { idempotencyKey: key, sender } = upload
    if (key === undefined) return { result: await this.#store.store(batch, job), replayed: false }
    const { id } = this.#options.sources.get(batch.source)
    return this.#options.keys.once([sender.id, id], key, (token) => this.#store.store(batch, job, token))
  }

  async stop(): Promise<void> {
    await this.#decoders.stop()
    await this.#store.settled()
  }
}

function targetOf({ name, retention_days }: Source): TargetSource {
  return { name, retentionDays: retention_days }
}

/** Also checked for unknown sources, so that the response does not reveal which exist. */
function checkMaySend(sender: Sender, source: string): void {
  if (!sender.mayIngest(source)) throw forbidden(`This token may not send to source "${source}".`)
  // Statistics would be worthless if anybody could add to them.
  if (isWrittenByService(source)) throw forbidden(`Only the service writes to ${source}.`)
}

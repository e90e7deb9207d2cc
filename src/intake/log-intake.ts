import { createHash, type Hash, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { forbidden, internal, WellheadError } from '../base/errors.ts'
import { isWrittenByService, otelSource } from '../catalog/built-in-sources.ts'
import type { Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { keysOf } from '../sql/metadata-path.ts'
import type { DecodeJob, TargetSource } from './decode-body.ts'
import { DecoderPool } from './decoder-pool.ts'
import type { EntryBatch } from './entry-batch.ts'
import type { EntryStore, IntakeOutcome } from './entry-store.ts'
import type { IdempotencyKeys, OnceResult } from './idempotency.ts'
import { ByteBudget, type DiskGuard } from './intake-limits.ts'
import type { OtlpEncoding } from './otlp/otlp.ts'
import { readRequestBody } from './request-body.ts'

interface IntakeObserver {
  stored(report: Omit<IntakeOutcome, 'errors'> & { source: string; bytes: number; ms: number }): void
  refused(code: string): void
}

interface LogIntakeOptions {
  store: EntryStore
  observer?: IntakeObserver
  sources: Pick<Sources, 'find' | 'get' | 'list'>
  keys: IdempotencyKeys
  disk: DiskGuard
  clock: Clock
  /** Maximum bytes of bodies held at once. */
  maxBodyBytes: number
  maxReaders: number
}

export interface Upload {
  body: Readable | undefined
  contentEncoding: string | undefined
  idempotencyKey: string | undefined
  sender: Sender
}

interface Sender {
  /** Idempotency keys belong to an id and a project. */
  readonly id: string
  /** The only project that the sender may send entries for; entries may omit it. */
  readonly project: string | undefined
  mayIngest(source: string): boolean
}

/** Requests for several sources that failed are remembered, so that a retry stores nothing twice. */
const maxFailed = 1_000

const decoderLimits = { maxWaiting: 1_000, maxHeapMiB: 1_024 }

/** Accepts entries and responds once each of them is on disk, in its source or in quarantine. */
export class LogIntake {
  readonly #options: LogIntakeOptions
  readonly #bodies: ByteBudget
  readonly #decoders: DecoderPool
  /** By sender and content: the tokens of failed requests for several sources, which may be stored in part. */
  readonly #failed = new LRUCache<string, string[]>({ max: maxFailed })

  constructor(options: LogIntakeOptions) {
    this.#options = options
    this.#bodies = new ByteBudget(options.maxBodyBytes)
    this.#decoders = new DecoderPool({ ...decoderLimits, maxWorkers: options.maxReaders })
  }

  get heldBodyBytes(): number {
    return this.#bodies.heldBytes
  }

  get pendingBytes(): number {
    return this.#options.store.pendingBytes
  }

  async receiveLogs(
    upload: Upload,
    sourceName: string,
    contentType: string,
  ): Promise<OnceResult<IntakeOutcome>> {
    checkMaySend(upload.sender, this.#options.sources.find(sourceName)?.name ?? sourceName)
    const digest = upload.idempotencyKey === undefined ? undefined : createHash('sha256')
    const { result, repeated } = await this.#receive(upload, digest, (base) => {
      const mayKnow = (name: string) => upload.sender.mayIngest(name) && !isWrittenByService(name)
      const source = targetOf(this.#options.sources.get(sourceName, mayKnow))
      return { ...base, kind: 'logs', contentType, source }
    })
    return { result: result[0] as IntakeOutcome, repeated }
  }

  /** Receives OpenTelemetry records, which may be for several sources; those that name none are for `defaultSource`. */
  async receiveOtlp(
    upload: Upload,
    encoding: OtlpEncoding,
    defaultSource = otelSource,
  ): Promise<IntakeOutcome[]> {
    const { result } = await this.#receive(upload, createHash('sha256'), (base) => {
      const sources = new Map<string, TargetSource>()
      for (const source of this.#options.sources.list()) {
        for (const name of [source.name, ...source.aliases]) sources.set(name, targetOf(source))
      }
      return { ...base, kind: 'otlp', encoding, defaultSource, sources }
    })
    return result
  }

  async #receive(
    upload: Upload,
    digest: Hash | undefined,
    jobOf: (base: Pick<DecodeJob, 'nowMs' | 'owner'>) => DecodeJob,
  ): Promise<OnceResult<IntakeOutcome[]>> {
    const share = this.#bodies.share()
    try {
      const body = await readRequestBody(upload.body, upload.contentEncoding, share, digest)
      return await this.#counted(async () => {
        // The engine cannot store half of a surrogate pair.
        const owner = upload.sender.project?.toWellFormed()
        const job = jobOf({ nowMs: this.#options.clock.now(), owner })
        this.#options.disk.check()
        const batches = await this.#decoders.decode(body, job)
        // Every source is checked before anything is stored.
        for (const name of batches.flatMap(({ names }) => names)) checkMaySend(upload.sender, name)
        return this.#storeOnce(batches, job, upload, digest?.digest('hex') ?? '')
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

  async #storeOnce(
    batches: readonly EntryBatch[],
    job: DecodeJob,
    { idempotencyKey: key, sender }: Upload,
    digest: string,
  ): Promise<OnceResult<IntakeOutcome[]>> {
    const store = (token?: string) =>
      allOrFirstError(
        batches.map((batch) => this.#storeBatch(batch, job, token && `${token}/${batch.source}`)),
      )
    // Sessions have the id of their token, but can be those of different customers.
    const owner = sender.project === undefined ? [sender.id] : [sender.id, sender.project]
    if (key !== undefined) {
      const scope = job.kind === 'otlp' ? 'otlp' : this.#options.sources.get(job.source.name).id
      return this.#options.keys.once([...owner, scope], key, digest, store)
    }
    if (batches.length <= 1) return { result: await store(), repeated: false }
    const content = JSON.stringify([...owner, digest])
    // One retry takes a token: other requests with the same content are new entries.
    const failed = this.#failed.get(content) ?? []
    const token = failed.pop() ?? randomUUID()
    if (failed.length === 0) this.#failed.delete(content)
    try {
      return { result: await store(token), repeated: false }
    } catch (error) {
      this.#failed.set(content, [...(this.#failed.get(content) ?? []), token])
      throw error
    }
  }

  async #storeBatch(batch: EntryBatch, job: DecodeJob, token: string | undefined): Promise<IntakeOutcome> {
    const startedAt = performance.now()
    const { source, lines } = batch
    const outcome = await this.#options.store.store(batch, job, token)
    const ms = performance.now() - startedAt
    this.#options.observer?.stored({ ...outcome, source, bytes: lines.bytes.length, ms })
    return outcome
  }

  async stop(): Promise<void> {
    await this.#decoders.stop()
    await this.#options.store.settled()
  }
}

/** Waits for all, so that nothing of a request is still being stored when its sender tries again. */
async function allOrFirstError<T>(running: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(running)
  return Promise.all(running)
}

function targetOf({ name, retention_days, project }: Source): TargetSource {
  return { name, retentionDays: retention_days, projectPath: project === null ? undefined : keysOf(project) }
}

/** Also checked for unknown sources, so that the response does not reveal which exist. */
function checkMaySend(sender: Sender, source: string): void {
  if (!sender.mayIngest(source)) throw forbidden(`This token may not send to source "${source}".`)
  // Statistics would be worthless if anybody could add to them.
  if (isWrittenByService(source)) throw forbidden(`Only the service writes to ${source}.`)
}

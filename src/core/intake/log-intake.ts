import { createHash, type Hash, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { forbidden, internal, invalidParameter, quotaExceeded, WellheadError } from '../base/errors.ts'
import { isWrittenByService, otelSource, quarantineSource } from '../catalog/reserved-sources.ts'
import { projectKeys, type Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import type { DecodeJob } from './decode-body.ts'
import { DecoderPool } from './decoder-pool.ts'
import { type EntryBatch, maxErrors } from './entry-batch.ts'
import type { KnownSources, TargetSource } from './entry-router.ts'
import type { EntryStore, IntakeOutcome } from './entry-store.ts'
import type { IdempotencyKeys, OnceResult } from './idempotency.ts'
import { ByteBudget, type DiskGuard } from './intake-limits.ts'
import { projectRuns } from './line-projects.ts'
import type { OtlpEncoding } from './otlp/otlp.ts'
import type { ProjectGate } from './project-gate.ts'
import { readRequestBody } from './request-body.ts'
import { hides } from './rules/rules.ts'
import type { SourceRules } from './rules/source-rules.ts'

export interface IntakeObserver {
  stored(report: Omit<IntakeOutcome, 'errors'> & { source: string; bytes: number; ms: number }): void
  refused(code: string): void
}

interface LogIntakeOptions {
  store: EntryStore
  observer?: IntakeObserver
  sources: Pick<Sources, 'named' | 'get' | 'list'>
  rules: Pick<SourceRules, 'textOf' | 'count'>
  keys: IdempotencyKeys
  gate: Pick<ProjectGate, 'enter'>
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

export const oneSource =
  'must name one source: POST /api/logs?source=<name>, or the field source of each entry'

/** Requests for several sources that failed are remembered, so that a retry stores nothing twice. */
const maxFailed = 1_000

const decoderLimits = { maxWaiting: 1_000, maxWaitingPerSender: 500, maxHeapMiB: 1_024 }

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

  /** Receives entries for the source, or, without one, events that name theirs. */
  async receiveLogs(
    upload: Upload,
    sourceName: string | undefined,
    contentType: string,
  ): Promise<OnceResult<IntakeOutcome>> {
    if (sourceName === undefined) return this.#receiveEvents(upload, contentType)
    checkMaySend(upload.sender, this.#options.sources.named(sourceName)?.name ?? sourceName)
    const digest = upload.idempotencyKey === undefined ? undefined : createHash('sha256')
    const { result, repeated } = await this.#receive(upload, digest, (base) => {
      return {
        ...base,
        kind: 'logs',
        contentType,
        source: this.#targetOf(this.#target(sourceName, upload.sender)),
      }
    })
    return { result: result[0] as IntakeOutcome, repeated }
  }

  async #receiveEvents(upload: Upload, contentType: string): Promise<OnceResult<IntakeOutcome>> {
    const digest = createHash('sha256')
    const { result, repeated } = await this.#receive(upload, digest, (base) => {
      return { ...base, kind: 'events', contentType, sources: this.#known(upload.sender) }
    })
    const total = (count: (outcome: IntakeOutcome) => number) =>
      result.reduce((sum, outcome) => sum + count(outcome), 0)
    const dropped = total((outcome) => outcome.dropped ?? 0)
    const errors = result.flatMap((outcome) => outcome.errors)
    return {
      result: {
        accepted: total(({ accepted }) => accepted),
        rejected: total(({ rejected }) => rejected),
        ...(dropped > 0 && { dropped }),
        errors: errors.sort((one, other) => one.index - other.index).slice(0, maxErrors),
        withoutProject: total(({ withoutProject }) => withoutProject),
        overQuota: false,
      },
      repeated,
    }
  }

  /** Events of which none can be stored for their source are refused as a request for this source would be. */
  #checkNamed(batches: readonly EntryBatch[], sender: Sender): void {
    if (batches.some(({ source, lines }) => source !== quarantineSource || lines.count > 0)) return
    for (const { names } of batches) {
      const [name] = names
      if (name === undefined) throw invalidParameter('source', `source ${oneSource}.`)
      this.#target(name, sender)
    }
  }

  #target(name: string, sender: Sender): Source {
    checkMaySend(sender, this.#options.sources.named(name)?.name ?? name)
    return this.#options.sources.get(name, (each) => sender.mayIngest(each) && !isWrittenByService(each))
  }

  #targetOf(source: Source): TargetSource {
    const { name, retention_days: retentionDays } = source
    const rules = this.#options.rules.textOf(source)
    return { name, retentionDays, projectPath: projectKeys(source), ...(rules !== undefined && { rules }) }
  }

  #known(sender: Sender): KnownSources {
    const sources = this.#options.sources.list().flatMap((source) => {
      const isOpen = sender.mayIngest(source.name) && !isWrittenByService(source.name)
      return [source.name, ...source.aliases].map(
        (name) => [name, { ...this.#targetOf(source), isOpen, hides: source.rules.some(hides) }] as const,
      )
    })
    return new Map(sources)
  }

  /** Receives OpenTelemetry records, which may be for several sources; those that name none are for `defaultSource`. */
  async receiveOtlp(
    upload: Upload,
    encoding: OtlpEncoding,
    defaultSource = otelSource,
  ): Promise<IntakeOutcome[]> {
    const { result } = await this.#receive(upload, createHash('sha256'), (base) => {
      return { ...base, kind: 'otlp', encoding, defaultSource, sources: this.#known(upload.sender) }
    })
    return result
  }

  async #receive(
    upload: Upload,
    digest: Hash | undefined,
    jobOf: (base: Pick<DecodeJob, 'nowMs' | 'owner'>) => DecodeJob,
  ): Promise<OnceResult<IntakeOutcome[]>> {
    const share = this.#bodies.share(turnOf(upload.sender))
    try {
      const body = await readRequestBody(upload.body, upload.contentEncoding, share, digest)
      return await this.#counted(async () => {
        // The engine cannot store half of a surrogate pair.
        const owner = upload.sender.project?.toWellFormed()
        const job = jobOf({ nowMs: this.#options.clock.now(), owner })
        this.#options.disk.check()
        const batches = await this.#decoders.decode(body, job, turnOf(upload.sender))
        // Every source is checked before anything is stored.
        if (job.kind === 'events') this.#checkNamed(batches, upload.sender)
        else for (const name of batches.flatMap(({ names }) => names)) checkMaySend(upload.sender, name)
        const leave = await this.#options.gate.enter(batches)
        return this.#storeOnce(batches, job, upload, digest?.digest('hex') ?? '').finally(leave)
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
    const store = async (token?: string) => {
      const outcomes = await allOrFirstError(
        batches.map((batch) => this.#storeBatch(batch, job, token && `${token}/${batch.source}`)),
      )
      if (outcomes.length > 0 && outcomes.every(({ overQuota }) => overQuota)) {
        throw quotaExceeded(untilMidnight(this.#options.clock.now()))
      }
      return outcomes
    }
    // Sessions have the id of their token, but can be those of different customers.
    const owner = sender.project === undefined ? [sender.id] : [sender.id, sender.project]
    if (key !== undefined) {
      const scope = job.kind === 'logs' ? this.#options.sources.get(job.source.name).id : job.kind
      return this.#options.keys.once([...owner, scope], key, digest, store, projectOf(batches))
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
    const { source, lines, rules, hits } = batch
    const outcome = await this.#options.store.store(batch, job, token)
    const ms = performance.now() - startedAt
    if (rules !== undefined) this.#options.rules.count(source, rules, hits)
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

/** The project of all entries, also of rejected ones; empty if they have several. */
function projectOf(batches: readonly EntryBatch[]): string {
  const projects = new Set(
    batches.flatMap(({ lines, quarantine }) =>
      [lines, quarantine].flatMap((each) => [...projectRuns(each)].map(({ project }) => project)),
    ),
  )
  const [project = ''] = projects
  return projects.size === 1 ? project : ''
}

const dayMs = 86_400_000

function untilMidnight(nowMs: number): number {
  return Math.ceil((dayMs - (nowMs % dayMs)) / 1000)
}

/** Tokens of a project share its turns. */
function turnOf({ id, project }: Sender): string {
  return project === undefined ? `token ${id}` : `project ${project}`
}

/** Also checked for unknown sources, so that the response does not reveal which exist. */
function checkMaySend(sender: Sender, source: string): void {
  if (!sender.mayIngest(source)) throw forbidden(`This token may not send to source "${source}".`)
  // Statistics, and rejected entries, would be worthless if anybody could add to them.
  if (isWrittenByService(source)) throw forbidden(`Only the service writes to ${source}.`)
}

import { setTimeout as delay } from 'node:timers/promises'
import type { Arrivals } from '../base/arrivals.ts'
import { internal } from '../base/errors.ts'
import { auditSource, quarantineSource } from '../catalog/reserved-sources.ts'
import type { Engine } from '../engine/engine.ts'
import { type Admission, type Admit, overLimitReason, type PendingInserts } from './admission.ts'
import { Committer } from './committer.ts'
import { type EntryBatch, maxErrors, withoutLines, writeQuarantineLine } from './entry-batch.ts'
import type { DiskGuard } from './intake-limits.ts'
import { type Lines, LineWriter } from './lines.ts'

export interface IntakeOutcome {
  accepted: number
  rejected: number
  /** Entries that rules of their source dropped. Absent if there are none. */
  dropped?: number
  errors: EntryBatch['errors']
  /** Stored entries that no tenant can see. */
  withoutProject: number
  /** Whether every entry was rejected because its project has used up its day. */
  overQuota: boolean
}

interface Owned {
  nowMs: number
  owner: string | undefined
}

interface EntryStoreOptions {
  engine: Engine
  arrivals: Arrivals
  tail: { publish(source: string, lines: Iterable<Buffer>): void }
  disk: Pick<DiskGuard, 'check'>
  /** Maximum bytes of lines that wait to be stored. */
  maxPendingBytes: number
  /** How often an insert is sent while the engine is away. */
  attempts: number
  /** Refuses entries of projects beyond the limits of their plan, and counts the others. */
  admit: Admit
  /** Remembers what is being stored, so that a start can count it. */
  pending: PendingInserts
}

/** Stores all entries: those of requests, those that are rejected in quarantine, and those of the service itself. */
export class EntryStore {
  readonly #options: EntryStoreOptions
  readonly #committer: Committer

  constructor(options: EntryStoreOptions) {
    this.#options = options
    this.#committer = new Committer({
      engine: options.engine,
      onStored: (source, lines) => options.tail.publish(source, lines),
      maxPendingBytes: options.maxPendingBytes,
      maxInsertBytes: 32 * 2 ** 20,
      attempts: options.attempts,
      pending: options.pending,
      pause: (ms) => delay(ms),
    })
  }

  get pendingBytes(): number {
    return this.#committer.pendingBytes
  }

  /** Resolves when the whole batch is on disk. With a token, it is stored once however often it is sent. */
  async store(sent: EntryBatch, owned: Owned, token?: string): Promise<IntakeOutcome> {
    const admission = await this.#options.admit(sent.lines, sent.quarantine)
    try {
      const { over, notKept } = admission
      const left = over.size === 0 ? sent : withoutLines(sent, over, overLimitReason)
      const batch = { ...left, quarantine: left.quarantine.without(notKept) }
      const outcome = await this.#store(batch, owned, token, admission)
      return { ...outcome, overQuota: over.size > 0 && over.size === sent.count - sent.dropped }
    } finally {
      admission.release()
    }
  }

  async #store(batch: EntryBatch, { nowMs, owner }: Owned, token: string | undefined, admission: Admission) {
    const { source, lines } = batch
    const { arrivals } = this.#options
    const quarantine = (part: string) => ({ source: quarantineSource, token: token && `${token}/${part}` })
    const stored = lines.count > 0 ? arrivals.begin(source) : undefined
    const [refused, notKept] = await this.#committer
      .submit(
        { source, lines, token, counts: admission.counts },
        { ...quarantine('rejected'), lines: batch.quarantine },
      )
      .finally(stored)
    admission.stored(refused)
    const errors = [...batch.errors]
    const late = new LineWriter()
    for (const [line, reason] of refused ?? []) {
      const index = batch.indices[line] as number
      writeQuarantineLine(late, lines.at(line).subarray(0, -1), { source, index, reason, owner, nowMs })
      errors.push({ index, reason })
    }
    errors.sort((one, other) => one.index - other.index).splice(maxErrors)
    const rejected = batch.rejected + (refused?.size ?? 0)
    const lateBatch = { ...quarantine('refused'), lines: late.lines(), begun: true }
    const [lateNotKept] = await this.#committer.submit(lateBatch)
    if (notKept?.size || lateNotKept?.size)
      throw internal('a rejected entry could not be stored in quarantine')
    if (rejected > 0) arrivals.note(quarantineSource)
    const { count, dropped } = batch
    const accepted = count - dropped - rejected
    return {
      accepted,
      rejected,
      ...(dropped > 0 && { dropped }),
      errors,
      withoutProject: lines.withoutProject,
    }
  }

  /** Stores lines that the service writes itself. Does not wait for an engine that is away: the sender tries again. */
  async append(source: string, lines: Lines, token: string): Promise<void> {
    const { arrivals, disk } = this.#options
    // Admins must be able to sign in and make space.
    if (source !== auditSource) disk.check()
    const stored = arrivals.begin(source)
    await this.#committer.submit({ source, lines, token, begun: true, attempts: 1 }).finally(stored)
  }

  settled(): Promise<void> {
    return this.#committer.settled()
  }
}

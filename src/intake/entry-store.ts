import { setTimeout as delay } from 'node:timers/promises'
import { internal } from '../base/errors.ts'
import type { Arrivals } from '../catalog/arrivals.ts'
import { quarantineSource } from '../catalog/built-in-sources.ts'
import type { Engine } from '../engine/engine.ts'
import { Committer } from './committer.ts'
import { type EntryBatch, writeQuarantineLine } from './entry-batch.ts'
import { LineWriter } from './lines.ts'

export interface IntakeOutcome {
  accepted: number
  rejected: number
  /** The first ones. */
  errors: { index: number; reason: string }[]
  /** Stored entries that no tenant can see. */
  withoutProject: number
}

/** Number of rejected entries that a response lists. */
const maxErrors = 100

interface IntakeObserver {
  stored(report: Omit<IntakeOutcome, 'errors'> & { source: string; bytes: number; ms: number }): void
  refused(code: string): void
}

export interface EntryStoreOptions {
  engine: Engine
  /** Records how far back new entries reach. */
  arrivals: Arrivals
  tail: { publish(source: string, lines: Iterable<Buffer>): void }
  observer?: IntakeObserver
  /** Maximum bytes of bodies held at once, and of lines that wait to be stored. */
  maxPendingBytes: number
  /** How often an insert is sent while the engine is away. */
  attempts: number
}

/** Stores batches: accepted entries in their source, rejected ones in quarantine. */
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
      pause: (ms) => delay(ms),
    })
  }

  get pendingBytes(): number {
    return this.#committer.pendingBytes
  }

  /** Resolves when the whole batch is on disk. With a token, it is stored once however often it is sent. */
  async store(
    batch: EntryBatch,
    { nowMs, owner }: { nowMs: number; owner: string | undefined },
    token?: string,
  ): Promise<IntakeOutcome> {
    const startedAt = performance.now()
    const { source, lines } = batch
    const { arrivals, observer } = this.#options
    const quarantine = (part: string) => ({ source: quarantineSource, token: token && `${token}/${part}` })
    const stored = lines.count > 0 ? arrivals.begin(source, batch.earliestMicros) : undefined
    const [refused, notKept] = await this.#committer
      .submit({ source, lines, token }, { ...quarantine('rejected'), lines: batch.quarantine })
      .finally(stored)
    const errors = firstRejections(batch)
    const late = new LineWriter()
    for (const [line, reason] of refused ?? []) {
      const index = batch.indices[line] as number
      const row = lines.at(line)
      writeQuarantineLine(late, { source, index, reason, owner, nowMs }, row, 0, row.length - 1)
      errors.push({ index, reason })
    }
    errors.sort((one, other) => one.index - other.index).splice(maxErrors)
    const rejected = batch.rejected.length / 2 + (refused?.size ?? 0)
    const lateBatch = { ...quarantine('refused'), lines: late.lines(), begun: true }
    const [lateNotKept] = await this.#committer.submit(lateBatch)
    if (notKept?.size || lateNotKept?.size)
      throw internal('a rejected entry could not be stored in quarantine')
    if (rejected > 0) arrivals.note(quarantineSource, BigInt(nowMs) * 1000n)
    const accepted = batch.count - rejected
    const ms = performance.now() - startedAt
    const { withoutProject } = lines
    observer?.stored({ source, accepted, rejected, withoutProject, bytes: lines.bytes.length, ms })
    return { accepted, rejected, errors, withoutProject }
  }

  settled(): Promise<void> {
    return this.#committer.settled()
  }
}

function firstRejections({ rejected, reasons }: EntryBatch): IntakeOutcome['errors'] {
  const errors: IntakeOutcome['errors'] = []
  for (let at = 0; at < Math.min(rejected.length, 2 * maxErrors); at += 2) {
    errors.push({ index: rejected[at] as number, reason: reasons[rejected[at + 1] as number] as string })
  }
  return errors
}

import { Ledger } from '../../test/support/ledger.ts'
import { sendUntilStopped } from '../../test/support/sender.ts'
import type { Target } from '../support/target.ts'
import { mergeUntilStopped } from './constant-merges.ts'
import { type CountChecks, countUntilStopped, saveCountingEndpoints } from './counting.ts'
import { deploymentFaults, deployUntilStopped, descriptions } from './deployer.ts'

export interface MixedLoadOptions {
  target: Target
  project: string
  /** Half of them send an idempotency key with every batch. */
  senders: number
  deploying: boolean
  /** Whether the engine merges all the time; false by default. */
  merging?: boolean
  /** Whether visible entries must stay visible; true by default. */
  visibleEntriesStay?: boolean
  /** Between the batches of a sender, between counts and between merges; by default or if it is 0, as short as each allows. */
  pauseMs?: number
}

/** Concurrent senders, a deployer, and callers of a cached and an uncached endpoint. */
export class MixedLoad {
  readonly ledger = new Ledger()
  /** Number of responses to senders by status and error code; 0 means no response. */
  readonly statuses = new Map<string, number>()
  /** The last error message by status and code. */
  readonly #messages = new Map<string, string>()
  readonly #options: MixedLoadOptions
  readonly #senders: Promise<unknown>
  readonly #counters: Promise<CountChecks>[]
  readonly #deployer: ReturnType<typeof deployUntilStopped> | undefined
  readonly #merger: Promise<number> | undefined
  #stopped = false

  private constructor(options: MixedLoadOptions) {
    this.#options = options
    const { target, project } = options
    const pauseMs = options.pauseMs || undefined
    const stopped = () => this.#stopped
    const { ledger } = this
    this.#senders = Promise.all(
      Array.from({ length: options.senders }, (_, i) =>
        sendUntilStopped({
          name: `${project}-${i}`,
          keyed: i % 2 === 0,
          project,
          call: target.call,
          stopped,
          ledger,
          pauseMs,
          onStatus: (status, error) => {
            const label = error === undefined ? `${status}` : `${status} ${error.code}`
            if (error !== undefined) this.#messages.set(label, error.message)
            this.statuses.set(label, (this.statuses.get(label) ?? 0) + 1)
          },
        }),
      ),
    )
    this.#counters = [true, false].map((cached) =>
      countUntilStopped({
        target,
        project,
        ledger,
        cached,
        stopped,
        visibleEntriesStay: options.visibleEntriesStay ?? true,
        pauseMs,
      }),
    )
    this.#deployer = options.deploying ? deployUntilStopped({ call: target.call, stopped }) : undefined
    this.#merger = options.merging
      ? mergeUntilStopped({ dataDir: target.dataDir, stopped, pauseMs })
      : undefined
  }

  /** Runs the load until the work ends or stops it. */
  static async during<T>(options: MixedLoadOptions, work: (load: MixedLoad) => Promise<T>): Promise<T> {
    await saveCountingEndpoints(options.target)
    const load = new MixedLoad(options)
    try {
      return await work(load)
    } finally {
      load.#stopped = true
    }
  }

  /** Number of responses to senders with a matching status. */
  countResponses(which: (status: string) => boolean): number {
    return [...this.statuses].reduce((sum, [status, times]) => sum + (which(status) ? times : 0), 0)
  }

  /** Responses to senders that are not allowed, as faults. */
  unexpected(allowed: readonly string[]): string[] {
    return [...this.statuses]
      .filter(([status]) => !allowed.includes(status))
      .map(([status, times]) => `senders got ${status} ${times} times: ${this.#messages.get(status)}`)
  }

  /** Resolves when this many more batches are acknowledged; throws after `withinMs`. */
  async waitForBatches(batches: number, withinMs: number): Promise<void> {
    const wanted = this.ledger.acknowledgedBatches + batches
    await this.waitFor(() => this.ledger.acknowledgedBatches >= wanted, withinMs, 'no batch was acknowledged')
  }

  async waitFor(condition: () => boolean, withinMs: number, complaint: string): Promise<void> {
    const until = performance.now() + withinMs
    while (!condition()) {
      if (performance.now() > until) {
        const statuses = JSON.stringify(Object.fromEntries(this.statuses))
        const output = this.#options.target.output()
        throw new Error(`${complaint} for ${withinMs / 1000} s; responses to senders: ${statuses}; ${output}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  /** Resolves when all senders and callers have finished. */
  async stop(): Promise<{ counts: Record<string, number>; faults: string[] }> {
    this.#stopped = true
    await this.#senders
    const counted = await Promise.all(this.#counters)
    const deployed = await this.#deployer
    const merges = await this.#merger
    const faults = counted.flatMap(({ wrong }) => wrong.slice(0, 5))
    if (deployed) {
      const last = await descriptions(this.#options.target)
      faults.push(...deploymentFaults(deployed.snapshots, last, deployed.acknowledged))
    }
    if (merges === 0) faults.push('nothing was merged')
    const [cached, uncached] = counted as [CountChecks, CountChecks]
    return {
      counts: {
        'batches sent': this.ledger.batches.length,
        'batches acknowledged': this.ledger.acknowledgedBatches,
        'cached responses checked': cached.responses,
        'uncached responses checked': uncached.responses,
        'requests without a response': cached.failed + uncached.failed,
        ...(deployed && { deployments: deployed.acknowledged }),
        ...(merges !== undefined && { merges }),
      },
      faults,
    }
  }
}

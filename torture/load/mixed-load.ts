import { Ledger } from '../../test/support/ledger.ts'
import { sendUntilStopped } from '../../test/support/sender.ts'
import type { Target } from '../support/target.ts'
import { type Counted, countUntilStopped, saveCountingEndpoints } from './counting.ts'
import { deploymentFaults, deployUntilStopped, descriptions } from './deployer.ts'

export interface MixedLoadOptions {
  target: Target
  project: string
  /** Half of them send an idempotency key with every batch. */
  senders: number
  deploying: boolean
  /** Whether visible entries must stay visible; true by default. */
  keepsSeen?: boolean
}

/** Concurrent senders, a deployer, and callers of a cached and an uncached endpoint. */
export class MixedLoad {
  readonly ledger = new Ledger()
  /** Number of responses to senders by status and error code; 0 means no response. */
  readonly statuses = new Map<string, number>()
  /** The last error message by status and code. */
  readonly #words = new Map<string, string>()
  readonly #options: MixedLoadOptions
  readonly #senders: Promise<unknown>
  readonly #counters: Promise<Counted>[]
  readonly #deployer: ReturnType<typeof deployUntilStopped> | undefined
  #stopped = false

  private constructor(options: MixedLoadOptions) {
    this.#options = options
    const { target, project } = options
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
          onStatus: (status, error) => {
            const heard = error === undefined ? `${status}` : `${status} ${error.code}`
            if (error !== undefined) this.#words.set(heard, error.message)
            this.statuses.set(heard, (this.statuses.get(heard) ?? 0) + 1)
          },
        }),
      ),
    )
    this.#counters = [true, false].map((cached) =>
      countUntilStopped({ target, project, ledger, cached, stopped, keepsSeen: options.keepsSeen ?? true }),
    )
    this.#deployer = options.deploying ? deployUntilStopped({ call: target.call, stopped }) : undefined
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
  heard(which: (status: string) => boolean): number {
    return [...this.statuses].reduce((sum, [status, times]) => sum + (which(status) ? times : 0), 0)
  }

  /** Responses to senders that are not allowed, as faults. */
  unexpected(allowed: readonly string[]): string[] {
    return [...this.statuses]
      .filter(([heard]) => !allowed.includes(heard))
      .map(([heard, times]) => `senders got ${heard} ${times} times: ${this.#words.get(heard)}`)
  }

  /** Resolves when this many more batches are acknowledged; throws after `withinMs`. */
  async acknowledgesMore(batches: number, withinMs: number): Promise<void> {
    const wanted = this.ledger.acknowledgedBatches + batches
    await this.happens(() => this.ledger.acknowledgedBatches >= wanted, withinMs, 'no batch was acknowledged')
  }

  async happens(what: () => boolean, withinMs: number, complaint: string): Promise<void> {
    const until = performance.now() + withinMs
    while (!what()) {
      if (performance.now() > until) {
        const heard = JSON.stringify(Object.fromEntries(this.statuses))
        const words = this.#options.target.words()
        throw new Error(`${complaint} for ${withinMs / 1000} s; responses to senders: ${heard}; ${words}`)
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
    const faults = counted.flatMap(({ wrong }) => wrong.slice(0, 5))
    if (deployed) {
      const last = await descriptions(this.#options.target)
      faults.push(...deploymentFaults(deployed.looks, last, deployed.acknowledged))
    }
    const [cached, uncached] = counted as [Counted, Counted]
    return {
      counts: {
        'batches sent': this.ledger.batches.length,
        'batches acknowledged': this.ledger.acknowledgedBatches,
        'cached responses checked': cached.answers,
        'uncached responses checked': uncached.answers,
        'requests without a response': cached.failed + uncached.failed,
        ...(deployed && { deployments: deployed.acknowledged }),
      },
      faults,
    }
  }
}

import { v7 as uuidv7 } from 'uuid'
import type { Clock } from '../base/clock.ts'
import { formatMicros } from '../shared/timestamps.ts'
import type { QuotaEvent } from './quotas.ts'

export type StoreLines = (lines: Buffer, token: string) => Promise<void>

const maxWaiting = 10_000

/** Entries that say that a project used up a part of its day, so that an alert can tell people. */
export class QuotaEvents {
  readonly #clock: Clock
  #store: StoreLines | undefined
  #waiting: { line: Buffer; token: string }[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(store: StoreLines): void {
    this.#store = store
  }

  /** Each has a token: several services, or one that starts again, store it once. */
  add(event: QuotaEvent): void {
    if (this.#waiting.length >= maxWaiting) return
    const { day, project, limit, percent } = event
    const token = JSON.stringify(['quota', day, project, limit, percent])
    this.#waiting.push({ line: this.#lineOf(event), token })
  }

  async flush(): Promise<void> {
    for (let next = this.#waiting[0]; this.#store && next; next = this.#waiting[0]) {
      await this.#store(next.line, next.token)
      this.#waiting.shift()
    }
  }

  #lineOf({ project, ...event }: QuotaEvent): Buffer {
    const nowMs = this.#clock.now()
    const row = {
      project,
      id: uuidv7({ msecs: nowMs }),
      timestamp: formatMicros(BigInt(nowMs) * 1000n),
      event_message: `Project ${project} has used ${event.percent} % of ${event.limit} of its plan ${event.plan}`,
      metadata: { kind: 'quota', ...event },
    }
    return Buffer.from(`${JSON.stringify(row)}\n`)
  }
}

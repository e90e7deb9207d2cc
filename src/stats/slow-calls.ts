import type { Clock } from '../base/clock.ts'
import type { CallPage } from './call-page.ts'
import type { CallRecord, QueryPlan } from './call-record.ts'
import { withoutValues } from './plan-text.ts'

export interface SlowCall {
  at: string
  duration_ms: number
  engine_ms: number
  rows_read: number | null
  status: number
  /** Null for a call that did not fail. */
  code: string | null
  request_id: string
  token_id: string
  version: number
  cache: string
  /** Null where none was taken. */
  plan: QueryPlan | null
}

export interface SlowCallsOptions {
  clock: Clock
  /** Whether the engine has something better to do than to explain itself. */
  busy: () => boolean
  maxEndpoints: number
}

interface Kept {
  call: SlowCall
  atMs: number
}

interface OfEndpoint {
  slow: Kept[]
  failed: Kept[]
  explainedAtMs: number
}

const maxEach = 20
const keptMs = 3_600_000
const explainEveryMs = 60_000
/** A faster call needs no plan to be understood. */
const explainFromMs = 500

/** The slowest calls of the last hour that went to the engine, and the last ones that failed, of each endpoint. */
export class SlowCalls {
  readonly #options: SlowCallsOptions
  readonly #byEndpoint = new Map<string, OfEndpoint>()
  #explaining: Promise<void> | undefined

  constructor(options: SlowCallsOptions) {
    this.#options = options
  }

  take(page: CallPage, toWallMs: (monotonicMs: number) => number): void {
    for (let at = 0; at < page.length; at++) {
      const failed = page.number(at, 'status') >= 400
      // What came from the cache, or went wrong before it came to the engine in a way that says all, costs nothing here.
      if (page.detail(at) === undefined || (!failed && page.number(at, 'engineMs') === 0)) continue
      this.#keep(page.read(at), toWallMs(page.number(at, 'endedAt')), failed)
    }
  }

  /** Those that took longest first. */
  of(endpointId: string): SlowCall[] {
    const known = this.#byEndpoint.get(endpointId)
    if (known === undefined) return []
    this.#forget(known)
    return [...known.slow, ...known.failed]
      .map(({ call }) => call)
      .sort((one, other) => other.duration_ms - one.duration_ms)
  }

  /** Resolves when no plan is being taken. */
  async settled(): Promise<void> {
    await this.#explaining
  }

  #keep(record: CallRecord, atMs: number, failed: boolean): void {
    const { endpointId } = record.subject
    const known = this.#byEndpoint.get(endpointId) ?? {
      slow: [],
      failed: [],
      explainedAtMs: Number.NEGATIVE_INFINITY,
    }
    // The one that was touched last is the last to be forgotten.
    this.#byEndpoint.delete(endpointId)
    this.#byEndpoint.set(endpointId, known)
    const [oldest] = this.#byEndpoint.keys()
    if (this.#byEndpoint.size > this.#options.maxEndpoints && oldest !== undefined) {
      this.#byEndpoint.delete(oldest)
    }
    this.#forget(known)
    const kept = { call: slowCallOf(record, atMs), atMs }
    if (failed) {
      known.failed.push(kept)
      if (known.failed.length > maxEach) known.failed.shift()
    } else {
      known.slow.push(kept)
      known.slow.sort((one, other) => other.call.duration_ms - one.call.duration_ms)
      if (known.slow.length > maxEach && known.slow.pop() === kept) return
    }
    this.#explain(known, kept.call, record)
  }

  #forget(known: OfEndpoint): void {
    const since = this.#options.clock.now() - keptMs
    known.slow = known.slow.filter(({ atMs }) => atMs >= since)
    known.failed = known.failed.filter(({ atMs }) => atMs >= since)
  }

  /** One at a time, and of each endpoint one a minute: a service in trouble must not be asked why all the time. */
  #explain(known: OfEndpoint, call: SlowCall, { detail, status, totalMs }: CallRecord): void {
    const now = this.#options.clock.now()
    const wanted = totalMs >= explainFromMs && (status < 400 || status >= 500)
    if (!wanted || detail?.explain === undefined || this.#explaining || this.#options.busy()) return
    if (now - known.explainedAtMs < explainEveryMs) return
    known.explainedAtMs = now
    this.#explaining = detail
      .explain()
      .then(({ plan, reads }) => {
        call.plan = { plan: withoutValues(plan), reads }
      })
      // Whatever made the call fail may make this fail, too.
      .catch(() => {})
      .finally(() => {
        this.#explaining = undefined
      })
  }
}

function slowCallOf(record: CallRecord, atMs: number): SlowCall {
  return {
    at: new Date(atMs).toISOString(),
    duration_ms: Math.round(record.totalMs * 100) / 100,
    engine_ms: Math.round(record.engineMs * 100) / 100,
    rows_read: record.rowsRead ?? null,
    status: record.status,
    code: record.code === '' ? null : record.code,
    request_id: record.detail?.requestId ?? '',
    token_id: record.subject.tokenId,
    version: record.subject.version,
    cache: record.cache,
    plan: null,
  }
}

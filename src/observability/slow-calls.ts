import type { Clock } from '../base/clock.ts'
import { queryCancelled } from '../base/errors.ts'
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

/** Refused is what the caller did wrong: there may be any number of those, and they must not take the place of the others. */
const kinds = ['slow', 'failed', 'refused'] as const
type Kind = (typeof kinds)[number]

interface OfEndpoint extends Record<Kind, Kept[]> {
  explainedAtMs: number
}

const maxEach = 20
const keptMs = 3_600_000
const explainEveryMs = 60_000
/** A faster call needs no plan to be understood. */
const explainFromMs = 500

/** Of each endpoint the slowest calls of the last hour that went to the engine, and the last that failed or were refused. */
export class SlowCalls {
  readonly #options: SlowCallsOptions
  readonly #byEndpoint = new Map<string, OfEndpoint>()
  #explaining: Promise<void> | undefined

  constructor(options: SlowCallsOptions) {
    this.#options = options
  }

  take(page: CallPage, toWallMs: (monotonicMs: number) => number): void {
    for (let at = 0; at < page.length; at++) {
      const kind = kindOf(page.number(at, 'status'))
      // What came from the cache, or went wrong before it came to the engine in a way that says all, costs nothing here.
      if (page.detail(at) === undefined || (kind === 'slow' && page.number(at, 'engineMs') === 0)) continue
      this.#keep(page.read(at), toWallMs(page.number(at, 'endedAt')), kind)
    }
  }

  /** Those that took longest first. */
  of(endpointId: string): SlowCall[] {
    const known = this.#byEndpoint.get(endpointId)
    if (known === undefined) return []
    this.#forget(known)
    return kinds
      .flatMap((kind) => known[kind])
      .map(({ call }) => call)
      .sort((one, other) => other.duration_ms - one.duration_ms)
  }

  /** Resolves when no plan is being taken. */
  async settled(): Promise<void> {
    await this.#explaining
  }

  #keep(record: CallRecord, atMs: number, kind: Kind): void {
    const { endpointId } = record.subject
    const known = this.#byEndpoint.get(endpointId) ?? {
      slow: [],
      failed: [],
      refused: [],
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
    const alike = known[kind]
    alike.push(kept)
    if (kind === 'slow') {
      alike.sort((one, other) => other.call.duration_ms - one.call.duration_ms)
      if (alike.length > maxEach && alike.pop() === kept) return
    } else if (alike.length > maxEach) alike.shift()
    this.#explain(known, kept.call, record)
  }

  #forget(known: OfEndpoint): void {
    const since = this.#options.clock.now() - keptMs
    for (const kind of kinds) known[kind] = known[kind].filter(({ atMs }) => atMs >= since)
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

/** A caller who left did not wait for what was going on, which says as much as a failure. */
function kindOf(status: number): Kind {
  if (status < 400) return 'slow'
  return status >= 500 || status === queryCancelled.status ? 'failed' : 'refused'
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

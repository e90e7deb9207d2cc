import type { Clock } from '../base/clock.ts'
import { queryCancelled } from '../base/errors.ts'
import type { CallRecord, QueryPlan } from './call-record.ts'

export interface SlowCall {
  at: string
  duration_ms: number
  engine_ms: number
  rows_read: number | null
  status: number
  /** Null for success. */
  code: string | null
  request_id: string
  token_id: string
  version: number
  cache: string
  /** Null if the engine was not asked for one. */
  plan: QueryPlan | null
}

interface SlowCallsOptions {
  clock: Clock
  /** Whether queries wait for the engine, so that it must not be asked for plans. */
  busy: () => boolean
  maxEndpoints: number
}

interface Kept {
  call: SlowCall
  atMs: number
}

/** Refused requests are the caller's mistakes. They can be many, and must not push out the failed ones. */
const kinds = ['slow', 'failed', 'refused'] as const
type Kind = (typeof kinds)[number]

interface EndpointCalls extends Record<Kind, Kept[]> {
  explainedAtMs: number
}

const maxEach = 20
const maxOfAll: Record<Kind, number> = { slow: 25, failed: 15, refused: 10 }
const keptMs = 3_600_000
const explainEveryMs = 60_000
/** A faster request needs no explanation. */
const explainFromMs = 500

/** For each endpoint, the slowest requests of the last hour that reached the engine, and the last that failed or were refused. */
export class SlowCalls {
  readonly #options: SlowCallsOptions
  readonly #byEndpoint = new Map<string, EndpointCalls>()
  #explaining: Promise<void> | undefined

  constructor(options: SlowCallsOptions) {
    this.#options = options
  }

  take(records: readonly CallRecord[], toWallMs: (monotonicMs: number) => number): void {
    for (const record of records) {
      const kind = kindOf(record.status)
      if (record.detail === undefined || (kind === 'slow' && record.engineMs === 0)) continue
      this.#keep(record, toWallMs(record.endedAt), kind)
    }
  }

  /** Slowest first. */
  of(endpointId: string): SlowCall[] {
    const calls = this.#byEndpoint.get(endpointId)
    if (calls === undefined) return []
    this.#expire(calls)
    return kinds
      .flatMap((kind) => calls[kind])
      .sort(bySlowness)
      .map(({ call }) => call)
  }

  /** The slowest of all endpoints, and the last that failed or were refused. Slowest first. */
  all(): { endpointId: string; call: SlowCall }[] {
    for (const calls of this.#byEndpoint.values()) this.#expire(calls)
    const first = (kind: Kind) =>
      [...this.#byEndpoint]
        .flatMap(([endpointId, calls]) => calls[kind].map((kept) => ({ endpointId, ...kept })))
        .sort((one, other) => (kind === 'slow' ? bySlowness(one, other) : other.atMs - one.atMs))
        .slice(0, maxOfAll[kind])
    return kinds
      .flatMap(first)
      .sort(bySlowness)
      .map(({ endpointId, call }) => ({ endpointId, call }))
  }

  /** Resolves when no plan is being read. */
  async settled(): Promise<void> {
    await this.#explaining
  }

  #keep(record: CallRecord, atMs: number, kind: Kind): void {
    const { endpointId } = record.subject
    const calls = this.#byEndpoint.get(endpointId) ?? {
      slow: [],
      failed: [],
      refused: [],
      explainedAtMs: Number.NEGATIVE_INFINITY,
    }
    // Moved to the end: the least recently used endpoint is removed first.
    this.#byEndpoint.delete(endpointId)
    this.#byEndpoint.set(endpointId, calls)
    const [oldest] = this.#byEndpoint.keys()
    if (this.#byEndpoint.size > this.#options.maxEndpoints && oldest !== undefined) {
      this.#byEndpoint.delete(oldest)
    }
    this.#expire(calls)
    const kept = { call: slowCallOf(record, atMs), atMs }
    const sameKind = calls[kind]
    sameKind.push(kept)
    if (kind === 'slow') {
      sameKind.sort(bySlowness)
      if (sameKind.length > maxEach && sameKind.pop() === kept) return
    } else if (sameKind.length > maxEach) sameKind.shift()
    this.#explain(calls, kept.call, record)
  }

  #expire(calls: EndpointCalls): void {
    const since = this.#options.clock.now() - keptMs
    for (const kind of kinds) calls[kind] = calls[kind].filter(({ atMs }) => atMs >= since)
  }

  /** One plan at a time, and one a minute for each endpoint, to spare an engine in trouble. */
  #explain(calls: EndpointCalls, call: SlowCall, { detail, status, totalMs }: CallRecord): void {
    const now = this.#options.clock.now()
    const wanted = totalMs >= explainFromMs && (status < 400 || status >= 500)
    if (!wanted || detail?.explain === undefined || this.#explaining || this.#options.busy()) return
    if (now - calls.explainedAtMs < explainEveryMs) return
    calls.explainedAtMs = now
    this.#explaining = detail
      .explain()
      .then(({ plan, reads }) => {
        call.plan = { plan: withoutValues(plan), reads }
      })
      // The cause of a failed request may make this fail as well.
      .catch(() => {})
      .finally(() => {
        this.#explaining = undefined
      })
  }
}

function bySlowness(one: { call: SlowCall }, other: { call: SlowCall }): number {
  return other.call.duration_ms - one.call.duration_ms
}

/** A caller who left before the response counts as a failure. */
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

/** The drawing of the tree in front of each line. */
const tree = /^[\s│├└─]*/

/** A step, with the table that it reads or its part of the query. */
const step = /^[A-Z]\w*(?: \((?:wellhead\.\w+|[^'"\d]+)\))?$/

/** Properties of a step that hold no value of the query. */
const facts = [
  /^Read type: \w+$/,
  /^Parts: \d+ \| Granules: \d+$/,
  /^(?:Parts|Granules): \d+\/\d+$/,
  /^Ranges: \d+$/,
  /^Type: \w{1,40} \| Strictness: \w{1,40} \| Algorithm: [\w()]+$/,
  /^(?:Indexes|Keys):$/,
  /^Min-Max$/,
  /^Name: \w+$/,
  /^Description: \w+ GRANULARITY \d+$/,
  /^Search Algorithm: [a-z ]+$/,
]

/** A column of a key, or a function of it. */
const keyColumn = /^[a-z_]\w*(?:\([a-z_]\w*\))?$/

/**
 * The engine's plan without expressions, which hold parameter values. Only known kinds of lines are kept, so that a new
 * kind of line cannot leak values.
 */
export function withoutValues(plan: string): string {
  const kept: string[] = []
  let keysAt = Number.POSITIVE_INFINITY
  for (const line of plan.split('\n')) {
    const depth = (tree.exec(line)?.[0] ?? '').length
    const text = line.slice(depth).trimEnd()
    if (depth <= keysAt) keysAt = Number.POSITIVE_INFINITY
    const isKey = depth > keysAt && keyColumn.test(text)
    if (isKey || step.test(text) || facts.some((fact) => fact.test(text))) kept.push(line)
    if (text === 'Keys:') keysAt = depth
  }
  return kept.join('\n')
}

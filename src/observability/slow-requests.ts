import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { queryCancelled } from '../base/errors.ts'
import type { QueryPlan } from '../engine/engine.ts'
import type { RequestRecord } from './request-record.ts'

interface SlowRequestsOptions {
  clock: Clock
  /** Whether queries wait for the engine, so that it must not be asked for plans. */
  busy: () => boolean
  maxEndpoints: number
}

/** Refused requests are the caller's mistakes. They can be many, and must not push out the failed ones. */
const kinds = ['slow', 'failed', 'refused'] as const
type Kind = (typeof kinds)[number]

interface Kept {
  endpointId: string
  kind: Kind
  atMs: number
  call: SlowRequest
}

interface EndpointCalls {
  kept: Kept[]
  explainedAtMs: number
}

export type SlowRequest = ReturnType<typeof slowRequestOf>

const maxEach: Record<Kind, number> = { slow: 20, failed: 20, refused: 20 }
const maxOfAll: Record<Kind, number> = { slow: 25, failed: 15, refused: 10 }
const keptMs = 3_600_000
const explainEveryMs = 60_000
/** A faster request needs no explanation. */
const explainFromMs = 500

/** For each endpoint, the slowest requests of the last hour that reached the engine, and the last that failed or were refused. */
export class SlowRequests {
  readonly #options: SlowRequestsOptions
  readonly #byEndpoint: LRUCache<string, EndpointCalls>
  #explaining: Promise<void> | undefined

  constructor(options: SlowRequestsOptions) {
    this.#options = options
    this.#byEndpoint = new LRUCache({ max: options.maxEndpoints })
  }

  take(records: readonly RequestRecord[], toWallMs: (monotonicMs: number) => number): void {
    const changed = new Set<EndpointCalls>()
    const explain = new Map<Kept, () => Promise<QueryPlan>>()
    for (const record of records) {
      const { detail, status, totalMs, subject } = record
      const kind = kindOf(status)
      if (detail === undefined || (kind === 'slow' && record.engineMs === 0)) continue
      const { endpointId } = subject
      const calls = this.#byEndpoint.get(endpointId) ?? { kept: [], explainedAtMs: -Infinity }
      const atMs = toWallMs(record.endedAt)
      const kept = { endpointId, kind, atMs, call: slowRequestOf(record, atMs) }
      calls.kept.push(kept)
      changed.add(calls)
      this.#byEndpoint.set(endpointId, calls)
      // A request that failed may have reached a limit, and explaining it could do so again.
      if (kind === 'slow' && totalMs >= explainFromMs && detail.explain) explain.set(kept, detail.explain)
    }
    for (const calls of changed) {
      calls.kept = this.#first(calls.kept, maxEach)
      const slowest = calls.kept.find((kept) => explain.has(kept))
      if (slowest) this.#explain(calls, slowest.call, explain.get(slowest) as () => Promise<QueryPlan>)
    }
  }

  of(endpointId: string): SlowRequest[] {
    return this.#first(this.#byEndpoint.get(endpointId)?.kept ?? [], maxEach).map(({ call }) => call)
  }

  all(): { endpointId: string; call: SlowRequest }[] {
    return this.#first(
      [...this.#byEndpoint.values()].flatMap(({ kept }) => kept),
      maxOfAll,
    )
  }

  async settled(): Promise<void> {
    await this.#explaining
  }

  #first(all: readonly Kept[], max: Record<Kind, number>): Kept[] {
    const since = this.#options.clock.now() - keptMs
    // Reversed, so that the last of several at the same time comes first.
    const recent = all.filter(({ atMs }) => atMs >= since).reverse()
    return kinds
      .flatMap((kind) =>
        recent
          .filter((kept) => kept.kind === kind)
          .sort(kind === 'slow' ? bySlowness : (one, other) => other.atMs - one.atMs)
          .slice(0, max[kind]),
      )
      .sort(bySlowness)
  }

  /** One plan at a time, and one a minute for each endpoint, to spare an engine in trouble. */
  #explain(calls: EndpointCalls, call: SlowRequest, explain: () => Promise<QueryPlan>): void {
    const now = this.#options.clock.now()
    if (this.#explaining || this.#options.busy() || now - calls.explainedAtMs < explainEveryMs) return
    calls.explainedAtMs = now
    this.#explaining = explain()
      .then(({ plan, reads }) => {
        call.plan = { plan: withoutValues(plan), reads }
      })
      // The engine may be unavailable by now.
      .catch(() => {})
      .finally(() => {
        this.#explaining = undefined
      })
  }
}

function bySlowness(one: Kept, other: Kept): number {
  return other.call.duration_ms - one.call.duration_ms
}

/** A caller who left before the response counts as a failure. */
function kindOf(status: number): Kind {
  if (status < 400) return 'slow'
  return status >= 500 || status === queryCancelled.status ? 'failed' : 'refused'
}

function slowRequestOf({ subject, detail, ...record }: RequestRecord, atMs: number) {
  return {
    at: new Date(atMs).toISOString(),
    duration_ms: Math.round(record.totalMs * 100) / 100,
    engine_ms: Math.round(record.engineMs * 100) / 100,
    rows_read: record.rowsRead ?? null,
    status: record.status,
    code: record.code === '' ? null : record.code,
    request_id: detail?.requestId ?? '',
    token_id: subject.tokenId,
    version: subject.version,
    cache: record.cache as string,
    /** Null if the engine was not asked for one. */
    plan: null as QueryPlan | null,
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

const keyColumn = /^[a-z_]\w*(?:\([a-z_]\w*\))?$/

/** Keeps only known kinds of lines, so that a new kind cannot leak parameter values. */
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

import type { Clock } from '../../base/clock.ts'
import type { Compute } from '../../cache/cache-request.ts'
import type { Arrivals } from '../../catalog/arrivals.ts'
import { type Blame, callerBlame, type QueryPlan } from '../../engine/engine.ts'
import { callerSqlSettings } from '../../sql/isolation.ts'
import type { BoundCall, EndpointRunner, Part, RunResult } from './endpoint-runner.ts'
import { IncrementalRefresh, spanOf } from './incremental-refresh.ts'
import type { PreparedCall } from './prepared-call.ts'
import type { Sandboxes } from './sandboxes.ts'

export interface ComputationParts {
  runner: EndpointRunner
  sandboxes: Sandboxes
  clock: Clock
  /** Undefined if other services write to the same engine: then not all arrivals are known. */
  arrivals: Arrivals | undefined
}

type Requester = Pick<BoundCall, 'caller' | 'signal' | 'purpose' | 'engineTime' | 'trace' | 'blame'>

/** Refreshes share one line in the queue of queries, and so do runs for those who follow a result. */
export const refresher = { caller: 'wellhead:warming', purpose: 'refresh' } as const
export const follower = { caller: 'wellhead:following', purpose: 'follow' } as const

/** Computes the result of a prepared call: the whole of it, or only what changed since the last run. */
export class Computation {
  readonly #call: PreparedCall
  readonly #parts: ComputationParts
  readonly #refresh: IncrementalRefresh | undefined

  constructor(call: PreparedCall, parts: ComputationParts) {
    this.#call = call
    this.#parts = parts
    this.#refresh = refreshOf(call, parts)
  }

  /** What the cache calls on a miss and for each refresh. */
  forCache({ caller, purpose, engineTime }: Requester): Compute {
    return async ({ purpose: reason, signal, previous, trace }) => {
      const requester = reason === 'refresh' ? refresher : { caller, purpose, engineTime }
      const run = (part?: Part) => this.run({ ...requester, signal, trace }, part)
      const result = await (this.#refresh ? this.#refresh.run(previous, run) : run())
      return { ...result, contentType: this.#call.format.contentType }
    }
  }

  run(requester: Requester, part?: Part): Promise<RunResult> {
    return this.#parts.runner.run(this.#bind(requester), part)
  }

  explain(requester: Requester): Promise<QueryPlan> {
    return this.#parts.runner.explain(this.#bind(requester))
  }

  #bind({ caller, signal, purpose, engineTime, trace, ...own }: Requester): BoundCall {
    const { endpoint, values, sql, format, project } = this.#call
    const blame = own.blame ?? blameFor(this.#call, caller)
    const bound = { endpoint, values, format, project, caller, signal, purpose, engineTime, trace, blame }
    if (sql === undefined) return bound
    const compile = () => this.#parts.sandboxes.compile(endpoint, sql, blame)
    return { ...bound, compile, settings: callerSqlSettings }
  }
}

function refreshOf({ endpoint, values, format }: PreparedCall, { clock, arrivals }: ComputationParts) {
  const { incremental, max_rows: maxRows } = endpoint.definition
  if (!arrivals || !incremental || format.id !== 'json') return undefined
  const span = spanOf(incremental, values[incremental.by ?? ''])
  if (!span) return undefined
  const { column, whole_buckets: wholeBuckets } = incremental
  const sources = [...endpoint.compiled.possibleSources]
  return new IncrementalRefresh({ clock, arrivals, sources, column, span, wholeBuckets, maxRows })
}

type BlamedCall = Pick<PreparedCall, 'sql' | 'project'> & { endpoint: { definition: { id: string } } }

/** Engine crashes tolerated a day: of a caller's SQL, of a sandbox endpoint, and of a saved query. */
const tolerated = { callerSql: 1, sandbox: 20, saved: 3 }

/** Who is refused for a while after a crash. No token alone can close a sandbox for the others. */
export function blameFor({ endpoint, sql, project }: BlamedCall, caller: string): readonly Blame[] {
  const { id } = endpoint.definition
  if (sql === undefined) return callerBlame(caller, project, ` endpoint:${id}`, tolerated.saved)
  const sandbox = { key: `sandbox:${id}`, crashes: tolerated.sandbox }
  if (caller === refresher.caller || caller === follower.caller) return [sandbox]
  return [...callerBlame(caller, project, '', tolerated.callerSql), sandbox]
}

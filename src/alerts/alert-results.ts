import { endpointNotFound, WellheadError } from '../base/errors.ts'
import type { EndpointCalls } from '../endpoints/call/endpoint-calls.ts'
import type { EngineTime } from '../endpoints/call/engine-time.ts'
import { findFormat, type OutputFormat } from '../endpoints/call/output-formats.ts'
import type { Endpoints } from '../endpoints/manage/endpoints.ts'
import type { SavedAlert } from './alert.ts'
import type { Outcome } from './alert-state.ts'
import { type Decision, decide, MissingColumn, type Row } from './condition.ts'

const format = findFormat('json') as OutputFormat

const pastPoints = 48
const dayMs = 86_400_000
const pastWithinMs = 10_000

/** Reads results of endpoints for alerts. */
export class AlertResults {
  readonly #endpoints: Endpoints
  readonly #calls: EndpointCalls

  constructor(endpoints: Endpoints, calls: EndpointCalls) {
    this.#endpoints = endpoints
    this.#calls = calls
  }

  /** From the cache, unless that is older than the given age; without one, it is computed anew. */
  async read(alert: SavedAlert, signal: AbortSignal, maxAgeSeconds?: number, engineTime?: EngineTime) {
    const directives = maxAgeSeconds === undefined ? { noCache: true } : { maxAgeSeconds }
    const response = await this.#calls.call({ ...this.#callOf(alert), signal, engineTime, directives })
    return rowsOf(response.kind === 'cached' ? response.answer.result : response.answer)
  }

  /**
   * What the condition would have decided in the last day, oldest first. Null if the query does not depend on `@now`, so that
   * it has no past. Ends early if the engine is busy.
   */
  async past(alert: SavedAlert, endMs: number, signal: AbortSignal) {
    const call = {
      ...this.#callOf(alert),
      signal: AbortSignal.any([signal, AbortSignal.timeout(pastWithinMs)]),
    }
    if (!call.endpoint.compiled.sql.includes('{now:')) return null
    const decisions: (Decision & { at: string })[] = []
    // From now back, so that a busy engine leaves out what is long ago.
    for (let point = 0; point < pastPoints && !call.signal.aborted; point++) {
      const atMs = endMs - (point * dayMs) / pastPoints
      const nowMicros = BigInt(Math.floor(atMs)) * 1000n
      try {
        const result = await this.#calls.runAt(call, { nowMicros, range: { beforeMicros: nowMicros } })
        decisions.unshift({ at: new Date(atMs).toISOString(), ...decide(alert.condition, rowsOf(result)) })
      } catch (error) {
        if (!call.signal.aborted) throw error
      }
    }
    signal.throwIfAborted()
    return decisions
  }

  #callOf({ definition: { endpoint: reference, parameters } }: SavedAlert) {
    const endpoint = this.#endpoints.find(reference)
    if (!endpoint) throw endpointNotFound(reference)
    const requester = { project: undefined, caller: 'wellhead:alerts', purpose: 'alert' } as const
    return { endpoint, parameters, format, ...requester }
  }
}

function rowsOf({ body }: { body: Buffer }): Row[] {
  return (JSON.parse(body.toString()) as { result: Row[] }).result
}

/** Decides by rows, or by the error that reading them ended with. */
export function outcomeOf({ condition }: SavedAlert, result: readonly Row[] | Error): Outcome {
  try {
    if (result instanceof Error) throw result
    return decide(condition, result)
  } catch (error) {
    const isShown = error instanceof WellheadError || error instanceof MissingColumn
    return { error: isShown ? error.message : 'Internal error.' }
  }
}

import { withDeadline } from '../../core/base/clock.ts'
import { endpointNotFound, WellheadError } from '../../core/base/errors.ts'
import type { EngineTime } from '../../core/endpoints/call/call.ts'
import { callOf } from '../../core/endpoints/call/call.ts'
import { findFormat, type OutputFormat } from '../../core/endpoints/call/output-formats.ts'
import { queryOf } from '../../core/sql/query.ts'
import { reservedName } from '../../shared/sql-tokens.ts'
import type { SavedAlert } from './alert.ts'
import { evaluateGroups } from './alert-groups.ts'
import type { AlertParts } from './alert-parts.ts'
import type { Outcome } from './alert-state.ts'
import { type Decision, decide, ResultRows, type Row } from './condition.ts'

const pastPoints = 48
const dayMs = 86_400_000
const pastWithinMs = 10_000

/** Reads the result from the cache, unless that is older than the given age; without one, it is computed anew. */
export async function readResult(
  parts: AlertParts,
  alert: SavedAlert,
  signal: AbortSignal,
  maxAgeSeconds?: number,
  engineTime?: EngineTime,
): Promise<ResultRows> {
  const directives = maxAgeSeconds === undefined ? { noCache: true } : { maxAgeSeconds }
  const { result } = await parts.calls.call(
    callOf({ ...requestOf(parts, alert), signal, engineTime, directives }),
  )
  return rowsOf(result)
}

/**
 * What the condition would have decided in the last day, oldest first. Null if the query does not depend on `@now`, so that
 * it has no past. Ends early if the engine is busy.
 */
export async function pastDecisions(parts: AlertParts, alert: SavedAlert, gone: AbortSignal) {
  const request = requestOf(parts, alert)
  if (!queryOf(request.endpoint.definition.query).parameters.has(reservedName)) return null
  const decisions: (Decision & { at: string })[] = []
  const decideAll = async (signal: AbortSignal) => {
    // From now back, so that a busy engine leaves out what is long ago.
    for (let point = 0; point < pastPoints && !signal.aborted; point++) {
      const atMs = parts.time.wall.now() - (point * dayMs) / pastPoints
      const nowMicros = BigInt(Math.floor(atMs)) * 1000n
      try {
        const call = callOf({ ...request, signal, nowMicros, range: { beforeMicros: nowMicros } })
        const result = rowsOf(await parts.calls.run(call))
        decisions.unshift({ at: new Date(atMs).toISOString(), ...decideAny(parts, alert, result) })
      } catch (error) {
        if (!signal.aborted || gone.aborted) throw error
      }
    }
  }
  await withDeadline(pastWithinMs, gone, decideAll, parts.time)
  return decisions
}

function requestOf(
  { endpoints, calls }: AlertParts,
  { definition: { endpoint: reference, parameters } }: SavedAlert,
) {
  const endpoint = endpoints.find(reference)
  if (!endpoint) throw endpointNotFound(reference)
  const format = findFormat('json') as OutputFormat
  // On behalf of a project, an alert sees no more than the project itself.
  const retentionDays = calls.retentionOf(parameters.project)
  const requester = {
    project: undefined,
    retentionDays,
    caller: 'wellhead:alerts',
    purpose: 'own',
    metricLabel: 'alert',
  } as const
  return { endpoint, parameters, format, ...requester }
}

function rowsOf({ body }: { body: Buffer }): ResultRows {
  return new ResultRows((JSON.parse(body.toString()) as { result: Row[] }).result)
}

/** Decides by rows, or by the error that reading them ended with. */
export function outcomeOf({ condition }: SavedAlert, result: ResultRows | Error): Outcome {
  return outcomeBy(result, (rows) => decide(condition, rows))
}

export function outcomeBy<T>(
  result: ResultRows | Error,
  decided: (rows: ResultRows) => T,
): T | { error: string } {
  try {
    if (result instanceof Error) throw result
    return decided(result)
  } catch (error) {
    return { error: error instanceof WellheadError ? error.message : 'Internal error.' }
  }
}

/** Of an alert by group: whether any group meets the condition, and how many do. */
function decideAny(parts: AlertParts, alert: SavedAlert, result: ResultRows): Decision {
  if (alert.definition.by.length === 0) return decide(alert.condition, result)
  const { groups } = evaluateGroups(alert, [], result, parts.time.now())
  const value = groups.filter(({ heldMs }) => heldMs !== null).length
  return { met: value > 0, value }
}

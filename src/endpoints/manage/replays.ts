import { z } from 'zod'
import { type Timers, withDeadline } from '../../base/clock.ts'
import { invalidParameter, WellheadError } from '../../base/errors.ts'
import { readShape } from '../../base/validation.ts'
import type { ResultCache } from '../../cache/result-cache.ts'
import type { WarmKey } from '../../cache/warm-keys-file.ts'
import type { Engine } from '../../engine/engine.ts'
import { errorInTypedText } from '../../sql/errors.ts'
import type { EndpointRunner } from '../call/endpoint-runner.ts'
import { EngineTime } from '../call/engine-time.ts'
import { findFormat, type OutputFormat, outputFormats } from '../call/output-formats.ts'
import { isCurrent, prepareCall, recipeShape, refuseUnknown } from '../call/prepared-call.ts'
import { QueryQueue } from '../call/query-queue.ts'
import { parseDefinition } from '../definition/definition.ts'
import { compileEndpoint, type Endpoint, type KnownSources } from '../definition/endpoint.ts'
import { must, trueOrFalse } from '../definition/parameter-declaration.ts'
import { endpointFields } from './endpoint-kind.ts'
import type { Endpoints } from './endpoints.ts'
import { type RecentRequest, type ReplayedRequest, type Run, replayedRequest } from './replayed-request.ts'
import { isSame, rowDifference } from './row-difference.ts'

interface ReplaysOptions {
  engine: Engine
  runner: EndpointRunner
  cache: Pick<ResultCache, 'keysOf'>
  endpoints: Endpoints
  sources: () => KnownSources
  time: Timers
  /** Requests that are left when this time is over are skipped. */
  withinMs: number
}

export const replayShape = z.strictObject({
  endpoint: z.record(z.string(), z.unknown(), must('an object with fields of the endpoint')),
  show_values: trueOrFalse
    .default(false)
    .describe('Whether the response includes parameters, projects, some rows, and whole messages.'),
})

export type Replay = Awaited<ReturnType<Replays['replay']>>

const maxRequests = 50
const maxWaitingReplays = 20

/** The order of columns does not matter, because every format names them. */
const comparable: OutputFormat = {
  ...(outputFormats.find(({ name }) => name === 'ndjson') as OutputFormat),
  sortedColumns: true,
}

/** All replays share one line in the queue of queries. */
const replayer = { caller: 'wellhead:replay', purpose: 'replay' } as const

interface Terms {
  signal: AbortSignal
  nowMicros: bigint
}

/** Runs recent requests of an endpoint against its current version and a new one. Nothing is saved, cached or counted. */
export class Replays {
  readonly #options: ReplaysOptions
  /** One replay at a time, so that replays take at most one of the engine's places. */
  readonly #turns: QueryQueue

  constructor(options: ReplaysOptions) {
    const { time, withinMs } = options
    this.#options = options
    const maxMs = maxWaitingReplays * withinMs
    this.#turns = new QueryQueue({
      maxRunning: 1,
      maxWaitingPerCaller: maxWaitingReplays,
      maxWaiting: maxWaitingReplays,
      maxWaitMs: maxMs,
      maxBackgroundWaitMs: maxMs,
      time,
    })
  }

  /** Errors have their position in the SQL as it was typed. */
  async replay(reference: string, body: unknown, caller: string, gone: AbortSignal) {
    const { endpoints, time, withinMs } = this.#options
    endpoints.get(reference)
    const sent = readShape(replayShape, body)
    const fields = endpointFields(sent.endpoint)
    return this.#turns.run({ caller, signal: gone, background: true }, async () => {
      const current = endpoints.get(reference)
      const next = await this.#compile(current, fields, gone)
      const now = time.wall.now()
      const nowMicros = BigInt(now) * 1000n
      const replayed = await withDeadline(
        withinMs,
        gone,
        (signal) => this.#replayAll(current, next, sent.show_values, gone, { nowMicros, signal }),
        time,
      )
      const { definition, version } = current
      return { endpoint: definition.name, version, at: new Date(now).toISOString(), ...replayed }
    })
  }

  async #compile(current: Endpoint, fields: Record<string, unknown>, signal: AbortSignal): Promise<Endpoint> {
    const { engine, runner, sources } = this.#options
    const { id } = current.definition
    if (fields.id !== undefined && String(fields.id).toLowerCase() !== id) {
      throw invalidParameter('id', 'The id of an endpoint cannot be changed.')
    }
    const definition = parseDefinition({ ...current.definition, ...fields, id })
    const compile = () => compileEndpoint(engine, definition, current.version + 1, sources())
    return runner.inTurn({ ...replayer, signal }, compile).catch((error) => {
      throw errorInTypedText(error, String(fields.query ?? definition.query))
    })
  }

  async #replayAll(current: Endpoint, next: Endpoint, showValues: boolean, gone: AbortSignal, terms: Terms) {
    const recent = recentRequests(current, this.#options.cache.keysOf(current.definition.id))
    const requests: ReplayedRequest[] = []
    try {
      // The first run after a pause is slower than others, which must not count against the current version.
      if (recent[0]) await this.#run(current, recent[0], terms)
      for (const request of recent) {
        const { runs, ...outcome } = await this.#compare(current, next, request, terms)
        requests.push(replayedRequest(request, runs, outcome, showValues))
      }
    } catch (error) {
      if (gone.aborted || !terms.signal.aborted) throw error
    }
    return { requests, skipped: recent.length - requests.length }
  }

  /** A difference counts only if the current version, run once more, still returns what it did. */
  async #compare(current: Endpoint, next: Endpoint, request: RecentRequest, terms: Terms) {
    const before = await this.#run(current, request, terms)
    const after = await this.#run(next, request, terms)
    const runs = { before, after }
    const difference = await differenceOf(before, after)
    if (!difference || isSame(difference)) return { runs, difference, unstable: false }
    const again = await this.#run(current, request, terms)
    const own = await differenceOf(before, again)
    if (own && isSame(own)) return { runs, difference, unstable: false }
    // Entries may have arrived between the first two runs.
    const later = await differenceOf(again, after)
    if (later && isSame(later)) return { runs: { before: again, after }, difference: later, unstable: false }
    return { runs, difference, unstable: true }
  }

  async #run(endpoint: Endpoint, request: RecentRequest, { signal, nowMicros }: Terms): Promise<Run> {
    const { parameters, project } = request
    const engineTime = new EngineTime()
    // The endpoint is refused no request if a version that nobody uses crashes the engine.
    const blame = [{ key: `replay:${endpoint.definition.id}`, crashes: 1 }]
    try {
      // The token adds the project, not the caller.
      const added = project === undefined ? [] : ['project']
      if (endpoint.definition.strict) refuseUnknown(endpoint, parameters, ...added)
      const requester = { ...replayer, signal, engineTime }
      const call = prepareCall({ endpoint, parameters, project, format: comparable, ...requester })
      // Entries that arrive between the runs must not make them differ.
      const part = { nowMicros, range: { beforeMicros: nowMicros + 1n } }
      const result = await this.#options.runner.run({ ...call, blame }, part)
      const { body, rows, engineMs, rowsRead } = result
      return { body, rows, engineMs, rowsRead, error: undefined }
    } catch (error) {
      if (signal.aborted || !(error instanceof WellheadError)) throw error
      return { body: undefined, rows: 0, engineMs: engineTime.ms, rowsRead: undefined, error }
    }
  }
}

/** The most frequent requests of this version, or of one with the same results. Requests that differ only in their format are one. */
function recentRequests(endpoint: Endpoint, keys: readonly WarmKey[]): RecentRequest[] {
  const requests = new Map<string, RecentRequest>()
  for (const { recipe, uses } of keys) {
    const { data } = recipeShape.safeParse(recipe)
    const format = data && isCurrent(data, endpoint) ? findFormat(data.format)?.name : undefined
    if (data === undefined || format === undefined) continue
    const { parameters, project } = data
    const name = JSON.stringify([project, parameters])
    const same = requests.get(name) ?? { parameters, project, format, uses: 0 }
    requests.set(name, { ...same, uses: same.uses + uses })
  }
  return [...requests.values()].sort((one, other) => other.uses - one.uses).slice(0, maxRequests)
}

async function differenceOf(one: Run, other: Run) {
  return one.body && other.body && rowDifference(one.body, other.body)
}

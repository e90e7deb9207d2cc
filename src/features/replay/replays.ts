import { z } from 'zod'
import { type Timers, withDeadline } from '../../core/base/clock.ts'
import { invalidParameter, invalidQuery, WellheadError } from '../../core/base/errors.ts'
import { must, readShape, trueOrFalse } from '../../core/base/validation.ts'
import type { Result } from '../../core/cache/result.ts'
import type { ResultCache } from '../../core/cache/result-cache.ts'
import { refuseAudit } from '../../core/definitions/visibility.ts'
import {
  type Call,
  callOf,
  EngineTime,
  recipeShape,
  refuseUnknown,
  resultTag,
} from '../../core/endpoints/call/call.ts'
import type { EndpointRunner } from '../../core/endpoints/call/endpoint-runner.ts'
import { findFormat, type OutputFormat } from '../../core/endpoints/call/output-formats.ts'
import { QueryQueue } from '../../core/endpoints/call/query-queue.ts'
import { parseDefinition } from '../../core/endpoints/definition/definition.ts'
import {
  compileEndpoint,
  type Endpoint,
  type KnownSources,
} from '../../core/endpoints/definition/endpoint.ts'
import type { DraftAuthor } from '../../core/endpoints/manage/endpoint-drafts.ts'
import { endpointFields } from '../../core/endpoints/manage/endpoint-kind.ts'
import type { SavedEndpoint } from '../../core/endpoints/manage/endpoints.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { errorInTypedText } from '../../core/sql/errors.ts'
import type { Replay, ReplayedRequest, RunFigures } from '../../shared/replayed-requests.ts'
import { isSame, type RowDifference, rowDifference } from './row-difference.ts'

interface ReplaysOptions {
  engine: Engine
  runner: EndpointRunner
  cache: Pick<ResultCache<Call>, 'keysOf'>
  sources: () => KnownSources
  retentionOf: (project: string | undefined) => number | undefined
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

const maxRequests = 50
const maxWaiting = 20

/** The order of columns does not matter, because every format names them. */
const comparable: OutputFormat = {
  ...(findFormat('ndjson') as OutputFormat),
  id: 'ndjson-sorted',
  sortedColumns: true,
}

/** All replays share one line in the queue of queries. */
const replayer = { caller: 'wellhead:replay', purpose: 'own', metricLabel: 'replay' } as const

interface RecentRequest {
  parameters: Readonly<Record<string, string>>
  project: string | undefined
  format: string
  uses: number
}

/** It has a result or an error. */
interface Run {
  result?: Result
  error?: WellheadError
  engineMs: number
}

interface Comparison {
  before: Run
  after: Run
  /** Undefined if one of the runs failed. */
  difference: RowDifference | undefined
  unstable: boolean
}

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
    const longestMs = maxWaiting * withinMs
    this.#turns = new QueryQueue({
      maxRunning: 1,
      maxWaiting,
      maxWaitingPerCaller: maxWaiting,
      time,
      maxWaitMs: longestMs,
      maxBackgroundWaitMs: longestMs,
    })
  }

  /** Finds the endpoint again when its turn comes. Errors have their position in the SQL as it was typed. */
  async replay(
    find: () => SavedEndpoint,
    body: unknown,
    by: DraftAuthor,
    gone: AbortSignal,
  ): Promise<Replay> {
    const { time, withinMs } = this.#options
    find()
    const sent = readShape(replayShape, body)
    const fields = endpointFields(sent.endpoint)
    // The rows of both versions are compared.
    refuseAudit(by, fields)
    return this.#turns.run({ caller: by.id, signal: gone, background: true }, async () => {
      const current = find()
      const next = await this.#compile(current, fields, gone)
      const now = time.wall.now()
      const replayAll = (signal: AbortSignal) =>
        this.#replayAll(current, next, sent.show_values, gone, { nowMicros: BigInt(now) * 1000n, signal })
      const replayed = await withDeadline(withinMs, gone, replayAll, time)
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
    const recent = this.#recentRequests(current)
    const requests: ReplayedRequest[] = []
    try {
      // The first run after a pause is slower than others, which must not count against the current version.
      if (recent[0]) await this.#run(current, recent[0], terms)
      for (const request of recent) {
        requests.push(
          replayedRequest(request, await this.#compare(current, next, request, terms), showValues),
        )
      }
    } catch (error) {
      if (gone.aborted || !terms.signal.aborted) throw error
    }
    return { requests, skipped: recent.length - requests.length }
  }

  /** The most frequent requests of versions with the same results. Requests that differ only in their format are one. */
  #recentRequests(endpoint: Endpoint): RecentRequest[] {
    const requests = new Map<string, RecentRequest>()
    for (const { recipe, uses } of this.#options.cache.keysOf(endpoint.definition.id)) {
      const { data } = recipeShape.safeParse(recipe)
      const format = data && findFormat(data.format)?.name
      if (data?.tag !== resultTag(endpoint) || format === undefined) continue
      const { parameters, project } = data
      const name = JSON.stringify([project, parameters])
      const same = requests.get(name) ?? { parameters, project, format, uses: 0 }
      requests.set(name, { ...same, uses: same.uses + uses })
    }
    return [...requests.values()].sort((one, other) => other.uses - one.uses).slice(0, maxRequests)
  }

  /** A difference counts only if the current version, run once more, still returns what it did. */
  async #compare(
    current: Endpoint,
    next: Endpoint,
    request: RecentRequest,
    terms: Terms,
  ): Promise<Comparison> {
    const before = await this.#run(current, request, terms)
    const after = await this.#run(next, request, terms)
    const difference = await differenceOf(before, after)
    if (!difference || isSame(difference)) return { before, after, difference, unstable: false }
    const again = await this.#run(current, request, terms)
    const own = await differenceOf(before, again)
    if (own && isSame(own)) return { before, after, difference, unstable: false }
    // Entries may have arrived between the first two runs.
    const later = await differenceOf(again, after)
    if (later && isSame(later)) return { before: again, after, difference: later, unstable: false }
    return { before, after, difference, unstable: true }
  }

  async #run(endpoint: Endpoint, request: RecentRequest, { signal, nowMicros }: Terms): Promise<Run> {
    const { parameters, project } = request
    const engineTime = new EngineTime()
    try {
      // The token adds the project, not the caller.
      const added = project === undefined ? [] : ['project']
      if (endpoint.definition.strict) refuseUnknown(endpoint, parameters, ...added)
      // Entries that arrive between the runs must not make them differ.
      const at = { nowMicros, range: { beforeMicros: nowMicros + 1n } }
      // An endpoint is refused no request if a version that nobody uses crashes the engine.
      const blame = [{ key: `replay:${endpoint.definition.id}`, crashes: 1 }]
      const requester = { ...replayer, blame, signal, engineTime }
      const retentionDays = this.#options.retentionOf(project)
      const from = { project, retentionDays, ...requester }
      const call = callOf({ endpoint, parameters, format: comparable, ...from, ...at })
      const result = await this.#options.runner.run(call)
      return { result, engineMs: engineTime.ms }
    } catch (error) {
      if (signal.aborted || !(error instanceof WellheadError)) throw error
      return { error, engineMs: engineTime.ms }
    }
  }
}

async function differenceOf(one: Run, other: Run): Promise<RowDifference | undefined> {
  return one.result && other.result && rowDifference(one.result.body, other.result.body)
}

/** What a replay reports about a request. Values of callers and entries are part of it only if they are requested. */
function replayedRequest(
  { uses, project, format, parameters }: RecentRequest,
  comparison: Comparison,
  showValues: boolean,
): ReplayedRequest {
  const { before, after, difference, unstable } = comparison
  return {
    // Each refresh halves the number.
    uses: Math.max(1, Math.round(uses)),
    tenant: project !== undefined,
    format,
    outcome: outcomeOf(comparison),
    before: figuresOf(before, showValues),
    after: figuresOf(after, showValues),
    added_rows: difference?.added ?? 0,
    removed_rows: difference?.removed ?? 0,
    reordered: difference?.reordered ?? false,
    unstable,
    ...(showValues && {
      parameters: Object.fromEntries(Object.entries(parameters).map(([name, text]) => [name, short(text)])),
      project: project ?? null,
      examples: (difference?.examples ?? []).map(({ before, after }) => ({
        before: shownRow(before),
        after: shownRow(after),
      })),
    }),
  }
}

function outcomeOf({ before, after, difference, unstable }: Comparison): ReplayedRequest['outcome'] {
  if (difference) {
    // If the order varies between runs of the same version, nobody can rely on it.
    return isSame(unstable ? { ...difference, reordered: false } : difference) ? 'same' : 'different'
  }
  if (!after.error) return 'different'
  return before.error?.code === after.error.code ? 'same' : 'failed'
}

function figuresOf({ result, error, engineMs }: Run, showValues: boolean): RunFigures {
  return {
    rows: result?.rows ?? null,
    duration_ms: Math.round(engineMs * 10) / 10,
    rows_read: result?.rowsRead ?? null,
    error: error ? { code: error.code, message: showValues ? error.message : withoutValues(error) } : null,
  }
}

/** Messages about parameters quote what was sent, and those of the engine can quote entries. */
function withoutValues({ code, message, details: { parameter, allowed } }: WellheadError): string {
  if (code === invalidQuery.code) return 'The query fails. Set show_values to true to see why.'
  return code === invalidParameter.code && !allowed ? `Parameter "${parameter}" is not accepted.` : message
}

const maxLength = 1000

function short(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}

function shownRow(line: string | null): Record<string, unknown> | null {
  if (line === null) return null
  const members = Object.entries(JSON.parse(line) as Record<string, unknown>).map(([name, value]) => {
    const text = JSON.stringify(value)
    return [name, text.length > maxLength ? short(text) : value]
  })
  return Object.fromEntries(members)
}

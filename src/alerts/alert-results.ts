import { endpointNotFound, WellheadError } from '../base/errors.ts'
import type { EndpointCalls } from '../endpoints/call/endpoint-calls.ts'
import type { EngineTime } from '../endpoints/call/engine-time.ts'
import { findFormat, type OutputFormat } from '../endpoints/call/output-formats.ts'
import type { Endpoints, SavedEndpoint } from '../endpoints/manage/endpoints.ts'
import { type Decision, decide, type Row } from './condition.ts'
import type { SavedAlert } from './saved-alerts.ts'

const format = findFormat('json') as OutputFormat

/** A result that alerts are decided by. Its rows are parsed when they are first needed. */
export interface AlertResult {
  count: number
  rows: () => readonly Row[]
}

export interface ReadOptions {
  /** Undefined: a new result. */
  maxAgeSeconds?: number
  engineTime?: EngineTime
  signal: AbortSignal
}

/** Reads results of endpoints for alerts, from the cache if possible. */
export class AlertResults {
  readonly #endpoints: Endpoints
  readonly #calls: EndpointCalls

  constructor(endpoints: Endpoints, calls: EndpointCalls) {
    this.#endpoints = endpoints
    this.#calls = calls
  }

  /** Found by name if it was deleted and created again. */
  endpointOf({
    endpoint_id,
    definition,
  }: Pick<SavedAlert, 'endpoint_id' | 'definition'>): SavedEndpoint | undefined {
    return this.#endpoints.findById(endpoint_id) ?? this.#endpoints.findByName(definition.endpoint)
  }

  endpointName(alert: Pick<SavedAlert, 'endpoint_id' | 'definition'>): string {
    return this.endpointOf(alert)?.definition.name ?? alert.definition.endpoint
  }

  async read(alert: SavedAlert, { maxAgeSeconds, engineTime, signal }: ReadOptions): Promise<AlertResult> {
    const { answer } = await this.#calls.call({
      ...this.#call(alert),
      signal,
      engineTime,
      directives: maxAgeSeconds === undefined ? { noCache: true } : { maxAgeSeconds },
    })
    return 'result' in answer ? resultOf(answer.result) : resultOf(answer)
  }

  /** The result as it would have been at an earlier time. */
  async readAt(alert: SavedAlert, atMs: number, signal: AbortSignal): Promise<AlertResult> {
    const beforeMicros = BigInt(Math.floor(atMs)) * 1000n
    return resultOf(
      await this.#calls.runAt(
        { ...this.#call(alert), signal },
        { nowMicros: beforeMicros, range: { beforeMicros } },
      ),
    )
  }

  #call(alert: SavedAlert) {
    const endpoint = this.endpointOf(alert)
    if (!endpoint) throw endpointNotFound(alert.definition.endpoint)
    const { parameters } = alert.definition
    return {
      endpoint,
      parameters,
      format,
      project: undefined,
      caller: 'wellhead:alerts',
      purpose: 'alert',
    } as const
  }
}

function resultOf({ body, rows: count }: { body: Buffer; rows: number }): AlertResult {
  let parsed: Row[] | undefined
  return {
    count,
    rows: () => {
      parsed ??= (JSON.parse(body.toString()) as { result: Row[] }).result
      return parsed
    },
  }
}

export function decideBy({ condition }: SavedAlert, { count, rows }: AlertResult): Decision {
  return decide(condition, count, rows)
}

/** What to show of an error; the log has the cause of others. */
export function shownError(error: unknown): string {
  if (error instanceof WellheadError) return error.message
  return error instanceof Error && error.message.startsWith('The result has')
    ? error.message
    : 'Internal error.'
}

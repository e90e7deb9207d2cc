import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import { queryCancelled } from '../base/errors.ts'
import type { CallResponse, EndpointCalls } from '../endpoints/call/endpoint-calls.ts'
import type { EngineTime } from '../endpoints/call/engine-time.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import type { Endpoints } from '../endpoints/manage/endpoints.ts'
import type { CacheUse, CallRecord, CallSubject } from '../observability/call-record.ts'
import type { CallStatistics } from '../observability/call-statistics.ts'

declare module 'fastify' {
  interface FastifyRequest {
    recorded: CallNotes | undefined
    errorCode: string
  }
}

export interface CallNotes {
  endpoint?: Endpoint
  format?: string
  response?: CallResponse
  /** Also measured for requests that fail. */
  engineTime?: EngineTime
  explain?: () => ReturnType<EndpointCalls['explain']>
  /** Whether it is already recorded, or must not be. */
  done?: boolean
}

type CallEnd = Pick<CallRecord, 'status' | 'bytes' | 'code' | 'totalMs'> & {
  caller: Caller
  method: string
  requestId: string
}

/** Must run before the routes whose requests are recorded are added. */
export function addCallRecording(server: FastifyInstance): void {
  server.decorateRequest('recorded', undefined)
  server.decorateRequest('errorCode', '')
}

export class CallRecorder {
  readonly #statistics: CallStatistics
  readonly #endpoints: Endpoints

  constructor(statistics: CallStatistics, endpoints: Endpoints) {
    this.#statistics = statistics
    this.#endpoints = endpoints
  }

  completed(request: FastifyRequest, reply: FastifyReply): void {
    const bodiless = reply.statusCode === 304 || request.method === 'HEAD'
    const bytes = bodiless ? 0 : Number(reply.getHeader('content-length') ?? 0)
    this.#record(request, reply, reply.statusCode, bytes, request.errorCode)
  }

  canceled(request: FastifyRequest, reply: FastifyReply): void {
    this.#record(request, reply, queryCancelled.status, 0, queryCancelled.code)
  }

  subjectOf(endpoint: Endpoint, caller: Caller, method: string, format: string): CallSubject {
    const { name, id } = endpoint.definition
    return {
      endpoint: name,
      endpointId: id,
      version: endpoint.version,
      tokenId: caller.id,
      project: caller.project ?? '',
      method,
      format,
    }
  }

  #record(request: FastifyRequest, reply: FastifyReply, status: number, bytes: number, code: string): void {
    const { caller, id: requestId, method } = request
    const notes = request.recorded ?? {}
    const endpoint = notes.endpoint ?? (caller && this.#addressed(request, caller))
    if (caller === undefined || endpoint === undefined) return
    this.add(
      { ...notes, endpoint },
      { caller, method, requestId, status, bytes, code, totalMs: reply.elapsedTime },
    )
    notes.done = true
  }

  add(notes: CallNotes & { endpoint: Endpoint }, end: CallEnd): void {
    if (notes.done) return
    const { endpoint, explain, format = '' } = notes
    const { caller, method, requestId, ...ended } = end
    const cost = costOf(notes)
    this.#statistics.add({
      subject: this.subjectOf(endpoint, caller, method, format),
      ...ended,
      ...cost,
      endedAt: performance.now(),
      detail: cost.cache === 'hit' ? undefined : { requestId, ...(explain && { explain }) },
    })
  }

  /** The endpoint of a request that was refused early. Requests to endpoints that the caller must not see are not recorded. */
  #addressed({ params }: FastifyRequest, caller: Caller): Endpoint | undefined {
    const endpoint = this.#endpoints.find((params as { reference?: string }).reference ?? '')
    return endpoint && caller.mayCall(endpoint.definition) ? endpoint : undefined
  }
}

/** The cost of a shared run counts for the caller that started it. */
function costOf({ response, engineTime }: CallNotes) {
  const failed = { rows: 0, engineMs: engineTime?.ms ?? 0, rowsRead: undefined, cache: 'none' as CacheUse }
  if (response === undefined) return failed
  const { rows, engineMs, rowsRead } = response.result
  if (response.kind === 'computed') return { ...failed, rows, engineMs, rowsRead }
  const { outcome } = response
  if (outcome.kind !== 'computed') return { rows, engineMs: 0, rowsRead: 0, cache: outcome.kind }
  if (outcome.joined) return { rows, engineMs: 0, rowsRead: 0, cache: 'joined' as const }
  return {
    rows,
    engineMs,
    rowsRead,
    cache: outcome.why === 'request' ? ('bypass' as const) : ('miss' as const),
  }
}

import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../access/caller.ts'
import { endpointNotFound, queryCancelled, unknownParameter } from '../../base/errors.ts'
import { EngineTime } from '../../endpoints/call/engine-time.ts'
import { type OutputFormat, outputFormats, withIsoTimestamps } from '../../endpoints/call/output-formats.ts'
import { parameterNames } from '../../endpoints/call/prepared-call.ts'
import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import type { SavedEndpoint } from '../../endpoints/manage/endpoints.ts'
import { EndpointTools, narrowing } from '../../mcp/endpoint-tools.ts'
import { rowResult } from '../../mcp/row-result.ts'
import type { ToolDefinition, ToolResult } from '../../mcp/tool.ts'
import { readCacheDirectives } from '../cache-headers.ts'
import type { CallNotes, CallRecorder } from '../call-recording.ts'
import { endpointCall, runCall } from '../endpoint-request.ts'
import { toKnownError } from '../error-response.ts'
import { readParameters } from '../request-parameters.ts'
import type { QueryRoutes } from '../routes/query.ts'

export type EndpointToolParts = Pick<QueryRoutes, 'calls' | 'endpoints'>

interface ToolRequest {
  request: FastifyRequest
  caller: Caller
  signal: AbortSignal
}

const [json] = outputFormats as [OutputFormat]
const format = withIsoTimestamps(json)
const maxCallers = 200
/** In statistics, which tell tool calls from other requests by it. */
const recordedFormat = 'mcp'

/** Requests to endpoints that come as tool calls. They share cache, limits and statistics with all others. */
export class EndpointToolCalls {
  readonly #parts: EndpointToolParts
  readonly #recorder: CallRecorder | undefined
  readonly #tools: EndpointTools

  constructor(parts: EndpointToolParts, recorder: CallRecorder | undefined) {
    this.#parts = parts
    this.#recorder = recorder
    const { endpoints, calls } = parts
    this.#tools = new EndpointTools({
      endpoints,
      viewsOf: (endpoint) => calls.sandboxes.views(endpoint),
      maxCallers,
    })
  }

  /** By name of the tool, in order. */
  of(caller: Caller): ReadonlyMap<string, SavedEndpoint> {
    return this.#tools.of(caller)
  }

  definition(name: string, caller: Caller): Promise<ToolDefinition> {
    return this.#tools.definition(name, this.#find(name, caller), caller)
  }

  async call(name: string, input: Record<string, unknown>, tool: ToolRequest): Promise<ToolResult> {
    const { request, caller, signal } = tool
    const since = performance.now()
    const endpoint = this.#find(name, caller)
    const notes: CallNotes & { endpoint: Endpoint } = {
      endpoint,
      engineTime: new EngineTime(),
      format: recordedFormat,
    }
    // Traces name the endpoint.
    request.recorded ??= { endpoint, done: true }
    const record = (status: number, code: string, bytes: number) =>
      this.#recorder?.add(notes, {
        ...{ caller, method: request.method, requestId: request.id },
        ...{ status, code, bytes, totalMs: performance.now() - since },
      })
    try {
      const result = await this.#run(input, notes, tool)
      record(200, '', textLength(result))
      return result
    } catch (error) {
      const { status, code } = signal.aborted ? queryCancelled : toKnownError(error as Error, request)
      record(status, code, 0)
      throw error
    }
  }

  async #run(
    input: Record<string, unknown>,
    notes: CallNotes & { endpoint: Endpoint },
    { request, caller, signal }: ToolRequest,
  ): Promise<ToolResult> {
    const { endpoint, engineTime } = notes
    const sent = readParameters(Object.entries(input))
    // Others begin with an underscore; they control responses of other routes.
    const [control] = sent.control.keys()
    if (control !== undefined) throw unknownParameter(control, parameterNames(endpoint))
    const call = endpointCall({
      ...{ endpoint, sent, strict: true, format, caller, signal, engineTime },
      directives: readCacheDirectives(undefined),
      trace: request.trace,
    })
    const { kind, answer } = await runCall(this.#parts.calls, call, notes)
    const { body, rows, truncated } = kind === 'cached' ? answer.result : answer
    const { max_rows: maxRows } = endpoint.definition
    return rowResult(body, {
      total: rows,
      more: truncated ? `The endpoint returns at most ${maxRows} rows, and there are more.` : undefined,
      narrow: narrowing(endpoint, caller),
    })
  }

  #find(name: string, caller: Caller): SavedEndpoint {
    const endpoint = this.of(caller).get(name)
    if (!endpoint) throw endpointNotFound(name)
    return endpoint
  }
}

function textLength({ content }: ToolResult): number {
  const [first] = content
  return first?.type === 'text' ? Buffer.byteLength(first.text) : 0
}

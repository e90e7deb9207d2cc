import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../access/caller.ts'
import { queryCancelled, unknownParameter } from '../../base/errors.ts'
import { EngineTime } from '../../endpoints/call/engine-time.ts'
import { type OutputFormat, outputFormats, withIsoTimestamps } from '../../endpoints/call/output-formats.ts'
import { parameterNames } from '../../endpoints/call/prepared-call.ts'
import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import { narrowing } from '../../mcp/endpoint-tools.ts'
import { rowResult } from '../../mcp/row-result.ts'
import type { ToolResult } from '../../mcp/tool.ts'
import { readCacheDirectives } from '../cache-headers.ts'
import type { CallNotes, CallRecorder } from '../call-recording.ts'
import { endpointCall, runCall } from '../endpoint-request.ts'
import { toKnownError } from '../error-response.ts'
import { readParameters } from '../request-parameters.ts'
import type { QueryRoutes } from '../routes/query.ts'

interface EndpointToolCall {
  endpoint: Endpoint
  input: Record<string, unknown>
  request: FastifyRequest
  caller: Caller
  signal: AbortSignal
}

interface CallParts {
  calls: QueryRoutes['calls']
  recorder: CallRecorder | undefined
}

const [json] = outputFormats as [OutputFormat]
const format = withIsoTimestamps(json)
/** In statistics, which tell tool calls from other requests by it. */
const recordedFormat = 'mcp'

/** A request to an endpoint that comes as a tool call. It shares cache, limits and statistics with all others. */
export async function callEndpoint(call: EndpointToolCall, parts: CallParts): Promise<ToolResult> {
  const { endpoint, request, caller, signal } = call
  const since = performance.now()
  const notes: CallNotes & { endpoint: Endpoint } = {
    endpoint,
    engineTime: new EngineTime(),
    format: recordedFormat,
  }
  // Traces name the endpoint.
  request.recorded ??= { endpoint, done: true }
  const record = (status: number, code: string, bytes: number) =>
    parts.recorder?.add(notes, {
      ...{ caller, method: request.method, requestId: request.id },
      ...{ status, code, bytes, totalMs: performance.now() - since },
    })
  try {
    const result = await run(call, notes, parts)
    record(200, '', textLength(result))
    return result
  } catch (error) {
    const { status, code } = signal.aborted ? queryCancelled : toKnownError(error as Error, request)
    record(status, code, 0)
    throw error
  }
}

async function run(
  { endpoint, input, request, caller, signal }: EndpointToolCall,
  notes: CallNotes & { endpoint: Endpoint },
  { calls }: CallParts,
): Promise<ToolResult> {
  const sent = readParameters(Object.entries(input))
  // Others begin with an underscore; they control responses of other routes.
  const [control] = sent.control.keys()
  if (control !== undefined) throw unknownParameter(control, parameterNames(endpoint))
  const prepared = endpointCall({
    ...{ endpoint, sent, strict: true, format, caller, signal, engineTime: notes.engineTime },
    directives: readCacheDirectives(undefined),
    trace: request.trace,
  })
  const { body, rows, truncated } = (await runCall(calls, prepared, notes)).result
  const { max_rows: maxRows } = endpoint.definition
  return rowResult(body, {
    total: rows,
    more: truncated ? `The endpoint returns at most ${maxRows} rows, and there are more.` : undefined,
    narrow: narrowing(endpoint, caller),
  })
}

function textLength({ content }: ToolResult): number {
  const [first] = content
  return first?.type === 'text' ? Buffer.byteLength(first.text) : 0
}

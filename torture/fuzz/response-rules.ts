import type { Outcome, WireResponse } from './wire.ts'

/** Documented failures of the service. */
const documented = new Set([503, 504, 507])

/** Statuses that need `Retry-After`. */
const retryable = new Set([429, 503, 507])

export interface RequestContext {
  /** Whether the service can tell where the request ends. */
  framed: boolean
  operation: string
  method: string
}

/** Returns what is wrong with the outcome, or undefined. */
export function checkResponse(
  outcome: Outcome,
  { framed, operation, method }: RequestContext,
): string | undefined {
  if (outcome === 'silent') return framed ? 'no response in time' : undefined
  if (outcome === 'closed') return framed ? 'the connection was closed without a response' : undefined
  const { status } = outcome
  if (status < 200 || status > 599) return `invalid status ${status}`
  if (status >= 500 && !documented.has(status)) return `${status}: ${textOf(outcome)}`
  if (retryable.has(status) && !/^\d+$/.test(outcome.headers.get('retry-after') ?? '')) {
    return `${status} without Retry-After`
  }
  // Responses to HEAD have no body.
  if (status < 400 || method === 'HEAD') return undefined
  // Malformed HTTP and a mutated path do not reach the operation.
  if (operation.endsWith('/mcp') && status === 400 && isJsonRpcError(outcome)) return undefined
  // The console shows its own page for a page that does not exist.
  if (operation.includes('/console/') && status === 404 && isPage(outcome)) return undefined
  return operation.endsWith('/v1/logs') ? otlpFault(outcome) : errorFault(outcome)
}

function errorFault(response: WireResponse): string | undefined {
  if (!response.headers.get('content-type')?.startsWith('application/json')) {
    return `${response.status} as ${response.headers.get('content-type')}: ${textOf(response)}`
  }
  const error = errorOf(response)
  const isComplete =
    error &&
    ['code', 'message', 'request_id'].every((name) => typeof error[name] === 'string' && error[name] !== '')
  return isComplete ? undefined : `${response.status} with an unexpected body: ${textOf(response)}`
}

function isPage({ headers }: WireResponse): boolean {
  return headers.get('content-type')?.startsWith('text/html') ?? false
}

function isJsonRpcError({ body }: WireResponse): boolean {
  return /^\{"jsonrpc":"2.0","id":null,"error":\{"code":-\d+,"message":"[^"]/.test(body.toString())
}

function errorOf(response: WireResponse): Record<string, unknown> | undefined {
  try {
    const body = JSON.parse(response.body.toString()) as Record<string, unknown>
    const isAlone = Object.keys(body).length === 1
    return isAlone ? (body.error as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** OTLP defines its own error body, in the encoding of the request. */
function otlpFault(response: WireResponse): string | undefined {
  if (response.headers.get('content-type')?.startsWith('application/x-protobuf')) {
    return undefined
  }
  try {
    const body = JSON.parse(response.body.toString()) as { message?: unknown; error?: unknown }
    return typeof body.message === 'string' || body.error !== undefined
      ? undefined
      : `${response.status}: ${textOf(response)}`
  } catch {
    return `${response.status}: ${textOf(response)}`
  }
}

function textOf({ body }: WireResponse): string {
  return JSON.stringify(body.toString().slice(0, 300))
}

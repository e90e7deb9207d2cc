import { connection } from './connection.ts'
import { quota } from './quota.ts'
import { session } from './session.ts'
import type { ContractChange } from './shapes.ts'

export interface ErrorBody {
  code?: string
  message?: string
  parameter?: string
  line?: number
  column?: number
  changes?: ContractChange[]
  users?: string[]
  request_id?: string
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string | undefined
  readonly parameter: string | undefined
  readonly line: number | undefined
  readonly column: number | undefined
  /** Changes that would break callers. */
  readonly changes: readonly ContractChange[] | undefined
  /** What uses a definition that cannot be deleted. */
  readonly users: readonly string[] | undefined
  readonly requestId: string | undefined

  constructor(status: number, error: ErrorBody) {
    super(error.message ?? `The service responded with status ${status}.`)
    this.status = status
    this.code = error.code
    this.parameter = error.parameter
    this.line = error.line
    this.column = error.column
    this.changes = error.changes
    this.users = error.users
    this.requestId = error.request_id
  }
}

/** The service could not be reached at all. */
export class OfflineError extends Error {
  override readonly name = 'OfflineError'
}

export interface Request {
  method?: string
  /** Sent as JSON, unless it is a file, which has its type. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  /** Used instead of the session. */
  token?: string
}

/** Throws for a response that is an error. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  const { method = request.body === undefined ? 'GET' : 'POST', body, headers, signal } = request
  const isFile = body instanceof Blob
  const response = await fetch(path, {
    method,
    headers: {
      ...(request.token !== undefined && { 'X-API-KEY': request.token }),
      ...(body !== undefined && !isFile && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isFile ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted || (error instanceof DOMException && error.name === 'AbortError')) throw error
    connection.lost()
    throw new OfflineError('The service cannot be reached.')
  })
  connection.found()
  quota.note(response.headers)
  if (response.ok) return response
  const { error = {} } = (await response.json().catch(() => ({}))) as { error?: ErrorBody }
  if (response.status === 401 && request.token === undefined) {
    session.refused('The session has ended. Sign in again.')
  }
  if (error.code === 'engine_unavailable') connection.doubt()
  throw new ApiError(response.status, error)
}

export async function api<T>(path: string, request?: Request): Promise<T> {
  const response = await send(path, request)
  return (response.status === 204 ? undefined : await response.json()) as T
}

export const at = (name: string): string => encodeURIComponent(name)

import { connection } from './connection.ts'
import { session } from './session.ts'

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly parameter: string | undefined
  readonly line: number | undefined
  readonly column: number | undefined
  readonly requestId: string | undefined

  constructor(status: number, error: Record<string, unknown>) {
    super(String(error.message ?? `The service answered ${status}.`))
    this.status = status
    this.code = String(error.code ?? 'unknown')
    this.parameter = error.parameter as string | undefined
    this.line = error.line as number | undefined
    this.column = error.column as number | undefined
    this.requestId = error.request_id as string | undefined
  }
}

/** The service could not be reached at all. */
export class OfflineError extends Error {
  override readonly name = 'OfflineError'
}

export interface Request {
  method?: string
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  /** In place of that of the session: for signing in. */
  token?: string
}

/** The answer, if it is no error. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  const { method = request.body === undefined ? 'GET' : 'POST', body, headers, signal } = request
  const token = request.token ?? session.token() ?? ''
  const response = await fetch(path, {
    method,
    headers: {
      'X-API-KEY': token,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted || (error instanceof DOMException && error.name === 'AbortError')) throw error
    connection.lost()
    throw new OfflineError('The service cannot be reached.')
  })
  connection.found()
  if (response.ok) return response
  const told = (await response.json().catch(() => ({}))) as { error?: Record<string, unknown> }
  const error = new ApiError(response.status, told.error ?? {})
  if (response.status === 401 && request.token === undefined && token === session.token()) {
    session.close('The token is no longer valid.')
  }
  throw error
}

export async function api<T>(path: string, request?: Request): Promise<T> {
  const response = await send(path, request)
  return (response.status === 204 ? undefined : await response.json()) as T
}

export const at = (name: string): string => encodeURIComponent(name)

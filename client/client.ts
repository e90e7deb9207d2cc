import { BrokenStream, eventsOf } from '../src/shared/event-stream.ts'
import { isTemporary } from '../src/shared/is-temporary.ts'

/** What `wellhead types` adds to: parameters and rows of each endpoint, by its name. */
// biome-ignore lint/suspicious/noEmptyInterface: a generated file declares its members.
export interface Endpoints {}

type Declared = keyof Endpoints & string
/** Any name, until a generated file declares the endpoints. */
export type EndpointName = [Declared] extends [never] ? string : Declared
type Part<Name extends string, Key extends string, Other> = Name extends keyof Endpoints
  ? Endpoints[Name] extends Record<Key, infer Value>
    ? Value
    : Other
  : Other
export type Parameters<Name extends string> = Part<Name, 'parameters', Record<string, ParameterValue>>
export type Row<Name extends string> = Part<Name, 'row', Record<string, unknown>>
/** The rows of a result; `truncated` says whether there are more than the endpoint's `max_rows`. */
export type Rows<Name extends string> = Row<Name>[] & { readonly truncated: boolean }
/** Parameters may be omitted if none is required. */
export type CallArguments<Name extends string> =
  Record<never, never> extends Parameters<Name>
    ? [parameters?: Parameters<Name>, options?: CallOptions]
    : [parameters: Parameters<Name>, options?: CallOptions]
type SingleValue = string | number | boolean
export type ParameterValue = SingleValue | readonly SingleValue[] | null | undefined

export interface ClientOptions {
  /** Origin of the service, such as https://logs.example.com. */
  url: string
  /** Returns a token, or a session of one. Called when the first request needs it, and once after a 401. */
  getToken: () => string | Promise<string>
  fetch?: typeof fetch
}

export interface CallOptions {
  signal?: AbortSignal
}

export interface FollowOptions {
  signal?: AbortSignal
  /** An error of the query or the connection, after which rows may follow, or one that ends the stream. */
  onError?: (error: WellheadError) => void
}

export interface Client {
  /** The rows of an endpoint. */
  call<Name extends EndpointName>(name: Name, ...rest: CallArguments<Name>): Promise<Rows<Name>>
  /** Reports the rows of an endpoint, and again whenever they change. Returns a function that stops it. */
  follow<Name extends EndpointName>(
    name: Name,
    parameters: Parameters<Name>,
    onRows: (rows: Rows<Name>) => void,
    options?: FollowOptions,
  ): () => void
}

interface ErrorBody {
  code?: string
  message?: string
  parameter?: string
  request_id?: string
}

/** An error of the service, or one of the connection or of `getToken`: then `code` is `unreachable` and `status` is 0. */
export class WellheadError extends Error {
  readonly code: string
  readonly status: number
  readonly parameter: string | undefined
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, body: ErrorBody, retryAfter?: string | null, cause?: unknown) {
    super(body.message ?? `The service responded with status ${status}.`, { cause })
    this.name = 'WellheadError'
    this.code = body.code ?? (status === 0 ? 'unreachable' : 'internal')
    this.status = status
    this.parameter = body.parameter
    this.requestId = body.request_id
    this.retryAfterSeconds = retryAfter ? Number(retryAfter) : undefined
  }
}

/** The last result of a request. */
interface Held {
  etag: string
  rows: Rows<string>
}

const maxHeld = 100
const firstPauseMs = 1_000
const longestPauseMs = 30_000

/** A client for browsers and Node. It holds its last results, and asks the service only whether they changed. */
export function createClient({ url, getToken, fetch: send = fetch }: ClientOptions): Client {
  let token: Promise<string> | undefined
  /** By path, so that each has the rows of its endpoint. */
  const held = new Map<string, Held>()

  const freshToken = () => {
    token = Promise.resolve()
      .then(getToken)
      .catch((error) => {
        throw asError(error)
      })
    token.catch(() => {
      token = undefined
    })
    return token
  }

  async function request(path: string, headers: Record<string, string>, signal: AbortSignal | undefined) {
    const used = token ?? freshToken()
    const once = async (key: string) => {
      try {
        return await send(path, {
          headers: { ...headers, 'X-API-KEY': key },
          // The service decides what is fresh; a browser's cache does not know the token.
          cache: 'no-store',
          // The next address could be of someone else, and would get the token.
          redirect: 'manual',
          ...(signal && { signal }),
        } as RequestInit)
      } catch (error) {
        if (signal?.aborted) throw error
        throw new WellheadError(0, { message: 'The service cannot be reached.' }, null, error)
      }
    }
    const response = await once(await used)
    if (response.status !== 401) return refuse(response)
    // Requests that failed together share the new token.
    return refuse(await once(await (token === used || token === undefined ? freshToken() : token)))
  }

  const pathOf = (name: string, parameters: object = {}) => {
    const sent = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined)
    const pairs = sent.flatMap(([key, value]) =>
      (Array.isArray(value) ? value : [value]).map((each): [string, string] => [key, textOf(key, each)]),
    )
    const query = new URLSearchParams(pairs)
    query.sort()
    return `${url.replace(/\/+$/, '')}/api/endpoints/query/${encodeURIComponent(name)}?${query}`
  }

  return {
    async call<Name extends EndpointName>(name: Name, ...[parameters, { signal } = {}]: CallArguments<Name>) {
      const path = pathOf(name, parameters)
      const known = held.get(path)
      const response = await request(path, known ? { 'If-None-Match': known.etag } : {}, signal)
      if (response.status === 304 && known) return known.rows as Rows<Name>
      const rows = rowsOf<Name>(await response.text(), response.headers.get('Wellhead-Truncated') === 'true')
      const etag = response.headers.get('ETag')
      held.delete(path)
      if (etag) held.set(path, { etag, rows })
      if (held.size > maxHeld) held.delete(held.keys().next().value as string)
      return rows
    },
    follow<Name extends EndpointName>(
      name: Name,
      parameters: Parameters<Name>,
      onRows: (rows: Rows<Name>) => void,
      { signal, onError }: FollowOptions = {},
    ) {
      const ender = new AbortController()
      const stop = () => ender.abort()
      signal?.addEventListener('abort', stop, { signal: ender.signal })
      if (signal?.aborted) stop()
      let lastId: string | undefined
      let failures = 0
      const read = async () => {
        const headers = {
          Accept: 'text/event-stream',
          ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
        }
        const { body } = await request(pathOf(name, parameters), headers, ender.signal)
        failures = 0
        let truncated = false
        for await (const events of eventsOf(body as ReadableStream<Uint8Array>)) {
          for (const { event, id, data } of events) {
            if (ender.signal.aborted) return
            if (event === 'error') {
              lastId = undefined
              const { error } = JSON.parse(data) as { error: ErrorBody & { status?: number } }
              onError?.(new WellheadError(error.status ?? 500, error))
            } else if (event === 'truncated') truncated = true
            else if (event === 'result') {
              lastId = id
              const rows = rowsOf<Name>(data, truncated)
              truncated = false
              onRows(rows)
            }
          }
        }
      }
      const run = async () => {
        while (!ender.signal.aborted) {
          try {
            await read()
          } catch (error) {
            if (ender.signal.aborted) return
            // A stream that breaks is resumed, which the reader need not know.
            if (!(error instanceof BrokenStream)) {
              // What `onRows` throws must not get lost.
              if (!(error instanceof WellheadError) && !onError) throw error
              // So that rows follow the error.
              lastId = undefined
              onError?.(asError(error))
              if (!(error instanceof WellheadError)) return
              if (!isTemporary(error.status)) return
            }
          }
          await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures++), ender.signal)
        }
      }
      void run().finally(stop)
      return stop
    },
  }
}

function rowsOf<Name extends string>(body: string, truncated: boolean): Rows<Name> {
  const { result } = JSON.parse(body) as { result: Row<Name>[] }
  // Not enumerable, so that loops and comparisons find nothing but rows.
  return Object.defineProperty(result, 'truncated', { value: truncated }) as Rows<Name>
}

function textOf(parameter: string, value: unknown): string {
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return String(value)
  const message = `Parameter "${parameter}" must be text, a number, a boolean or a list of these, not ${Array.isArray(value) ? 'an array' : 'an object'}.`
  throw new WellheadError(400, { code: 'invalid_parameter', message, parameter })
}

function asError(error: unknown): WellheadError {
  if (error instanceof WellheadError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new WellheadError(0, { message }, null, error)
}

async function refuse(response: Response): Promise<Response> {
  if (response.ok || response.status === 304) return response
  // Browsers hide the status of a redirect.
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
    const message = 'The address of the service redirects. Set url to the address that it redirects to.'
    throw new WellheadError(0, { message })
  }
  const body = (await response.json().catch(() => ({}))) as { error?: ErrorBody }
  throw new WellheadError(response.status, body.error ?? {}, response.headers.get('Retry-After'))
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}

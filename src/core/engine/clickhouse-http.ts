import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { tooLarge } from '../base/errors.ts'
import { trimEndOf } from '../base/text/trim-end.ts'

export interface ClickHouseServer {
  url: URL
  user?: string
  password?: string
  database?: string
  maxConnections: number
  /** Closes idle connections after this time. Must be shorter than the server's own limit. */
  idleMs: number
  compress: boolean
  /** Sent with every request. */
  headers?: Record<string, string>
}

export interface HttpRequest {
  path?: string
  search?: Record<string, string>
  headers?: Record<string, string>
  /** Sent with POST; without a body the method is GET. */
  body?: Buffer
  maxResponseBytes: number
  /** Whether the server may receive the request twice. */
  repeatable?: boolean
  /** Closes the connection, which makes the server stop the query. */
  signal?: AbortSignal
}

export interface HttpResponse {
  body: Buffer
  summary: string | undefined
}

const maxErrorBytes = 2 ** 20

/** The defaults of a server depend on its version and on the user's profile. */
const serverSettings = {
  // Otherwise an error is a row of JSON, from 23.9 to 25.10.
  http_write_exception_in_output_format: '0',
  // Before 25.8, such integers are strings.
  output_format_json_quote_64bit_integers: '0',
  // Since 26.2, rows of several inserts wait in memory by default, and tokens and quorums have no effect.
  async_insert: '0',
  // The default of 256 KiB is too small for the longest saved SQL.
  max_query_size: String(64 * 2 ** 20),
} as const

export class ClickHouseHttp {
  readonly #agent: HttpAgent
  readonly #request: typeof overHttp
  readonly #options: { agent: HttpAgent; host: string; port: string }
  readonly #headers: Record<string, string>
  readonly #path: string
  readonly #search: Record<string, string>

  constructor(server: ClickHouseServer) {
    const { url, user, password, database } = server
    const secure = url.protocol === 'https:'
    const keepAlive = { keepAlive: true, maxSockets: server.maxConnections, timeout: server.idleMs }
    this.#agent = secure ? new HttpsAgent(keepAlive) : new HttpAgent(keepAlive)
    this.#request = secure ? overHttps : overHttp
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    this.#options = { agent: this.#agent, host, port: url.port }
    this.#path = url.pathname.replace(/\/$/, '')
    this.#search = {
      ...serverSettings,
      ...(database !== undefined && { database }),
      ...(server.compress && { enable_http_compression: '1' }),
    }
    const basic = `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}`
    this.#headers = {
      ...server.headers,
      ...(user !== undefined && { Authorization: basic }),
      ...(server.compress && { 'Accept-Encoding': 'gzip' }),
    }
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    let sent: ClientRequest | undefined
    const sendOnce = () =>
      new Promise<HttpResponse>((resolve, reject) => {
        const { body, signal } = request
        sent = this.#request({
          ...this.#options,
          ...(signal && { signal }),
          method: body ? 'POST' : 'GET',
          path: `${this.#path}${request.path ?? `/?${new URLSearchParams({ ...this.#search, ...request.search })}`}`,
          headers: {
            ...this.#headers,
            ...request.headers,
            ...(body && { 'Content-Length': String(body.length) }),
          },
        })
        sent.on('error', reject)
        sent.on('response', (message) => readResponse(message, request.maxResponseBytes, resolve, reject))
        sent.end(body)
      })
    try {
      return await sendOnce()
    } catch (error) {
      // The server closed an idle connection at the moment of its reuse, and has not seen the request.
      if (!request.repeatable || request.signal?.aborted || !sent?.reusedSocket || !isClosed(error))
        throw error
      return sendOnce()
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Node uses the same codes for a connection that breaks during a response. */
function isClosed(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return (code === 'ECONNRESET' || code === 'EPIPE') && !(error instanceof BrokenResponse)
}

/** The connection broke after a part of the response was received. */
export class BrokenResponse extends Error {}

function readResponse(
  response: IncomingMessage,
  maxBytes: number,
  resolve: (response: HttpResponse) => void,
  reject: (error: Error) => void,
): void {
  const { headers, statusCode = 0 } = response
  const failed = statusCode < 200 || statusCode > 299 || headers['x-clickhouse-exception-code'] !== undefined
  const stream: Readable = headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response
  const chunks: Buffer[] = []
  let length = 0
  const onError = (error: Error) => reject(new BrokenResponse(error.message, { cause: error }))
  response.on('error', onError)
  stream.on('error', onError)
  stream.on('data', (bytes: Buffer) => {
    // A long error is read to its end, so that the connection can be reused, but only its start is kept.
    const chunk = failed ? bytes.subarray(0, maxErrorBytes - length) : bytes
    length += chunk.length
    if (!failed && length > maxBytes) {
      response.destroy()
      reject(tooLarge(`The result is larger than ${maxBytes} bytes. Select less.`))
    } else chunks.push(chunk)
  })
  stream.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
    const error = failed ? toError(body.toString(), statusCode) : findLateException(body, headers)
    if (error) reject(error)
    else resolve({ body, summary: headers['x-clickhouse-summary'] as string | undefined })
  })
}

/**
 * An error after the headers were sent. The server announces a tag that no result contains by chance; the response then
 * ends in "\r\n__exception__\r\nTAG\r\n", the text, its length, and the same marks in reverse.
 */
function findLateException(body: Buffer, headers: IncomingMessage['headers']): Error | undefined {
  const tag = headers['x-clickhouse-exception-tag']
  if (typeof tag !== 'string') return undefined
  const end = body.lastIndexOf(` ${tag}\r\n__exception__`)
  if (end < 0) return undefined
  const opening = `__exception__\r\n${tag}\r\n`
  const start = body.lastIndexOf(opening, end)
  const text = body.toString('utf8', start < 0 ? 0 : start + opening.length, end)
  return toError(trimEndOf(text, '0123456789').trimEnd(), 200)
}

export class ClickHouseError extends Error {
  readonly code: number
  readonly type: string | undefined

  constructor({ message, code, type }: { message: string; code: number; type?: string | undefined }) {
    super(message)
    this.code = code
    this.type = type
  }
}

/** Servers of a cluster wrap each other's exceptions, so both can occur several times. */
const opening = /^\s*(?:Code|Error): (\d+)\.? \S*Exception: /
const ending = /\(([A-Z][A-Z0-9_]{2,99})\)(?: \(version [^()]{0,99}(?:\([^()]{0,99}\))?\))?\.?$/
const maxWraps = 10

/** An exception of the standard library, such as of the file system. */
const systemException = /^std::exception\. Code: (\d{1,9}), type: \S{1,200}, e\.what\(\) = /

/** Parses an exception of ClickHouse; other text comes from something else, such as a proxy. */
function toError(text: string, status: number): Error {
  const [beginning, systemCode] = systemException.exec(text.trimStart()) ?? []
  if (beginning !== undefined) {
    const [what = ''] = text.trimStart().slice(beginning.length).split('\n')
    return new ClickHouseError({ message: what.trim(), code: Number(systemCode), type: 'STD_EXCEPTION' })
  }
  const code = opening.exec(text)?.[1]
  if (code === undefined) return new Error(`HTTP status ${status}: ${text.slice(0, 1000)}`)
  let message = text.trimEnd()
  const type = ending.exec(message)?.[1]
  for (let wraps = 0; wraps < maxWraps; wraps++) {
    message = message.replace(opening, '').replace(ending, '').trimEnd()
  }
  return new ClickHouseError({ message: message.trim(), code: Number(code), type })
}

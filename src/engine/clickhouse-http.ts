import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http'
import { Agent as HttpsAgent, request as overHttps } from 'node:https'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { tooLarge } from '../base/errors.ts'
import { readException } from './clickhouse-error.ts'

export interface ClickHouseServer {
  url: URL
  /** Socket of an embedded engine; the URL's host is not used then. */
  socketPath?: string
  user?: string
  password?: string
  /** Database of tables that are named without one. */
  database?: string
  maxConnections: number
  /** Idle connections are closed after this long. It must be shorter than the time after which the server closes them. */
  idleMs: number
  /** Whether responses are compressed on their way. */
  compress: boolean
}

export interface HttpCall {
  path?: string
  search?: Record<string, string>
  headers?: Record<string, string>
  /** Sent with POST; without it the call is a GET. */
  body?: Buffer
  maxResponseBytes: number
  /** Whether the server may see the call twice. */
  repeatable?: boolean
}

export interface HttpAnswer {
  body: Buffer
  /** The header X-ClickHouse-Summary. */
  summary: string | undefined
}

/** A call that can be ended before its answer is complete. */
export interface RunningCall {
  answer: Promise<HttpAnswer>
  /** Closes the connection, which makes the server stop the query. */
  end(): void
}

const maxErrorBytes = 2 ** 20

/** Speaks ClickHouse's HTTP interface over kept connections. */
export class ClickHouseHttp {
  readonly #agent: HttpAgent
  readonly #send: typeof overHttp
  readonly #options: { agent: HttpAgent; host: string; port: string; socketPath?: string }
  readonly #headers: Record<string, string>
  readonly #path: string
  readonly #search: Record<string, string>

  constructor(server: ClickHouseServer) {
    const { url, socketPath, user, password, database } = server
    const secure = url.protocol === 'https:'
    const keeping = { keepAlive: true, maxSockets: server.maxConnections, timeout: server.idleMs }
    this.#agent = secure ? new HttpsAgent(keeping) : new HttpAgent(keeping)
    this.#send = secure ? overHttps : overHttp
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    this.#options = { agent: this.#agent, host, port: url.port, ...(socketPath && { socketPath }) }
    this.#path = url.pathname.replace(/\/$/, '')
    this.#search = {
      ...(database !== undefined && { database }),
      ...(server.compress && { enable_http_compression: '1' }),
    }
    const basic = `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}`
    this.#headers = {
      ...(user !== undefined && { Authorization: basic }),
      ...(server.compress && { 'Accept-Encoding': 'gzip' }),
    }
  }

  call(call: HttpCall): RunningCall {
    let request: ClientRequest | undefined
    let ended = false
    const once = () =>
      new Promise<HttpAnswer>((resolve, reject) => {
        const { body } = call
        request = this.#send({
          ...this.#options,
          method: body ? 'POST' : 'GET',
          path: `${this.#path}${call.path ?? `/?${new URLSearchParams({ ...this.#search, ...call.search })}`}`,
          headers: {
            ...this.#headers,
            ...call.headers,
            ...(body && { 'Content-Length': String(body.length) }),
          },
        })
        request.on('error', reject)
        request.on('response', (response) => readAnswer(response, call.maxResponseBytes, resolve, reject))
        request.end(body)
      })
    const answer = once().catch((error) => {
      // The server closed a kept connection just as it was used again, and has not seen the call.
      if (!call.repeatable || ended || !request?.reusedSocket || !isClosed(error)) throw error
      return once()
    })
    return {
      answer,
      end: () => {
        ended = true
        request?.destroy(new Error('The call was ended.'))
      },
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Node gives the same codes for a connection that breaks during a response, but with an error of the response. */
function isClosed(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return (code === 'ECONNRESET' || code === 'EPIPE') && !(error instanceof BrokenResponse)
}

class BrokenResponse extends Error {}

function readAnswer(
  response: IncomingMessage,
  maxBytes: number,
  resolve: (answer: HttpAnswer) => void,
  reject: (error: Error) => void,
): void {
  const { headers, statusCode = 0 } = response
  const failed = statusCode < 200 || statusCode > 299 || headers['x-clickhouse-exception-code'] !== undefined
  const stream: Readable = headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response
  const chunks: Buffer[] = []
  let length = 0
  const broken = (error: Error) => reject(new BrokenResponse(error.message, { cause: error }))
  response.on('error', broken)
  stream.on('error', broken)
  stream.on('data', (bytes: Buffer) => {
    // The rest of a long error is read, so that the connection can be used again, but not kept.
    const chunk = failed ? bytes.subarray(0, maxErrorBytes - length) : bytes
    length += chunk.length
    if (!failed && length > maxBytes) {
      response.destroy()
      reject(tooLarge(`The result is larger than ${maxBytes} bytes; ask for less.`))
    } else chunks.push(chunk)
  })
  stream.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
    const error = failed ? exceptionOf(body.toString(), statusCode) : lateException(body, headers)
    if (error) reject(error)
    else resolve({ body, summary: headers['x-clickhouse-summary'] as string | undefined })
  })
}

function exceptionOf(text: string, status: number): Error {
  return readException(text) ?? new Error(`HTTP status ${status}: ${text.slice(0, 1000)}`)
}

/**
 * What went wrong after the head of the response was sent. A server that can say so announces a tag that no result can
 * contain by chance; the response then ends in "\r\n__exception__\r\nTAG\r\n", the text, its length, and the same again.
 */
function lateException(body: Buffer, headers: IncomingMessage['headers']): Error | undefined {
  const tag = headers['x-clickhouse-exception-tag']
  if (typeof tag !== 'string') return undefined
  const end = body.lastIndexOf(` ${tag}\r\n__exception__`)
  if (end < 0) return undefined
  const opening = `__exception__\r\n${tag}\r\n`
  const start = body.lastIndexOf(opening, end)
  const text = body.toString('utf8', start < 0 ? 0 : start + opening.length, end)
  return exceptionOf(text.replace(/\s*\d+$/, ''), 200)
}

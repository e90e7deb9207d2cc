import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export interface PinoOptions {
  /** Origin of the service, such as http://127.0.0.1:4000. */
  url: string
  /** A token with the scope `ingest`. */
  token: string
  source: string
  /** How long an entry waits for others, in milliseconds. Default: 1000. */
  intervalMs?: number
  /** Most entries of a request. Default: 1000. */
  maxBatchEntries?: number
  /** Most bytes of entries that wait, in memory. Entries beyond are dropped and reported. Default: 16 MiB. */
  maxBufferBytes?: number
  /** Time limit of a request. Default: 30000. */
  timeoutMs?: number
  /** How long the end of the process waits for entries. pino ends the worker after 10 s. Default: 8000. */
  flushTimeoutMs?: number
}

const compress = promisify(gzip)
const maxBatchBytes = 4 * 2 ** 20
const minPauseMs = 500
const maxPauseMs = 30_000
const maxRetryAfterMs = 300_000
/** The service cannot read these, however often they are sent. */
const refused = new Set([400, 413, 415, 422])

/** A transport of pino: `pino.transport({ target: '@wellhead/client/pino', options })`. Runs in a worker. */
export default function wellheadTransport(options: PinoOptions): Writable {
  return new Sender(options)
}

class Sender extends Writable {
  readonly #options: Required<PinoOptions>
  readonly #address: string
  /** Lines that wait, oldest first. */
  #lines: string[] = []
  #bytes = 0
  /** The start of a line whose end has not arrived. */
  #rest = ''
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #endsAtMs = Number.POSITIVE_INFINITY
  /** Ends a request that is under way when the time is over. */
  readonly #end = new AbortController()
  #wake: (() => void) | undefined
  #lastProblem = ''

  constructor(options: PinoOptions) {
    super({ decodeStrings: false })
    for (const name of ['url', 'token', 'source'] as const) {
      if (typeof options?.[name] !== 'string' || options[name] === '') {
        throw new Error(`@wellhead/client/pino requires the option ${name}.`)
      }
    }
    this.#options = {
      intervalMs: 1000,
      maxBatchEntries: 1000,
      maxBufferBytes: 16 * 2 ** 20,
      timeoutMs: 30_000,
      flushTimeoutMs: 8000,
      ...options,
    }
    this.#address = new URL(`/api/logs?source=${encodeURIComponent(options.source)}`, options.url).href
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    const lines = (this.#rest + chunk.toString()).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') this.#keep(line)
    // A batch that is full does not wait.
    if (this.#lines.length >= this.#options.maxBatchEntries) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), this.#options.intervalMs)
    // Never holds up the application.
    done()
  }

  override _final(done: () => void): void {
    if (this.#rest !== '') this.#keep(this.#rest)
    this.#endsAtMs = Date.now() + this.#options.flushTimeoutMs
    const timer = setTimeout(() => this.#end.abort(), this.#options.flushTimeoutMs)
    this.#wake?.()
    this.#send()
    void this.#sending?.then(() => {
      clearTimeout(timer)
      const lost = this.#lines.length
      if (lost > 0) report(`${lost} entries were not sent before the process ended. ${this.#lastProblem}`)
      this.#reportDropped()
      done()
    })
  }

  #keep(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#bytes + bytes > this.#options.maxBufferBytes) {
      if (this.#dropped++ === 0) {
        report(`The buffer is full, so entries are dropped until requests succeed. ${this.#lastProblem}`)
      }
      return
    }
    this.#bytes += bytes
    this.#lines.push(line)
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#lines.length > 0 && Date.now() < this.#endsAtMs) {
      const count = this.#batchSize()
      if (!(await this.#deliver(this.#lines.slice(0, count)))) return
      for (const line of this.#lines.splice(0, count)) this.#bytes -= Buffer.byteLength(line)
      this.#reportDropped()
    }
  }

  #reportDropped(): void {
    if (this.#dropped > 0) report(`${this.#dropped} entries were dropped because the buffer was full.`)
    this.#dropped = 0
  }

  #batchSize(): number {
    let bytes = 0
    const end = this.#lines.findIndex((line, index) => {
      bytes += line.length
      return index > 0 && (bytes > maxBatchBytes || index >= this.#options.maxBatchEntries)
    })
    return end === -1 ? this.#lines.length : end
  }

  /** Sends lines until the service has stored or refused them. Returns false if the time is over. */
  async #deliver(lines: string[]): Promise<boolean> {
    const body = await compress(lines.join('\n'))
    // The same for all attempts, so that the service stores them once.
    const key = randomUUID()
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      const { status, problem, waitMs } = await this.#post(body, key)
      if (status === 200) {
        if (problem !== '') report(problem)
        return true
      }
      if (refused.has(status)) return this.#refuse(lines, problem)
      if (problem !== this.#lastProblem) report(`Entries wait. ${problem}`)
      this.#lastProblem = problem
      await this.#pause(Math.max(waitMs, pauseMs * (0.5 + Math.random() / 2)))
      if (Date.now() >= this.#endsAtMs) return false
    }
  }

  /** One entry can make the service refuse a whole batch. */
  async #refuse(lines: string[], problem: string): Promise<boolean> {
    if (lines.length === 1) {
      report(`An entry was refused. ${problem}`)
      return true
    }
    const half = lines.length >> 1
    return (await this.#deliver(lines.slice(0, half))) && (await this.#deliver(lines.slice(half)))
  }

  async #post(body: Uint8Array<ArrayBuffer>, key: string) {
    const { url, token, timeoutMs } = this.#options
    try {
      const response = await fetch(this.#address, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/x-ndjson',
          'Content-Encoding': 'gzip',
          'X-API-KEY': token,
          'Idempotency-Key': key,
        },
        body,
        // The next address could be of someone else, and would get a GET without the entries.
        redirect: 'manual',
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#end.signal]),
      })
      const { status } = response
      const text = await response.text()
      const answer = answerIn(text)
      const waitMs = Math.min(maxRetryAfterMs, 1000 * (Number(response.headers.get('Retry-After')) || 0))
      if (status === 200 && answer.accepted !== undefined) {
        const reason = answer.errors?.[0]?.reason ?? ''
        const problem = answer.rejected ? `${answer.rejected} entries were rejected: ${reason}` : ''
        return { status, problem, waitMs }
      }
      // Another server, such as a page that asks to sign in, stores nothing.
      if (status < 400) return { status: 0, problem: `${url} is not Wellhead: HTTP ${status}.`, waitMs }
      return { status, problem: answer.error?.message ?? `HTTP ${status}.`, waitMs }
    } catch (error) {
      const { message, cause } = error as Error
      const reason = cause instanceof Error ? cause.message || (cause as { code?: string }).code : message
      return { status: 0, problem: `${url} cannot be reached: ${reason}.`, waitMs: 0 }
    }
  }

  /** Ends early when the process does. */
  #pause(ms: number): Promise<void> {
    const untilMs = Math.min(ms, Math.max(0, this.#endsAtMs - Date.now()))
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, untilMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function answerIn(text: string): ServiceResponse {
  try {
    return (JSON.parse(text) as ServiceResponse | null) ?? {}
  } catch {
    return {}
  }
}

interface ServiceResponse {
  accepted?: number
  rejected?: number
  errors?: { reason: string }[]
  error?: { message: string }
}

/** Synchronous, since messages of a worker are lost when the process ends. */
function report(message: string): void {
  try {
    writeSync(2, `@wellhead/client/pino: ${message.trim()}\n`)
  } catch {
    // Nobody reads it; entries are sent all the same.
  }
}

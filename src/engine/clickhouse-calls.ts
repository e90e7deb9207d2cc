import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import { tooLarge } from '../base/errors.ts'
import { traceHeaders } from '../base/tracing.ts'
import type { InsertInto, Limits, QueryResult, Statement, Summary } from './engine.ts'
import { type CallOutcome, toWellheadError } from './engine-errors.ts'

/** Longer parameters travel in the body: an address has its limit on the way to a remote server. */
const maxAddressParameterBytes = 4096

export interface CallBounds {
  maxResultBytes: number
  /** How long after its deadline a query may take to tell of its own end. */
  graceMs: number
}

type Values = NonNullable<Statement['parameters']>

/** Calls of the official client, with a deadline and a signal on each. */
export class ClickHouseCalls {
  readonly #client: ClickHouseClient
  readonly #bounds: CallBounds

  constructor(client: ClickHouseClient, bounds: CallBounds) {
    this.#client = client
    this.#bounds = bounds
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#bounded(limits, statement.sql, async (signal) => {
      const { body, headers } = multipart(statement.parameters ?? {})
      const result = await this.#client.exec({
        query: `${statement.sql}\nFORMAT ${statement.format}`,
        query_id: limits.queryId ?? randomUUID(),
        abort_signal: signal,
        clickhouse_settings: {
          max_result_bytes: String(this.#bounds.maxResultBytes),
          ...statement.settings,
          max_execution_time: limits.deadlineMs / 1000,
          // Together they make a remote server stop a query whose caller is gone.
          readonly: '2',
          cancel_http_readonly_queries_on_client_close: 1,
          wait_end_of_query: 1,
        },
        ...(body ? { values: body } : { query_params: statement.parameters ?? {} }),
        http_headers: { ...headers, ...(limits.trace && traceHeaders(limits.trace)) },
      })
      const summary = summaryFrom(result.response_headers['x-clickhouse-summary'])
      return { ...summary, body: await this.#collect(result.stream, signal) }
    })
  }

  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary> {
    const columns = target.columns ? ` (${target.columns.join(', ')})` : ''
    return this.#execute(
      `INSERT INTO ${target.table}${columns} FORMAT ${target.format}`,
      target.settings,
      limits,
      {
        values: Readable.from([rows], { objectMode: false }),
      },
    )
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<Summary> {
    return this.#execute(statement.sql, statement.settings, limits, {
      query_params: statement.parameters ?? {},
    })
  }

  async #execute(
    query: string,
    settings: Statement['settings'],
    limits: Limits,
    input: { values: Readable } | { query_params: Values },
  ): Promise<Summary> {
    return this.#bounded(limits, query, async (signal) => {
      const result = await this.#client.exec({
        query,
        query_id: limits.queryId ?? randomUUID(),
        abort_signal: signal,
        clickhouse_settings: {
          ...settings,
          max_execution_time: limits.deadlineMs / 1000,
          wait_end_of_query: 1,
        },
        ...input,
      })
      result.stream.resume()
      return summaryFrom(result.response_headers['x-clickhouse-summary'])
    })
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  async #bounded<T>(limits: Limits, sql: string, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ender = new AbortController()
    let ended: CallOutcome['ended'] = 'by-engine'
    const end = (by: CallOutcome['ended']) => {
      ended = by
      ender.abort()
    }
    const onAbort = () => end('by-caller')
    if (limits.signal?.aborted) onAbort()
    limits.signal?.addEventListener('abort', onAbort, { once: true })
    // The engine stops the query at the deadline and says so; this only helps when it does not.
    const timer = setTimeout(() => end('by-deadline'), limits.deadlineMs + this.#bounds.graceMs)
    try {
      ender.signal.throwIfAborted()
      return await call(ender.signal)
    } catch (error) {
      throw toWellheadError(error, { deadlineMs: limits.deadlineMs, ended, sql })
    } finally {
      clearTimeout(timer)
      limits.signal?.removeEventListener('abort', onAbort)
    }
  }

  async #collect(stream: Readable, signal: AbortSignal): Promise<Buffer> {
    // The client lets go of the signal once the head of the answer is there.
    const onAbort = () => stream.destroy(new Error('aborted'))
    signal.addEventListener('abort', onAbort, { once: true })
    const chunks: Buffer[] = []
    let length = 0
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        length += chunk.length
        if (length > this.#bounds.maxResultBytes) {
          throw tooLarge(`The result is larger than ${this.#bounds.maxResultBytes} bytes; ask for less.`)
        }
        chunks.push(chunk)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
  }
}

/** ClickHouse's own text form of a value, with the characters escaped that would end it. */
function fieldText(value: Values[string]): string {
  if (value === null) return '\\N'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number') return String(value)
  return value.replace(/[\\\t\n\r']/g, (character) => escapes[character] as string)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', "'": "\\'" }

function multipart(parameters: Values): { body?: Readable; headers: Record<string, string> } {
  const fields = Object.entries(parameters).map(([name, value]) => [name, fieldText(value)] as const)
  let length = 0
  for (const [name, value] of fields) length += name.length + Buffer.byteLength(value)
  if (length <= maxAddressParameterBytes) return { headers: {} }
  const boundary = `wellhead-${randomUUID()}`
  const parts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="param_${name}"\r\n\r\n${value}\r\n`,
  )
  return {
    body: Readable.from([Buffer.from(`${parts.join('')}--${boundary}--\r\n`)], { objectMode: false }),
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  }
}

function summaryFrom(header: string | string[] | undefined): Summary {
  const fields = typeof header === 'string' ? (JSON.parse(header) as Record<string, string>) : {}
  return {
    readRows: known(fields.read_rows),
    readBytes: known(fields.read_bytes),
    writtenRows: Number(fields.written_rows ?? 0),
    writtenBytes: Number(fields.written_bytes ?? 0),
  }
}

function known(count: string | undefined): number | undefined {
  return count === undefined ? undefined : Number(count)
}

import { randomUUID } from 'node:crypto'
import { traceHeaders } from '../base/tracing.ts'
import type { ClickHouseHttp, HttpAnswer, HttpCall } from './clickhouse-http.ts'
import type { InsertInto, Limits, QueryResult, Statement, Summary } from './engine.ts'
import { type CallOutcome, toWellheadError } from './engine-errors.ts'

/** Longer parameters are sent in the body, because the length of a URL is limited. */
const maxUrlParameterBytes = 4096

export interface CallBounds {
  maxResultBytes: number
  /** How long after its deadline a query may take to report its own end. */
  graceMs: number
  /** Whether a query is sent again when its connection turns out to be closed. */
  repeatQueries: boolean
}

type Settings = Record<string, string | number>
type Values = NonNullable<Statement['parameters']>

/** The engine's calls over HTTP, each with a deadline and a signal. */
export class ClickHouseCalls {
  readonly #server: ClickHouseHttp
  readonly #bounds: CallBounds

  constructor(server: ClickHouseHttp, bounds: CallBounds) {
    this.#server = server
    this.#bounds = bounds
  }

  async query(statement: Statement, limits: Limits): Promise<QueryResult> {
    const { maxResultBytes, repeatQueries } = this.#bounds
    const settings = {
      max_result_bytes: maxResultBytes,
      ...statement.settings,
      // Together they make a remote server stop a query whose caller is gone.
      readonly: 2,
      cancel_http_readonly_queries_on_client_close: 1,
    }
    const message = messageOf(`${statement.sql}\nFORMAT ${statement.format}`, statement.parameters)
    const answer = await this.#run(limits, settings, { ...message, repeatable: repeatQueries })
    return { ...summaryFrom(answer), body: answer.body }
  }

  async insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary> {
    const columns = target.columns ? ` (${target.columns.join(', ')})` : ''
    const query = `INSERT INTO ${target.table}${columns} FORMAT ${target.format}`
    return summaryFrom(await this.#run(limits, { ...target.settings, query }, { body: rows }))
  }

  async command({ sql, settings, parameters }: Omit<Statement, 'format'>, limits: Limits): Promise<Summary> {
    return summaryFrom(await this.#run(limits, { ...settings }, messageOf(sql, parameters)))
  }

  close(): void {
    this.#server.close()
  }

  async #run(
    limits: Limits,
    settings: Settings,
    { search, headers, ...call }: Omit<HttpCall, 'maxResponseBytes'>,
  ): Promise<HttpAnswer> {
    const { deadlineMs, signal, trace } = limits
    let ended: CallOutcome['ended'] = 'by-engine'
    let stop = () => {}
    const onAbort = () => {
      ended = 'by-caller'
      stop()
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    // The engine stops the query at the deadline and says so; this only helps when it does not.
    const timer = setTimeout(() => {
      ended = 'by-deadline'
      stop()
    }, deadlineMs + this.#bounds.graceMs)
    try {
      if (signal?.aborted) onAbort()
      signal?.throwIfAborted()
      const { answer, end } = this.#server.call({
        ...call,
        search: {
          query_id: limits.queryId ?? randomUUID(),
          ...(settings as Record<string, string>),
          max_execution_time: String(deadlineMs / 1000),
          wait_end_of_query: '1',
          ...search,
        },
        headers: { ...headers, ...(trace && traceHeaders(trace)) },
        maxResponseBytes: this.#bounds.maxResultBytes,
      })
      stop = end
      return await answer
    } catch (error) {
      throw toWellheadError(error, { deadlineMs, ended })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }
}

/** ClickHouse's own text form of a value, with the characters escaped that would end it. */
export function fieldText(value: Values[string]): string {
  if (value === null) return '\\N'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number') return String(value)
  return value.replace(/[\\\t\n\r']/g, (character) => escapes[character] as string)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', "'": "\\'" }

/** A statement and its values, which never become part of its text here. */
function messageOf(sql: string, parameters: Values = {}): Pick<HttpCall, 'search' | 'headers' | 'body'> {
  const fields = Object.entries(parameters).map(
    ([name, value]) => [`param_${name}`, fieldText(value)] as const,
  )
  let length = 0
  for (const [name, value] of fields) length += name.length + Buffer.byteLength(value)
  if (length <= maxUrlParameterBytes) return { search: Object.fromEntries(fields), body: Buffer.from(sql) }
  const boundary = `wellhead-${randomUUID()}`
  const parts = [['query', sql] as const, ...fields].map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return {
    body: Buffer.from(`${parts.join('')}--${boundary}--\r\n`),
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  }
}

function summaryFrom({ summary }: HttpAnswer): Summary {
  const fields = summary === undefined ? {} : (JSON.parse(summary) as Record<string, string>)
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

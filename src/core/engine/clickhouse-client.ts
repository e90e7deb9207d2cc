import { randomUUID } from 'node:crypto'
import { withDeadline } from '../base/clock.ts'
import { traceHeaders } from '../base/tracing.ts'
import { sqlText } from '../sql/names.ts'
import {
  ClickHouseHttp,
  type ClickHouseServer,
  type HttpRequest,
  type HttpResponse,
} from './clickhouse-http.ts'
import type { InsertInto, Limits, QueryResult, Statement } from './engine.ts'
import { toWellheadError } from './engine-errors.ts'

/** Longer parameters are sent in the body, because the length of a URL is limited. */
const maxUrlParameterBytes = 4096

/** A server refuses fields of a URL or a form that are longer than 128 KiB. */
const maxSettingBytes = 32 * 2 ** 10
const fieldTexts = /.{1,30000}/gsu

interface ClientLimits {
  maxResultBytes: number
  /** Time after its deadline in which the engine should report the end of a query. */
  graceMs: number
  /** Whether a query is repeated if its connection turns out to be closed. */
  repeatQueries: boolean
}

type Settings = Record<string, string | number>
type Values = NonNullable<Statement['parameters']>

export class ClickHouseClient {
  /** For requests that are no statements, or that have as few settings as possible. */
  readonly http: ClickHouseHttp
  readonly #limits: ClientLimits

  constructor(server: ClickHouseServer, limits: ClientLimits) {
    this.http = new ClickHouseHttp(server)
    this.#limits = limits
  }

  async query(statement: Statement, limits: Limits): Promise<QueryResult> {
    const { maxResultBytes, repeatQueries } = this.#limits
    const settings = {
      max_result_bytes: maxResultBytes,
      ...statement.settings,
      // Together they make a remote server stop the query when the connection closes.
      readonly: 2,
      cancel_http_readonly_queries_on_client_close: 1,
    }
    const [short, tail] = withoutLong(settings)
    const message = messageOf(`${statement.sql}\nFORMAT ${statement.format}${tail}`, statement.parameters)
    const response = await this.#run(limits, short, { ...message, repeatable: repeatQueries })
    const summary = JSON.parse(response.summary ?? '{}') as Record<string, string>
    const count = (text: string | undefined) => (text === undefined ? undefined : Number(text))
    return { body: response.body, readRows: count(summary.read_rows), readBytes: count(summary.read_bytes) }
  }

  async insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<void> {
    const columns = target.columns ? ` (${target.columns.join(', ')})` : ''
    const query = `INSERT INTO ${target.table}${columns} FORMAT ${target.format}`
    await this.#run(limits, { ...target.settings, query }, { body: rows })
  }

  async command({ sql, settings, parameters }: Omit<Statement, 'format'>, limits: Limits): Promise<void> {
    await this.#run(limits, { ...settings }, messageOf(sql, parameters))
  }

  close(): void {
    this.http.close()
  }

  async #run(
    limits: Limits,
    settings: Settings,
    { search, headers, ...request }: Omit<HttpRequest, 'maxResponseBytes'>,
  ): Promise<HttpResponse> {
    const { deadlineMs, trace } = limits
    const send = async (signal: AbortSignal) => {
      try {
        signal.throwIfAborted()
        return await this.http.send({
          ...request,
          signal,
          search: {
            query_id: limits.queryId ?? randomUUID(),
            max_execution_time: String(deadlineMs / 1000),
            ...(settings as Record<string, string>),
            wait_end_of_query: '1',
            // In memory: otherwise the server writes each result to a file first.
            buffer_size: String(this.#limits.maxResultBytes),
            ...search,
          },
          headers: { ...headers, ...(trace && traceHeaders(trace)) },
          maxResponseBytes: this.#limits.maxResultBytes,
        })
      } catch (error) {
        const ended = limits.signal?.aborted ? 'by-caller' : signal.aborted ? 'by-deadline' : 'by-engine'
        if (ended === 'by-deadline') limits.onOverdue?.()
        throw toWellheadError(error, { deadlineMs, ended })
      }
    }
    // The engine itself stops the query at the deadline; this one helps if it does not.
    return withDeadline(deadlineMs + this.#limits.graceMs, limits.signal, send)
  }
}

/** ClickHouse's escaped text form of a value. */
function fieldText(value: Values[string]): string {
  if (value === null) return '\\N'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return `[${value.map(itemText)}]`
  return escaped(value)
}

const itemText = (value: string | number | boolean) =>
  typeof value === 'string' ? `'${escaped(value)}'` : fieldText(value)

function escaped(value: string): string {
  return value.replace(/[\\\t\n\r']/g, (character) => escapes[character] as string)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', "'": "\\'" }

/** Moves settings that are too long for a URL, such as filters of hundreds of tables, to the end of the statement. */
function withoutLong(settings: Settings): [short: Settings, tail: string] {
  const isLong = ([, value]: [string, string | number]) => String(value).length > maxSettingBytes
  const all = Object.entries(settings)
  const long = all.filter(isLong).map(([name, value]) => `${name} = ${sqlText(String(value))}`)
  if (long.length === 0) return [settings, '']
  return [Object.fromEntries(all.filter((setting) => !isLong(setting))), `\nSETTINGS ${long.join(', ')}`]
}

/** Sends the values beside the statement, never inside its text. */
function messageOf(sql: string, parameters: Values = {}): Pick<HttpRequest, 'search' | 'headers' | 'body'> {
  const fields = Object.entries(parameters).map(
    ([name, value]) => [`param_${name}`, fieldText(value)] as const,
  )
  let length = 0
  for (const [name, value] of fields) length += name.length + Buffer.byteLength(value)
  if (length <= maxUrlParameterBytes) return { search: Object.fromEntries(fields), body: Buffer.from(sql) }
  const boundary = `wellhead-${randomUUID()}`
  // A server joins the parts of the statement.
  const texts = sql.match(fieldTexts) ?? []
  const parts = [...texts.map((text) => ['query', text] as const), ...fields].map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return {
    body: Buffer.from(`${parts.join('')}--${boundary}--\r\n`),
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  }
}

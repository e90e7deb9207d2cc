import { setImmediate as giveWay } from 'node:timers/promises'
import { endpointNotFound, invalidQuery, missingParameter, WellheadError } from '../../core/base/errors.ts'
import { packageFile } from '../../core/base/package-file.ts'
import { closestName } from '../../core/base/text/closest-name.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import { type CallRequest, callOf } from '../../core/endpoints/call/call.ts'
import type { EndpointCalls } from '../../core/endpoints/call/endpoint-calls.ts'
import type { EndpointRunner } from '../../core/endpoints/call/endpoint-runner.ts'
import { findFormat, type OutputFormat } from '../../core/endpoints/call/output-formats.ts'
import type { EndpointDefinition } from '../../core/endpoints/definition/definition.ts'
import { readDefinitions } from '../../core/endpoints/definition/definition-file.ts'
import { compileEndpoint, type Endpoint } from '../../core/endpoints/definition/endpoint.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { editSql } from '../../core/sql/edits.ts'
import { Query } from '../../core/sql/query.ts'
import { identifierOf, isSymbol } from '../../core/sql/tokens.ts'
import { translateBigQuery } from './bigquery/translate.ts'
import { withTime } from './bigquery/value.ts'
import { bigQueryDefinition, logTables } from './log-views.ts'

export interface LogEndpointsOptions {
  engine: Engine
  sources: Pick<Sources, 'readable'>
  calls: EndpointCalls
  runner: Pick<EndpointRunner, 'inTurn'>
}

type LogRequest = { name: string } & Pick<CallRequest, 'parameters' | 'caller' | 'signal'>

/** What depends on the typed columns of the sources. */
interface Compiled {
  from: ReturnType<Sources['readable']>
  tables: ReturnType<typeof logTables>
  endpoints: ReadonlyMap<string, Endpoint>
}

/** What the public API calls the endpoint with ClickHouse SQL. */
const otelNames = ['logs.all.otel', 'logs']

/** The endpoints that Studio calls. They are apart from those of the catalog, some of which have the same names. */
export class LogEndpoints {
  readonly #options: LogEndpointsOptions
  readonly #shipped: readonly EndpointDefinition[]
  #compiled: Promise<Compiled | undefined> | undefined

  constructor(options: LogEndpointsOptions) {
    this.#options = options
    this.#shipped = readDefinitions(packageFile('shipped/logflare'))
  }

  /** Compiles the endpoints. They are usable afterward. */
  async open(): Promise<void> {
    await this.#current()
  }

  /** Translates into SQL over the sources, without running it. */
  translate(sql: string): string {
    const { typedColumns } = this.#options.sources.readable()
    return translateBigQuery(sql, logTables(typedColumns, 'sources')).sql
  }

  async run(request: LogRequest): Promise<Buffer> {
    const { name, parameters, caller, signal } = request
    const compiled = await this.#current()
    const endpoint = compiled.endpoints.get(name)
    if (!endpoint) throw endpointNotFound(name, closestName(name, compiled.endpoints.keys()))
    const { project, sql, iso_timestamp_start: start, iso_timestamp_end: end } = parameters
    if (!project) throw missingParameter('project')
    const isBigQuery = name === 'logs.all'
    if (isBigQuery && !sql) throw missingParameter('sql')
    // In the caller's turn: nobody waits for SQL of others to be read.
    const translate = async () => {
      await giveWay()
      return translateBigQuery(sql as string, compiled.tables)
    }
    const query = isBigQuery
      ? await this.#options.runner.inTurn({ ...request, project }, translate)
      : undefined
    const call = callOf({
      endpoint: query ? { ...endpoint, definition: { ...endpoint.definition, json: query.json } } : endpoint,
      parameters: {
        ...parameters,
        ...(start !== undefined && { iso_timestamp_start: withTime(start) }),
        ...(end !== undefined && { iso_timestamp_end: withTime(end) }),
        ...(sql !== undefined && { sql: query?.sql ?? overLogsView(sql) }),
      },
      format: findFormat('json') as OutputFormat,
      // The engine itself leaves out rows of other projects, whatever the views do.
      project,
      retentionDays: this.#options.calls.retentionOf(project),
      caller,
      // Everybody who uses Studio.
      isSharedToken: true,
      signal,
    })
    try {
      const { body } = (await this.#options.calls.call(call)).result
      return query && query.json.length > 0 ? await wrapObjects(body) : body
    } catch (error) {
      if (!invalidQuery.is(error)) throw error
      if (!query) throw new WellheadError(invalidQuery, error.message.replaceAll(logsView, 'logs'), error)
      // Positions would refer to the translated SQL, and so would the names of its tables.
      throw invalidQuery(error.message.replace(/\b[TQR]\d*\./g, '').replace(/\bView_(\w+)/g, '$1'))
    }
  }

  /** Compiled once, and again when the typed columns of a source change. */
  async #current(): Promise<Compiled> {
    const from = this.#options.sources.readable()
    const latest = await this.#compiled
    if (latest?.from === from) return latest
    const compiling = this.#compile(from)
    this.#compiled = compiling.catch(() => undefined)
    return compiling
  }

  async #compile(from: Compiled['from']): Promise<Compiled> {
    const definitions = [bigQueryDefinition(from.typedColumns), ...this.#shipped]
    const endpoints = await Promise.all(
      definitions.map((definition) => compileEndpoint(this.#options.engine, definition, 1, from)),
    )
    const byName = new Map(endpoints.map((endpoint) => [endpoint.definition.name, endpoint]))
    for (const name of otelNames) byName.set(name, byName.get('logs.all.otel') as Endpoint)
    return { from, tables: logTables(from.typedColumns, 'views'), endpoints: byName }
  }
}

/** No source has a capital letter. The length is that of the name that callers know, for the positions of errors. */
const logsView = 'Logs'

/** Reads the view instead of logs, which can be the name of a source. */
function overLogsView(sql: string): string {
  const { tokens, scopes, subqueriesBy } = new Query(sql)
  if (subqueriesBy.has('logs')) return sql
  const edits = tokens.flatMap((token, at) => {
    const isTable =
      scopes.tableTokens.has(at) || (isSymbol(tokens[at + 1], '.') && !isSymbol(tokens[at - 1], '.'))
    if (!isTable || identifierOf(token) !== 'logs') return []
    return [{ start: token.start, end: token.end, text: token.text.replace('logs', logsView) }]
  })
  return editSql(sql, edits).text
}

/** The response, its list and its rows. */
const outerLevels = 3
/** Other requests get a turn after so much of a response, which can have many megabytes. */
const turnBytes = 128 * 1024

const [quote, backslash] = [0x22, 0x5c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** What an open bracket is. */
const [list, object, wrappedObject] = [0, 1, 2]

/**
 * Turns every object inside of a row into an array of one object, as BigQuery returns nested fields. Objects that are in
 * an array already stay as they are. Works on the text, so that numbers keep all of their digits.
 */
export async function wrapObjects(body: Buffer): Promise<Buffer> {
  // A brace becomes at most two bytes.
  const wrapped = Buffer.allocUnsafe(2 * body.length)
  const open: number[] = []
  let [length, isString, turn] = [0, false, turnBytes]
  for (let at = 0; at < body.length; at++) {
    if (at >= turn) {
      await giveWay()
      turn = at + turnBytes
    }
    const byte = body[at] as number
    const isWrapped =
      byte === openObject && !isString && open.length >= outerLevels && open[open.length - 1] !== list
    if (isWrapped) wrapped[length++] = openList
    wrapped[length++] = byte
    if (byte === quote) isString = !isString
    else if (isString) {
      if (byte === backslash) wrapped[length++] = body[++at] as number
    } else if (byte === openObject) open.push(isWrapped ? wrappedObject : object)
    else if (byte === openList) open.push(list)
    else if ((byte === closeObject || byte === closeList) && open.pop() === wrappedObject)
      wrapped[length++] = closeList
  }
  return wrapped.subarray(0, length)
}

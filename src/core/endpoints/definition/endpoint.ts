import { invalidQuery } from '../../base/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import { checkSql, checkTokens, type SourceNames } from '../../sql/check.ts'
import { withHint } from '../../sql/hints/with-hint.ts'
import { sqlName } from '../../sql/names.ts'
import { queryOf, type WithClause } from '../../sql/query.ts'
import { isPlainName } from '../../sql/subquery-names.ts'
import type { SampledSources } from '../../sql/warnings/path-warnings.ts'
import type { EndpointDefinition } from './definition.ts'
import { type KnownEndpoints, nothingExpanded } from './inner-endpoints.ts'
import { otherValues, sampleNowMicros } from './parameter-declaration.ts'
import { bindQuery, type CompiledQuery, type SourceColumns, sampleParameters, withNow } from './parameters.ts'
import { describeColumns, type ResultColumn } from './result-columns.ts'

/** A checked endpoint: its query compiles, reads only sources, and returns these columns. */
export interface Endpoint {
  readonly definition: EndpointDefinition
  readonly version: number
  readonly compiled: CompiledQuery
  readonly columns: readonly ResultColumn[]
}

export interface KnownSources extends SourceColumns, SourceNames {
  /** For hints. */
  readonly sampled?: SampledSources
  readonly endpoints?: KnownEndpoints
}

/** Checks a definition before it is saved and finds its columns. Throws if its query is invalid. */
export function compileEndpoint(...compiled: Parameters<typeof compile>): Promise<Endpoint> {
  return compile(...compiled).catch(async (error) => {
    const [, definition, , sources] = compiled
    const { aliased, sampled } = sources
    throw await withHint(error, definition.query, { tables: sources.keys(), aliased, sampled })
  })
}

async function compile(
  engine: Pick<Engine, 'query'>,
  definition: EndpointDefinition,
  version: number,
  sources: KnownSources,
  /** Undefined if it can run more than once. */
  onlyRun?: { values: Readonly<Record<string, string>>; nowMicros: bigint },
): Promise<Endpoint> {
  checkTokens(queryOf(definition.query))
  if (definition.sandbox) sandboxViews(definition.query)
  const nesting = { path: [definition.name], expanded: nothingExpanded(), comparesTypes: !onlyRun }
  const compiled = bindQuery(definition.query, definition.parameters, sources, nesting)
  const parameters = onlyRun
    ? withNow(compiled.check(onlyRun.values), onlyRun.nowMicros)
    : sampleParameters(definition, compiled)
  await checkSql(engine, { sql: compiled.sql, parameters }, sources, compiled.edited)
  const unused = unusedSubqueries(compiled)
  if (unused !== undefined) {
    await checkSql(engine, { sql: unused, parameters }, sources)
    await describeColumns(engine, { sql: unused, parameters })
  }
  const statement = { sql: compiled.prunedSql, parameters }
  if (compiled.prunedSql !== compiled.sql) await checkSql(engine, statement, sources)
  const columns = await describeColumns(engine, statement)
  if (!onlyRun) await checkColumnNames(engine, definition, compiled, columns)
  return { definition, version, compiled, columns }
}

/** A query that uses the subqueries that are not sent: the engine does not check unused ones. */
function unusedSubqueries({ sql, prunedSql }: CompiledQuery): string | undefined {
  const clause = queryOf(sql).leadingWith
  const kept = queryOf(prunedSql).leadingWith?.names ?? []
  const unused = clause?.names.filter((name) => !kept.includes(name)) ?? []
  if (!clause || sql === prunedSql || unused.length === 0) return undefined
  return clause.text + unused.map((name) => `SELECT 1 FROM ${sqlName(name)}`).join('\nUNION ALL\n')
}

/** The engine names a column without a name after its values, so requests with other values would not find it. */
async function checkColumnNames(
  engine: Pick<Engine, 'query'>,
  { parameters }: EndpointDefinition,
  compiled: CompiledQuery,
  columns: readonly ResultColumn[],
): Promise<void> {
  if (!columns.some(({ name }) => name.includes("'"))) return
  const describeWithOthers = async () => {
    const values = withNow(compiled.check(otherValues(parameters, compiled.names)), sampleNowMicros + 1n)
    return describeColumns(engine, { sql: compiled.prunedSql, parameters: values })
  }
  // SQL and endpoints that it reads can accept some values only.
  const others = await describeWithOthers().catch(() => columns)
  const unnamed = columns.findIndex(({ name }, index) => others[index]?.name !== name)
  if (unnamed < 0) return
  throw invalidQuery(
    `Column ${unnamed + 1} of the result contains a parameter, so it needs a name: … AS name.`,
  )
}

/** The named subqueries of the leading WITH clause, which are all that a caller's SQL can read. Throws if there are none. */
export function sandboxViews(query: string): WithClause {
  const clause = queryOf(query).leadingWith
  const names = clause?.names.filter(isPlainName) ?? []
  if (!clause || names.length === 0) {
    throw invalidQuery(
      'The query of a sandbox must start with the views that callers can read: WITH name AS (SELECT …).',
    )
  }
  return { ...clause, names }
}

import { invalidQuery } from '../../base/errors.ts'
import type { Engine, Limits, Statement } from '../../engine/engine.ts'
import { checkTokens, checkTree, isPlainName } from '../../sql/check.ts'
import { editSql } from '../../sql/edits.ts'
import { authorPosition, positionOf, retold } from '../../sql/errors.ts'
import { isSandboxFunction } from '../../sql/functions.ts'
import { callerSqlSettings, isolationSettings } from '../../sql/isolation.ts'
import { engineDatabase } from '../../sql/names.ts'
import { pathEdits } from '../../sql/paths.ts'
import { sqlTokens } from '../../sql/tokens.ts'
import { parseSelect, parseSql, type SqlNode } from '../../sql/tree.ts'
import { leadingWith, subqueryNames, type WithClause, withoutUnused } from '../../sql/with.ts'
import type { Endpoint } from './endpoint.ts'
import { withNow } from './parameters.ts'
import { describeColumns, type ResultColumn } from './result-columns.ts'
import { possibleSources } from './row-filters.ts'
import { sampleValues } from './sample-values.ts'

/** To look at SQL takes at most so long, however long it may run. */
export const maxCheckMs = 10_000

/** Maximum length of a caller's SQL. */
export const maxSandboxBytes = 64 * 1024

type Bound = Pick<Statement, 'sql' | 'parameters'>

/** Refuses the query of a sandboxed endpoint that has no views for callers to read. */
export function checkSandboxDefinition(query: string): void {
  viewsOf(query)
}

/** The subqueries that the query names at its beginning. They are all that a caller's SQL can read. */
function viewsOf(query: string): WithClause {
  const clause = leadingWith(query)
  const names = clause?.names.filter((name) => /^[A-Za-z]\w*$/.test(name)) ?? []
  if (!clause || names.length === 0) {
    throw invalidQuery(
      'The query of a sandbox must begin with the views that callers read: WITH name AS (SELECT …).',
    )
  }
  return { ...clause, names }
}

/**
 * The endpoint with the caller's SELECT in place of its final one. The caller's SQL reads the endpoint's views and
 * generators, and nothing else. What it selects is learnt without a look at any row, so the outcome is the same for
 * all callers and values.
 */
export async function compileSandboxed(
  engine: Engine,
  endpoint: Endpoint,
  sql: string,
  /** What is left of the time of the call; asked before each statement. */
  limits: () => Limits = () => ({ deadlineMs: maxCheckMs }),
): Promise<Endpoint> {
  const own = sandboxText(sql)
  const edited = editSql(own, pathEdits(own))
  const { text } = edited
  const views = viewsOf(endpoint.compiled.sql)
  const nodes = await parseSelect(engine, { sql: text }, limits()).catch((error) => {
    throw retold(error, ({ line, column }) => authorPosition(edited, { line: line - 1, column }))
  })
  const subqueries = subqueryNames(text)
  const checkTable = (name: string) => {
    if (!views.names.includes(name) && !subqueries.has(name)) {
      throw invalidQuery(`"${name}" cannot be read here. What can be read: ${views.names.join(', ')}.`)
    }
  }
  checkTree(nodes, checkTable, checkSandboxFunction)
  const tables = await tableNames(engine, limits())
  for (const name of subqueries) {
    if (!isPlainName(name))
      throw invalidQuery(`The subquery ${name} needs a plain name, of letters and digits.`)
  }
  checkNames([...subqueries, ...nodes.flatMap(({ alias }) => alias ?? [])], views, tables)
  const read = views.names.filter((view) =>
    nodes.some(({ kind, name }) => tableKinds.has(kind) && name === view),
  )
  const ambiguous = read.find((name) => tables.has(name))
  if (ambiguous !== undefined) {
    throw invalidQuery(`The view ${ambiguous} of this endpoint has the name of a source and cannot be read.`)
  }
  const parameters = withNow(endpoint.compiled.check(sampleValues(endpoint.definition.parameters)), 0n)
  const statement = { sql: compose(views, read, text), parameters }
  await checkPlace(engine, statement, nodes, read.length, limits())
  await checkViews(engine, endpoint, views, read, parameters, tables, limits)
  const columns = await describe(engine, statement, tables, limits()).catch((error) => {
    throw retold(error, () => undefined)
  })
  if (columns.some(({ name }) => namelessSubquery.test(name))) {
    throw invalidQuery('A subquery that is selected needs a name: (SELECT …) AS name.')
  }
  const compiled = {
    ...endpoint.compiled,
    sql: statement.sql,
    sent: statement.sql,
    possibleSources: possibleSources(statement.sql),
  }
  return { ...endpoint, compiled, columns }
}

function checkSandboxFunction(name: string): void {
  if (isSandboxFunction(name)) return
  throw invalidQuery(
    `The function ${name} is not allowed in a sandbox: the engine cannot stop it at a time limit.`,
  )
}

/** What can be told from the caller's text alone. Returns it without the semicolons that people write at the end. */
export function sandboxText(sql: string): string {
  if (Buffer.byteLength(sql) > maxSandboxBytes) {
    throw invalidQuery(`sql must be at most ${maxSandboxBytes} bytes long.`)
  }
  const tokens = [...sqlTokens(sql)]
  const parameter = tokens.find(({ kind }) => kind === 'parameter')
  if (parameter) {
    const name = sql.slice(parameter.start, parameter.end)
    throw invalidQuery(
      `${name} is for the endpoint's own SQL; write the value.`,
      positionOf(sql, parameter.start),
    )
  }
  const code = tokens.filter(({ kind }) => kind !== 'space' && kind !== 'comment')
  const last = code.findLast(({ kind, start }) => kind !== 'symbol' || sql[start] !== ';')
  const text = last ? sql.slice(0, last.end) : ''
  checkTokens(text)
  return text
}

/** What the engine calls it depends on what is around it, so nothing outside could name it. */
const namelessSubquery = /_subquery_?\d/

const tableKinds = new Set(['TableIdentifier', 'Identifier'])

/**
 * The names that the caller's SQL gives. One that it gives to a subquery is found by the engine wherever it is in scope,
 * in a view of the endpoint too, and elsewhere it would be a table; so it must be nobody else's.
 */
function checkNames(names: readonly string[], views: WithClause, tables: ReadonlySet<string>): void {
  const taken = names.find((name) => tables.has(name) || views.names.includes(name))
  if (taken !== undefined) throw invalidQuery(`The name ${taken} is taken here; choose another.`)
}

/**
 * Each view with all that it uses of the endpoint's WITH clause around it. The engine looks for a name in the SELECT that
 * uses a view before it looks around the view's definition; with the clause inside, nothing is left for it to look for
 * outside.
 */
function compose(views: WithClause, read: readonly string[], sql: string): string {
  const definitions = read.map((name) => `\`${name}\` AS (\n${viewAlone(views, name)}\n)`)
  return `${definitions.length > 0 ? `WITH ${definitions.join(',\n')}\n` : ''}SELECT * FROM (\n${sql}\n)`
}

function viewAlone({ text }: WithClause, name: string): string {
  return withoutUnused(`${text}SELECT * FROM \`${name}\``)
}

/** The tree of the composed SQL must hold the tree of the caller's, unchanged, where a table stands, and nowhere else. */
async function checkPlace(
  engine: Engine,
  statement: Bound,
  nodes: readonly SqlNode[],
  definitions: number,
  limits: Limits,
): Promise<void> {
  const composed = await parseSql(engine, statement, limits)
  const placed = composed.slice(-nodes.length)
  const same = placed.every((node, index) => {
    const { depth, kind, name, alias } = nodes[index] as SqlNode
    return node.depth === depth && node.kind === kind && node.name === name && node.alias === alias
  })
  const select = composed[2]
  const lists = select?.children.map(({ kind, children }) => [kind, children.length].join()) ?? []
  const expected = ['ExpressionList,1', 'TablesInSelectQuery,1']
  if (definitions > 0) expected.unshift(`ExpressionList,${definitions}`)
  const subquery = select?.children.at(-1)?.children[0]?.children[0]?.children[0]
  if (!same || lists.join() !== expected.join() || subquery?.children[0] !== placed[0]) {
    throw invalidQuery('The SQL does not stay in its place.')
  }
}

/** Views that are known to need nothing but the clause they are defined in. */
const checkedViews = new WeakMap<Endpoint, Set<string>>()

/** A view that needs a name of the endpoint's final SELECT would find what a caller put under that name. */
async function checkViews(
  engine: Engine,
  endpoint: Endpoint,
  views: WithClause,
  names: readonly string[],
  parameters: Bound['parameters'],
  tables: ReadonlySet<string>,
  limits: () => Limits,
): Promise<void> {
  const known = checkedViews.get(endpoint) ?? new Set()
  checkedViews.set(endpoint, known)
  for (const name of names) {
    if (known.has(name)) continue
    const sql = viewAlone(views, name)
    await describe(engine, { sql, ...(parameters && { parameters }) }, tables, limits()).catch((error) => {
      throw invalidQuery.is(error) ? invalidQuery(`The view ${name} cannot be read on its own.`) : error
    })
    known.add(name)
  }
}

async function tableNames(engine: Engine, limits: Limits): Promise<Set<string>> {
  const { body } = await engine.query(
    {
      sql: 'SELECT name FROM system.tables WHERE database = {database:String}',
      parameters: { database: engineDatabase },
      format: 'TabSeparatedRaw',
    },
    limits,
  )
  return new Set(body.toString().split('\n').filter(Boolean))
}

/**
 * The columns of a statement. To tell them the engine runs scalar subqueries, so every table is empty to it: neither a
 * type nor an error can tell of a row, and little is done before the caller's turn has come.
 */
async function describe(
  engine: Engine,
  statement: Bound,
  tables: ReadonlySet<string>,
  limits: Limits,
): Promise<ResultColumn[]> {
  const filters = [...tables]
    .filter((table) => /^\w+$/.test(table))
    .map((table) => `'${engineDatabase}.${table}':'0'`)
  const settings = {
    ...isolationSettings,
    ...callerSqlSettings,
    additional_table_filters: `{${filters.join()}}`,
    max_threads: 1,
    max_memory_usage: 2 ** 28,
  }
  return describeColumns(engine, { ...statement, settings }, limits)
}

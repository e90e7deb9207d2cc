import { invalidQuery } from '../../base/errors.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import type { Engine, Limits } from '../../engine/engine.ts'
import { tableNames } from '../../engine/stored-tables.ts'
import { callerTokens, checkTokens, checkTree, parseEdited, tableAliases } from '../../sql/check.ts'
import { editSql, positionOf } from '../../sql/edits.ts'
import { authorError } from '../../sql/errors.ts'
import { isSandboxFunction } from '../../sql/functions.ts'
import { positionOfTable } from '../../sql/hints/name-hints.ts'
import { withHint } from '../../sql/hints/with-hint.ts'
import {
  callerSqlSettings,
  isolationSettings,
  namesOfTable,
  tableFilterSettings,
} from '../../sql/isolation.ts'
import { matchesEdits } from '../../sql/matches.ts'
import { pathEdits } from '../../sql/paths.ts'
import { checkPatterns } from '../../sql/patterns.ts'
import { Query, queryOf, type WithClause } from '../../sql/query.ts'
import { isGivenName, subqueryEdits } from '../../sql/subquery-names.ts'
import { parseSql, type SqlNode } from '../../sql/tree.ts'
import { type Endpoint, sandboxViews } from './endpoint.ts'
import { type BoundValues, factsOf, sampleParameters } from './parameters.ts'
import { describeColumns, type ResultColumn } from './result-columns.ts'

/** Maximum time to check SQL, even if the endpoint can run longer. */
export const maxCheckMs = 10_000

interface Checking {
  engine: Engine
  /** The remaining time of the request, read before each statement. */
  limits: () => Limits
  tables: ReadonlySet<string>
}

/** Replaces the final SELECT by the caller's, which can read the views and generators, and nothing else. */
export function compileSandboxed(...compiled: Parameters<typeof compile>): Promise<Endpoint> {
  const [, endpoint, sql] = compiled
  return compile(...compiled).catch(async (error) => {
    // Hints name the views only: sources are out of reach here.
    const tables = sandboxViews(endpoint.compiled.sql).names
    throw await withHint(error, sql, { tables, isSandbox: true })
  })
}

async function compile(
  engine: Engine,
  endpoint: Endpoint,
  sql: string,
  limits: () => Limits = () => ({ deadlineMs: maxCheckMs }),
): Promise<Endpoint> {
  const query = readSandboxed(sql)
  const { sql: own } = query
  // The engine would find a subquery of the caller inside the views as well.
  const taken = new Set([...queryOf(endpoint.compiled.sql).subqueriesBy.keys()].filter(isGivenName))
  const edited = editSql(own, [...pathEdits(query), ...matchesEdits(query), ...subqueryEdits(query, taken)])
  const { text } = edited
  const { subqueriesBy } = new Query(text)
  const views = sandboxViews(endpoint.compiled.sql)
  const nodes = await parseEdited(engine, { sql: text }, edited, limits())
  const subqueries = [...subqueriesBy.keys()]
  const checkTable = (name: string) => {
    if (!views.names.includes(name) && !subqueriesBy.has(name)) {
      const closest = didYouMean(closestName(name, [...views.names, ...subqueries]))
      throw invalidQuery(
        `"${name}" cannot be read here.${closest} Views that can be read: ${views.names.join(', ')}.`,
        positionOfTable(name, own),
      )
    }
  }
  checkTree(nodes, checkTable, checkSandboxFunction, own)
  checkPatterns(nodes)
  const checking = { engine, limits, tables: new Set(await tableNames(engine, limits())) }
  checkNames(checking, [...subqueries, ...tableAliases(nodes)], views)
  const imitated = tableAliases(nodes).find(isGivenName)
  if (imitated !== undefined) throw invalidQuery(`The name ${imitated} is taken. Choose another.`)
  const read = views.names.filter((view) =>
    nodes.some(({ kind, name }) => tableKinds.has(kind) && name === view),
  )
  const ambiguous = read.find((name) => checking.tables.has(name))
  if (ambiguous !== undefined) {
    throw invalidQuery(
      `The view ${ambiguous} cannot be read because a source or a table has the same name. Rename one of them.`,
    )
  }
  const parameters = sampleParameters(endpoint.definition, endpoint.compiled)
  const statement = { sql: compose(views, read, text), parameters }
  checkPlace(await parseSql(engine, statement, limits()), nodes, read.length)
  await checkViews(checking, endpoint, views, read, parameters)
  const columns = await describe(checking, statement).catch((error) => {
    throw authorError(error, () => undefined)
  })
  if (columns.some(({ name }) => namelessSubquery.test(name))) {
    throw invalidQuery('A selected subquery needs a name: (SELECT …) AS name.')
  }
  const compiled = { ...endpoint.compiled, sql: statement.sql, ...factsOf(new Query(statement.sql)) }
  return { ...endpoint, compiled, columns }
}

export interface SandboxView {
  name: string
  columns: readonly ResultColumn[]
}

/** The views that a caller's SQL can read, with their columns, which are found without reading a row. */
export async function describeViews(engine: Engine, endpoint: Endpoint): Promise<SandboxView[]> {
  const limits = () => ({ deadlineMs: maxCheckMs })
  const checking = { engine, limits, tables: new Set(await tableNames(engine, limits())) }
  const { definition, compiled } = endpoint
  const views = sandboxViews(compiled.sql)
  const parameters = sampleParameters(definition, compiled)
  const found: SandboxView[] = []
  for (const name of views.names.filter((view) => !checking.tables.has(view))) {
    const columns = await describe(checking, { sql: viewAlone(views, name), parameters }).catch((error) => {
      // A view that cannot be read on its own cannot be read by callers either.
      if (invalidQuery.is(error)) return undefined
      throw error
    })
    if (columns) found.push({ name, columns })
  }
  return found
}

function checkSandboxFunction(name: string): void {
  if (isSandboxFunction(name)) return
  throw invalidQuery(
    `The function ${name} is not allowed in a sandbox: the engine cannot stop it at the time limit.`,
  )
}

/** Checks the caller's text. Returns it without semicolons and comments at the end. */
export function readSandboxed(sql: string): Query {
  const all = callerTokens(sql)
  const parameter = all.find(({ kind }) => kind === 'parameter')
  if (parameter) {
    const message = `The parameter ${parameter.text} can only be used by the endpoint. Write the value instead.`
    throw invalidQuery(message, positionOf(sql, parameter.start))
  }
  const last = all.findLastIndex(({ kind, text }) => kind !== 'symbol' || text !== ';')
  const query = new Query(sql.slice(0, all[last]?.end ?? 0), all.slice(0, last + 1))
  checkTokens(query)
  return query
}

/** The engine names it after its context, so the outer query cannot refer to it. */
const namelessSubquery = /_subquery_?\d/

const tableKinds = new Set(['TableIdentifier', 'Identifier'])

/** The engine would find a subquery of the caller inside the views as well, so no name must be used already. */
function checkNames({ tables }: Checking, names: readonly string[], views: WithClause): void {
  const taken = names.find((name) => tables.has(name) || views.names.includes(name))
  if (taken !== undefined) throw invalidQuery(`The name ${taken} is taken. Choose another.`)
}

/** Puts all that a view uses inside the view: the engine looks for names in the SELECT that uses it first. */
function compose(views: WithClause, read: readonly string[], sql: string): string {
  const definitions = read.map((name) => `\`${name}\` AS (\n${viewAlone(views, name)}\n)`)
  return `${definitions.length > 0 ? `WITH ${definitions.join(',\n')}\n` : ''}SELECT * FROM (\n${sql}\n)`
}

function viewAlone({ text }: WithClause, name: string): string {
  return new Query(`${text}SELECT * FROM \`${name}\``).withoutUnused.sql
}

/** The tree of the composed SQL must contain the caller's tree unchanged, in the place of the table and nowhere else. */
function checkPlace(composed: readonly SqlNode[], nodes: readonly SqlNode[], definitions: number): void {
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
    throw invalidQuery('The SQL must be one SELECT that can stand in brackets.')
  }
}

/** Views that need nothing outside their WITH clause. */
const checkedViews = new WeakMap<Endpoint, Set<string>>()

/** Refuses views that need a name of the final SELECT: they would find whatever the caller defines by that name. */
async function checkViews(
  checking: Checking,
  endpoint: Endpoint,
  views: WithClause,
  names: readonly string[],
  parameters: BoundValues,
): Promise<void> {
  const checked = checkedViews.get(endpoint) ?? new Set()
  checkedViews.set(endpoint, checked)
  for (const name of names) {
    if (checked.has(name)) continue
    await describe(checking, { sql: viewAlone(views, name), parameters }).catch((error) => {
      throw invalidQuery.is(error) ? invalidQuery(`The view ${name} cannot be read on its own.`) : error
    })
    checked.add(name)
  }
}

/** The engine runs scalar subqueries to find columns, so a filter keeps types and errors from revealing a row. */
function describe(
  { engine, tables, limits }: Checking,
  statement: { sql: string; parameters: BoundValues },
): Promise<ResultColumn[]> {
  const filtered = [...tables].filter((table) => /^\w+$/.test(table))
  const settings = {
    ...isolationSettings,
    ...callerSqlSettings,
    ...tableFilterSettings(
      engine.database,
      filtered.flatMap(namesOfTable).map((table) => [table, '0']),
    ),
    max_threads: 1,
    max_memory_usage: 2 ** 28,
  }
  return describeColumns(engine, { ...statement, settings }, limits())
}

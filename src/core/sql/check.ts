import { invalidQuery } from '../base/errors.ts'
import { closestName, didYouMean } from '../base/text/closest-name.ts'
import { type EditedSql, editSql, positionOf } from './edits.ts'
import { authorError, authorPosition } from './errors.ts'
import { isAggregate, isAllowedFunction, isGenerator } from './functions.ts'
import { firstWordHints } from './hints/dialect-hints.ts'
import {
  positionOfPart,
  positionOfTable,
  refuseFunction,
  refuseSource,
  refuseTableFunction,
} from './hints/name-hints.ts'
import { sqlName } from './names.ts'
import { type Query, queryOf } from './query.ts'
import { comparesWithTable, isGivenName, isPlainName } from './subquery-names.ts'
import { type CodeToken, codeTokens, isKeyword } from './tokens.ts'
import {
  argumentsOf,
  type ParseLimits,
  parseSelect,
  type SqlNode,
  type SqlParser,
  type SqlText,
} from './tree.ts'

const allowedKinds = new Set([
  'SelectWithUnionQuery',
  'SelectIntersectExceptQuery',
  'SelectQuery',
  'ExpressionList',
  'Subquery',
  'WithElement',
  'Identifier',
  'Literal',
  'Function',
  'WindowDefinition',
  'WindowListElement',
  'TablesInSelectQuery',
  'TablesInSelectQueryElement',
  'TableExpression',
  'TableIdentifier',
  'TableJoin',
  'ArrayJoin',
  'OrderByElement',
  'InterpolateElement',
  'Asterisk',
  'QualifiedAsterisk',
  'ColumnsListMatcher',
  'ColumnsRegexpMatcher',
  'QualifiedColumnsListMatcher',
  'QualifiedColumnsRegexpMatcher',
  'ColumnsTransformerList',
  'ColumnsExceptTransformer',
  'ColumnsReplaceTransformer',
  'ColumnsReplaceTransformer::Replacement',
])

const clauses: Record<string, string> = {
  Set: 'SETTINGS',
  SampleRatio: 'SAMPLE',
  ASTStreamSettings: 'STREAM',
  ColumnsApplyTransformer: 'APPLY',
}

const namesAggregate = /^(arrayreduce|arrayreduceinranges|initializeaggregation)$/i
const namesType = /^(_?cast|accuratecast\w*|reinterpret)$/i

/** The engine replaces a placeholder by this function and its value. */
const boundValue = '_CAST'

/** Columns that the engine adds to a table. They reveal rows of other tenants, such as how many precede one's own. */
const engineColumns =
  /^_(part(_index|_starting_offset|_uuid|_offset|_granule_offset|_data_version)?|partition_(id|value)|sample_factor|disk_name|distance|table|database|row_exists|block_(number|offset)|shard_num|time)$/

export interface SourceNames {
  has(name: string): boolean
  keys(): Iterable<string>
  /** The source that senders know by this name. */
  aliased?(name: string): string | undefined
  readonly endpoints?: { named(name: string): unknown }
}

/** Throws unless the SQL is one SELECT over sources and generators that uses only allowed functions. */
export async function checkSql(
  engine: SqlParser,
  statement: SqlText,
  sources: SourceNames,
  /** Maps positions of errors to the author's text. */
  edited = editSql(statement.sql, []),
): Promise<void> {
  const nodes = await parseEdited(engine, statement, edited)
  const names = queryOf(statement.sql).subqueriesBy
  const checkTable = (name: string) => {
    if (sources.has(name) || (names.has(name) && (isPlainName(name) || isGivenName(name)))) return
    if (sources.endpoints?.named(name) !== undefined) {
      const message = `${name} is an endpoint. Read it with FROM ${sqlName(name)}.`
      throw invalidQuery(message, positionOfTable(name, edited.source))
    }
    throw refuseSource(name, edited.source, sources.keys(), names.keys(), sources.aliased?.(name))
  }
  checkTree(nodes, checkTable, undefined, edited.source)
}

/** Parses a SELECT. Errors have their position in the author's text. */
export function parseEdited(
  engine: SqlParser,
  statement: SqlText,
  edited: EditedSql,
  limits?: ParseLimits,
): Promise<SqlNode[]> {
  return parseSelect(engine, statement, limits).catch((error) => {
    throw authorError(error, ({ line, column }) => authorPosition(edited, { line: line - 1, column }))
  })
}

/** Checks a syntax tree against the allow list. The caller decides which tables can be read. */
export function checkTree(
  nodes: readonly SqlNode[],
  checkTable: (name: string) => void,
  /** Restricts the functions that are allowed in saved SQL. */
  checkAllowedFunction: (name: string) => void = () => {},
  /** For the positions of errors. */
  authorSql = '',
): void {
  const aliases = plainAliases(nodes)
  const subqueries = subqueryAliases(nodes)
  for (const node of nodes) {
    if (!allowedKinds.has(node.kind)) {
      const clause = clauses[node.kind] ?? node.kind
      throw invalidQuery(`${clause} is not allowed in this SQL.`, positionOfClause(clause, authorSql))
    }
    if (node.kind === 'TableIdentifier') checkTable(node.name)
    if (node.kind === 'Identifier') checkColumn(node, subqueries, authorSql)
    // The state of an aggregate function is raw memory of the engine. No text must be read as one.
    if (node.kind === 'Literal' && /AggregateFunction/i.test(node.name)) {
      throw invalidQuery('The type AggregateFunction is not allowed.')
    }
    if (node.kind !== 'Function') continue
    for (const name of checkFunction(node, authorSql)) checkAllowedFunction(name)
    const compared = comparedName(node)
    if (compared !== undefined && !aliases.has(compared)) checkTable(compared)
  }
}

function plainAliases(nodes: readonly SqlNode[]): Set<string> {
  return new Set(nodes.flatMap(({ alias }) => alias ?? []).filter(isPlainName))
}

/** The right side of IN and the argument of EXISTS can be the bare name of a table or of a value. */
function comparedName(node: SqlNode): string | undefined {
  if (node.kind !== 'Function' || !comparesWithTable.test(node.name)) return undefined
  const right = argumentsOf(node).at(-1)
  return right?.kind === 'Identifier' ? right.name : undefined
}

/** Aliases that the engine could take for tables: those of tables and subqueries, and those that are compared with. */
export function tableAliases(nodes: readonly SqlNode[]): string[] {
  const aliases = plainAliases(nodes)
  const compared = nodes.flatMap((node) => comparedName(node) ?? []).filter((name) => aliases.has(name))
  const tables = nodes.filter(({ kind, parent }) => kind === 'Subquery' || parent?.kind === 'TableExpression')
  return [...compared, ...tables.flatMap(({ alias }) => alias ?? [])]
}

/** Names that qualify columns of subqueries. */
function subqueryAliases(nodes: readonly SqlNode[]): Set<string> {
  const subqueries = nodes.filter(
    ({ kind, name, parent }) =>
      parent?.kind === 'TableExpression' &&
      (kind === 'Subquery' || (kind === 'TableIdentifier' && isGivenName(name))),
  )
  return new Set(subqueries.flatMap(({ alias }) => alias ?? []))
}

function checkColumn({ name, parent }: SqlNode, subqueries: ReadonlySet<string>, sql: string): void {
  const [first = '', ...path] = name.split('.')
  const isQualifier = (path.length > 0 || parent?.kind === 'QualifiedAsterisk') && subqueries.has(first)
  const isReserved =
    first.startsWith('_') && !isGivenName(first) && !(isQualifier && !engineColumns.test(first))
  if (isReserved || path.some((part) => engineColumns.test(part.replaceAll('`', '')))) {
    throw invalidQuery(
      `The column ${name} is not allowed. Names that start with _ are reserved for the engine.`,
      positionOfPart(name, sql),
    )
  }
}

/** Returns the functions that the node uses: its own and the aggregate function that it names. */
function checkFunction(node: SqlNode, sql: string): string[] {
  if (node.parent?.kind === 'TableExpression') {
    if (!isGenerator(node.name)) throw refuseTableFunction(node.name, sql)
    const [first] = argumentsOf(node)
    if (/values$/i.test(node.name) && first?.kind !== 'Literal' && first?.name !== 'tuple') {
      throw invalidQuery(`${node.name} needs the names and types of its columns as a string literal.`)
    }
    return []
  }
  if (node.name !== boundValue && !isAllowedFunction(node.name)) throw refuseFunction(node.name, sql)
  const called = [node.name]
  const values = argumentsOf(node)
  if (namesAggregate.test(node.name)) {
    const name = literalText(values[0])?.replace(/^(\w+)\(.*\)$/, '$1')
    if (name === undefined || !isAggregate(name)) {
      throw invalidQuery(`${node.name} needs the name of an aggregate function as a string literal.`)
    }
    called.push(name)
  }
  if (namesType.test(node.name) && values[1] && literalText(values[1]) === undefined) {
    throw invalidQuery(`${node.name} needs the name of a type as a string literal.`)
  }
  return called
}

function literalText(node: SqlNode | undefined): string | undefined {
  return node?.kind === 'Literal' ? /^\\'(.*)\\'$/.exec(node.name)?.[1] : undefined
}

/** The last word counts: SETTINGS and the like stand at the end. */
function positionOfClause(clause: string, sql: string) {
  const query = queryOf(sql)
  return query.positionAt(query.tokens.findLastIndex((each) => isKeyword(each, clause)))
}

/** Reading long SQL would keep the service from other requests. */
const maxLength = 256 * 1024
const maxNesting = 200
const closing: Record<string, string> = { '(': ')', '[': ']', '{': '}' }

/** What to write instead of statements that start with other words. */
function firstWordHint(first: CodeToken | undefined): string {
  const word = first?.text ?? ''
  const hint = firstWordHints.get(word.toLowerCase())?.replaceAll('$', word.toUpperCase())
  const meant = /^\w{4,8}$/.test(word) ? closestName(word, ['SELECT', 'WITH']) : undefined
  return `The query must start with SELECT or WITH.${hint ? ` ${hint}` : didYouMean(meant)}`
}

/** Limits of SQL that a caller sends with each request: reading it takes time for each token. */
export const maxCallerBytes = 64 * 1024
export const maxCallerTokens = 20_000

export function callerTokens(sql: string): CodeToken[] {
  if (Buffer.byteLength(sql) > maxCallerBytes) {
    throw invalidQuery(`sql must be at most ${maxCallerBytes} bytes long.`)
  }
  const tokens = codeTokens(sql, maxCallerTokens)
  if (tokens.length > maxCallerTokens) {
    throw invalidQuery(`sql must have at most ${maxCallerTokens} words, values and symbols.`)
  }
  return tokens
}

/** Checks the text before the engine reads it. */
export function checkTokens(query: Query): void {
  const { sql } = query
  const fail = (message: string, offset: number): never => {
    throw invalidQuery(message, positionOf(sql, offset))
  }
  if (sql.length > maxLength) {
    fail(`The SQL is longer than ${maxLength} characters. Shorten it.`, 0)
  }
  const nul = sql.indexOf('\0')
  if (nul >= 0) fail('The SQL contains a NUL character. Remove it.', nul)
  const { tokens } = query
  const [first] = tokens
  if (!first || !/^(?:select|with|from|\()$/i.test(first.text)) {
    fail(firstWordHint(first), first?.start ?? 0)
  }
  const open: CodeToken[] = []
  for (const [index, token] of tokens.entries()) {
    const { kind, text, start } = token
    const word = kind === 'word' ? text.toUpperCase() : ''
    const [before = '', after = ''] = [tokens[index - 1]?.text, tokens[index + 1]?.text]
    if (kind === 'unterminated') fail('A quote or a comment is not closed.', start)
    if (kind === 'symbol' && (text === ';' || text === '\\')) {
      fail('Only one SELECT is allowed, but the SQL continues after its end.', start)
    }
    if (kind === 'symbol' && closing[text] !== undefined) {
      open.push(token)
      if (open.length > maxNesting) fail(`Brackets are nested more than ${maxNesting} levels deep.`, start)
    }
    if (kind === 'symbol' && /^[)\]}]$/.test(text) && closing[open.pop()?.text ?? ''] !== text) {
      fail(`Unexpected bracket "${text}".`, start)
    }
    // The tree is read line by line, and no name must look like a line or an alias of its own.
    if (kind === 'quoted-identifier' && /[\x00-\x1f\x7f\\]| ?\((?:alias|children|column) /.test(text)) {
      fail('A quoted name must not contain control characters, backslashes or the text "(alias ".', start)
    }
    const braceAt = tokens[index - 1]?.start ?? start
    // A placeholder can name a table, so callers could choose what is read.
    if (before === '{' && after === ':' && (kind === 'word' || kind === 'quoted-identifier')) {
      fail(`Write the parameter as @${text}. Placeholders such as {${text}:String} are not allowed.`, braceAt)
    }
    // The engine would check these conditions before those that separate tenants.
    if (word === 'PREWHERE') fail('PREWHERE is not allowed. Use WHERE.', start)
    if (word === 'INTO' && after.toUpperCase() === 'OUTFILE') fail('INTO OUTFILE is not allowed.', start)
    if (word === 'FORMAT' && index === tokens.length - 2 && tokens[index + 1]?.kind === 'word') {
      fail('FORMAT is not allowed. Each request chooses its own format.', start)
    }
  }
  const unclosed = open.at(-1)
  if (unclosed) fail(`The bracket "${unclosed.text}" is not closed.`, unclosed.start)
}

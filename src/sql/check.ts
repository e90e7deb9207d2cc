import { invalidQuery } from '../base/errors.ts'
import { editSql } from './edits.ts'
import { authorPosition, positionOf, retold } from './errors.ts'
import { isAggregate, isAllowedFunction, isGenerator } from './functions.ts'
import { sqlTokens } from './tokens.ts'
import { parseSelect, type SqlNode, type SqlParser, type SqlText } from './tree.ts'
import { bracketProblem, subqueryNames } from './with.ts'

/** Kinds of nodes that a SELECT over sources is made of. */
const allowedKinds = new Set([
  ...['SelectWithUnionQuery', 'SelectIntersectExceptQuery', 'SelectQuery', 'ExpressionList', 'Subquery'],
  ...['WithElement', 'Identifier', 'Literal', 'Function', 'WindowDefinition', 'WindowListElement'],
  ...['TablesInSelectQuery', 'TablesInSelectQueryElement', 'TableExpression', 'TableIdentifier'],
  ...['TableJoin', 'ArrayJoin', 'OrderByElement', 'InterpolateElement', 'Asterisk', 'QualifiedAsterisk'],
  ...['ColumnsListMatcher', 'ColumnsRegexpMatcher', 'QualifiedColumnsListMatcher'],
  ...['QualifiedColumnsRegexpMatcher', 'ColumnsTransformerList', 'ColumnsExceptTransformer'],
  ...['ColumnsReplaceTransformer', 'ColumnsReplaceTransformer::Replacement'],
])

/** What people call the others. */
const clauses: Record<string, string> = {
  Set: 'SETTINGS',
  SampleRatio: 'SAMPLE',
  ASTStreamSettings: 'STREAM',
  ColumnsApplyTransformer: 'APPLY',
}

const comparesWithTable = /^((global)?(not)?(null)?in|exists)$/i
const namesAggregate = /^(arrayreduce|arrayreduceinranges|initializeaggregation)$/i
const namesType = /^(_?cast|accuratecast\w*|reinterpret)$/i

/** What the engine makes of a placeholder with its value. */
const boundValue = '_CAST'

/** Columns that the engine adds to a table. They tell of the rows of others: how many there are before one's own. */
const engineColumns = new RegExp(
  '^_(part(_index|_starting_offset|_uuid|_offset|_granule_offset|_data_version)?|partition_(id|value)|sample_factor|' +
    'disk_name|distance|table|database|row_exists|block_(number|offset)|shard_num|time)$',
)

/** Refuses SQL that is not one SELECT over sources and generators, with functions that only compute. */
export async function checkSql(
  engine: SqlParser,
  statement: SqlText,
  sources: Pick<ReadonlySet<string>, 'has'>,
  /** How it came to be, for the positions of errors. */
  edited = editSql(statement.sql, []),
): Promise<void> {
  const nodes = await parseSelect(engine, statement).catch((error) => {
    throw retold(error, (at) => authorPosition(edited, { line: at.line - 1, column: at.column }))
  })
  const names = subqueryNames(statement.sql)
  checkTree(nodes, (name) => {
    if (!sources.has(name) && !(names.has(name) && isPlainName(name))) {
      throw invalidQuery(`"${name}" is no source. Only sources and generators such as numbers() can be read.`)
    }
  })
}

/**
 * Whether a name that the SQL gives means nothing else where it is not in scope. With a dot it would be a table of another
 * database; the service's own tables begin with an underscore, and those of a shard end with _local.
 */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z]\w*$/.test(name) && !name.endsWith('_local')
}

/** Checks a tree against what is allowed. The tables that may be read are for the caller to check. */
export function checkTree(
  nodes: readonly SqlNode[],
  checkTable: (name: string) => void,
  /** What is not allowed here of the functions that are allowed in saved SQL. */
  checkAllowedFunction: (name: string) => void = () => {},
): void {
  const aliases = new Set(nodes.flatMap(({ alias }) => alias ?? []).filter(isPlainName))
  for (const node of nodes) {
    if (!allowedKinds.has(node.kind)) {
      throw invalidQuery(`${clauses[node.kind] ?? node.kind} is not allowed in this SQL.`)
    }
    if (node.kind === 'TableIdentifier') checkTable(node.name)
    if (node.kind === 'Identifier') checkColumn(node.name)
    if (node.kind === 'Literal' && /AggregateFunction/i.test(node.name)) throw stateType()
    if (node.kind !== 'Function') continue
    for (const name of checkFunction(node)) checkAllowedFunction(name)
    if (!comparesWithTable.test(node.name)) continue
    // The right side of IN, and what EXISTS asks for, may be the bare name of a table, or that of a value.
    const right = argumentsOf(node).at(-1)
    if (right?.kind === 'Identifier' && !aliases.has(right.name)) checkTable(right.name)
  }
}

function checkColumn(name: string): void {
  const [first = '', ...path] = name.split('.')
  if (first.startsWith('_') || path.some((part) => engineColumns.test(part.replaceAll('`', '')))) {
    throw invalidQuery(`The column ${name} is not allowed: names that begin with _ are the engine's own.`)
  }
}

/** Returns the functions that the node calls: its own, and the aggregate function that it names. */
function checkFunction(node: SqlNode): string[] {
  if (node.parent?.kind === 'TableExpression') {
    if (!isGenerator(node.name)) throw invalidQuery(`The table function ${node.name} is not allowed.`)
    const [first] = argumentsOf(node)
    if (/values$/i.test(node.name) && first?.kind !== 'Literal' && first?.name !== 'tuple') {
      throw invalidQuery(`${node.name} takes the names and types of its columns as a plain text.`)
    }
    return []
  }
  if (node.name !== boundValue && !isAllowedFunction(node.name))
    throw invalidQuery(`The function ${node.name} is not allowed.`)
  const called = [node.name]
  const values = argumentsOf(node)
  if (namesAggregate.test(node.name)) {
    const name = literalText(values[0])?.replace(/\(.*\)$/, '')
    if (name === undefined || !isAggregate(name)) {
      throw invalidQuery(`${node.name} takes the name of an aggregate function as a plain text.`)
    }
    called.push(name)
  }
  if (namesType.test(node.name) && values[1] && literalText(values[1]) === undefined) {
    throw invalidQuery(`${node.name} takes the name of a type as a plain text.`)
  }
  return called
}

function argumentsOf(node: SqlNode): SqlNode[] {
  return node.children[0]?.children ?? []
}

function literalText(node: SqlNode | undefined): string | undefined {
  return node?.kind === 'Literal' ? /^\\'(.*)\\'$/.exec(node.name)?.[1] : undefined
}

/** The state of an aggregate function is raw memory of the engine, which no text must be taken for. */
function stateType() {
  return invalidQuery('AggregateFunction(…) is not allowed: a text cannot be the state of a function.')
}

const maxNesting = 200

/** What is told from the text alone, before the engine sees it. */
export function checkTokens(query: string): void {
  const fail = (message: string, offset: number) => {
    throw invalidQuery(message, positionOf(query, offset))
  }
  const nul = query.indexOf('\0')
  if (nul >= 0) fail('The SQL holds a NUL character.', nul)
  const tokens = [...sqlTokens(query)]
    .filter(({ kind }) => kind !== 'space' && kind !== 'comment')
    .map((token) => ({ ...token, text: query.slice(token.start, token.end) }))
  const [first] = tokens
  if (!first || !/^(?:select|with|from|\()$/i.test(first.text)) {
    fail('Only one SELECT is allowed.', first?.start ?? 0)
  }
  for (const [index, { kind, text, start }] of tokens.entries()) {
    const word = kind === 'word' ? text.toUpperCase() : ''
    const [before = '', after = ''] = [tokens[index - 1]?.text, tokens[index + 1]?.text]
    if (kind === 'symbol' && (text === ';' || text === '\\')) {
      fail('Only one SELECT is allowed: the SQL goes on after its end.', start)
    }
    // The tree is read line by line, and no name may pass for a line or for an alias of its own.
    if (kind === 'quoted-identifier' && /[\x00-\x1f\x7f\\]| ?\((?:alias|children|column) /.test(text)) {
      fail('A quoted name holds a control character, a backslash or the text of an alias.', start)
    }
    // With a placeholder that names a table, a caller could choose what is read.
    if (before === '{' && after === ':' && (kind === 'word' || kind === 'quoted-identifier')) {
      fail(`Write the parameter as @${text}; {${text}:…} is not taken.`, start)
    }
    // The engine would check these conditions before those that keep tenants apart.
    if (word === 'PREWHERE') fail('PREWHERE is not allowed: the engine chooses what it reads first.', start)
    if (word === 'INTO' && after.toUpperCase() === 'OUTFILE') fail('INTO OUTFILE is not allowed.', start)
    if (word === 'FORMAT' && index === tokens.length - 2 && tokens[index + 1]?.kind === 'word') {
      fail('FORMAT is not allowed: the caller chooses the form of the answer.', start)
    }
  }
  const brackets = bracketProblem(query, maxNesting)
  if (brackets) fail(brackets.problem, brackets.offset)
}

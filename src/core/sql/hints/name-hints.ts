import { invalidQuery, type WellheadError } from '../../base/errors.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import { editSql } from '../edits.ts'
import { functionNames, isGenerator, refusedFunctions, withoutCombinators } from '../functions.ts'
import { pathSql } from '../names.ts'
import { type Query, queryOf } from '../query.ts'
import { closingOf, codeTokens, identifierOf, isKeyword, isSymbol } from '../tokens.ts'
import { functionHints, pathFunctions, tableFunctionHints } from './dialect-hints.ts'
import { shown } from './refused-sql.ts'

const refused = new Set(refusedFunctions.map((name) => name.toLowerCase()))

/** A function that is not allowed, or that does not exist. */
export function refuseFunction(name: string, sql: string): WellheadError {
  const query = queryOf(sql)
  // The engine reads @@name as a call of this function.
  const isVariable = name === 'globalVariable'
  const at = isVariable ? query.tokens.findIndex((token) => isSymbol(token, '@@')) : query.callOf(name)
  const isRefused = withoutCombinators(name, (base) => refused.has(base)) !== undefined
  const message = isRefused
    ? `The function ${name} is not allowed.${isVariable ? ' The name of a parameter has one @.' : ''}`
    : isGenerator(name)
      ? `The function ${name} is not allowed here. Read it after FROM.`
      : unknownFunction(name, query, at)
  return invalidQuery(message, query.positionAt(at))
}

export function refuseTableFunction(name: string, sql: string): WellheadError {
  const query = queryOf(sql)
  const hint = tableFunctionHint(name)
  const message = hint
    ? `There is no table function ${name}. ${hint}`
    : `The table function ${name} is not allowed. Read a source, or a generator such as numbers().`
  return invalidQuery(message, query.positionAt(query.callOf(name)))
}

export function tableFunctionHint(name: string): string | undefined {
  const hint = tableFunctionHints.get(name.toLowerCase())
  return hint && shown(hint)
}

export function unknownFunction(name: string, query: Query, at: number): string {
  const missing = `There is no function ${name}.`
  const known = functionHint(name, query, at)
  if (known !== undefined) return `${missing} ${known}`
  const lower = name.toLowerCase()
  const spelled = functionNames.get(lower)
  if (spelled !== undefined) return `${missing}${didYouMean(spelled)} Letter case matters.`
  const other = functionNames.get(lower.replaceAll('_', '')) ?? closestName(name, functionNames.values())
  return missing + didYouMean(other)
}

export function functionHint(name: string, query: Query, at: number): string | undefined {
  const lower = name.toLowerCase()
  const hint = functionHints.get(lower)
  if (hint !== undefined)
    return truncated(lower, query, at) ?? shown(filled(hint, firstExpression(query, at)))
  if (!pathFunctions.has(lower) && !/^jsonb?_/.test(lower)) return undefined
  return functionNames.has(lower) ? undefined : `Write ${readPath(query, at) ?? pathSql('metadata', ['x'])}.`
}

/** The author's own expression: what WITHIN GROUP orders by, or the first argument. */
export function firstExpression(query: Query, call: number): string | undefined {
  const { tokens } = query
  if (call < 0) return undefined
  const open = bracketOf(query, call)
  const within = closingOf(tokens, open) + 1
  const isOrdered = isKeyword(tokens[within], 'WITHIN')
  const ranges = query.argumentsOf(isOrdered ? within + 2 : open)
  const range = ranges.find(({ first, end }) => tokens.slice(first, end).some((token) => identifierOf(token)))
  if (!range) return undefined
  const first = isOrdered ? range.first + 2 : range.first + Number(isKeyword(tokens[range.first], 'DISTINCT'))
  const { depth = 0 } = tokens[first] ?? {}
  const as = tokens.findIndex((token, at) => at > first && token.depth === depth && isKeyword(token, 'AS'))
  const end = as > first && as < range.end ? as : range.end
  const items = tokens.slice(first, end)
  const written = query.text({ first, end })
  if (written.length > 60) return undefined
  const isOne = items.every(
    (token) => token.depth > depth || token.kind !== 'symbol' || /^[.:()]$/.test(token.text),
  )
  return isOne ? written : `(${written})`
}

/** Puts the author's expression into the SQL of a hint that has one placeholder. */
export function filled(hint: string, column: string | undefined): string {
  if (column === undefined) return hint
  return hint.replace(/`([^`]*)`/g, (marked, sql: string) => {
    // A condition of the author takes the place of the whole example.
    if (column.startsWith('(') && sql.includes(condition)) return sql.replace(condition, column.slice(1, -1))
    const places = codeTokens(sql).filter(
      (token, at, all) => isKeyword(token, 'S', 'X', 'A') && !isSymbol(all[at - 1], '.'),
    )
    const isOne = new Set(places.map(({ text }) => text)).size === 1
    const typed = (text: string) =>
      isUntypedPath(column) ? `${column}::${typeOf[text.toLowerCase()]}` : column
    const edits = places.map(({ start, end, text }) => ({ start, end, text: typed(text) }))
    return isOne ? editSql(sql, edits).text : marked
  })
}

const condition = "s = 'a'"

/** What the placeholders of hints stand for. */
const typeOf: Readonly<Record<string, string>> = {
  s: 'Nullable(String)',
  x: 'Nullable(Float64)',
  a: 'Array(String)',
}

/** Most functions refuse a path whose values can have any type. */
function isUntypedPath(column: string): boolean {
  return /(?:^|\.)metadata\./.test(column) && !column.includes('::')
}

/** TIMESTAMP_TRUNC(timestamp, DAY) */
function truncated(name: string, query: Query, call: number): string | undefined {
  if (!name.endsWith('_trunc') || call < 0) return undefined
  const [time, unit] = query.argumentsOf(bracketOf(query, call))
  if (!time || !unit) return undefined
  const word = query.text(unit)
  if (!/^(?:second|minute|hour|day|week|month|quarter|year)$/i.test(word)) return undefined
  return `Write date_trunc('${word.toLowerCase()}', ${query.text(time)}).`
}

/** Index of the bracket of a call. */
function bracketOf(query: Query, call: number): number {
  return query.nameAt(call)?.end ?? call + 1
}

/** The path that a call reads: f(metadata, '$.a.b'), f(metadata, 'a', 'b') or f(metadata, 'a.b'). */
function readPath(query: Query, call: number): string | undefined {
  const { tokens } = query
  const open = query.nameAt(call)?.end
  const [from, ...rest] = open === undefined ? [] : query.argumentsOf(open)
  if (!from) return undefined
  const column = query.nameAt(from.first)
  // A call around another one reads the path of the inner one.
  if (column && isSymbol(tokens[column.end], '(')) return readPath(query, from.first)
  const texts = rest.map(({ first }) => /^'(.*)'$/s.exec(tokens[first]?.text ?? '')?.[1])
  if (!column?.name.endsWith('metadata') || texts.length === 0 || texts.length > 20) return undefined
  const keys = texts.flatMap((key) => key?.replace(/^\$\.?/, '').split(/[.[\]'"]+/) ?? [''])
  const isPlain = keys.every((key) => key !== '' && !/^\d+$/.test(key))
  return isPlain ? pathSql(column.name, keys) : undefined
}

const maxListed = 20

/** A table that is not a source. The list has only what the author can read. */
export function refuseSource(
  name: string,
  sql: string,
  sources: Iterable<string>,
  subqueries: Iterable<string>,
  /** The source that has this name as an alias. */
  aliased?: string,
): WellheadError {
  const hint = sourceHint(name, [...sources], [...subqueries], aliased)
  return invalidQuery(`Unknown source "${name}". ${hint}`, positionOfTable(name, sql))
}

/** The position of the first use of a name as a table. */
export function positionOfTable(name: string, sql: string) {
  const query = queryOf(sql)
  const { tokens } = query
  const uses = tokens.flatMap((_, at) => (query.nameAt(at)?.name === name ? at : []))
  const isTable = (at: number) => {
    let before = at - 1
    while (isSymbol(tokens[before], '(')) before--
    return /^(?:from|join|in|,)$/i.test(tokens[before]?.text ?? '')
  }
  return query.positionAt(uses.find(isTable) ?? uses[0] ?? -1)
}

export function sourceHint(
  name: string,
  sources: readonly string[],
  subqueries: readonly string[] = [],
  aliased?: string,
): string {
  if (aliased !== undefined) return `In SQL, this source is called ${aliased}.`
  const last = name.split('.').at(-1) ?? name
  if (last === 'dual') return 'Omit FROM dual.'
  if (last !== name && sources.includes(last)) return `Sources have no schema or dataset. Write ${last}.`
  const names = [...sources].sort()
  const known = [...names, ...subqueries]
  const meant = closestName(name.replace(/[.-]/g, '_'), known) ?? closestName(last, known)
  const more = names.length > maxListed ? `, and ${names.length - maxListed} more` : ''
  const list = `Sources: ${names.slice(0, maxListed).join(', ')}${more}.`
  return `${didYouMean(meant)} ${list}`.trim()
}

/** The position of a name that stands in the SQL without an alias of the engine. */
export function positionOfPart(name: string, sql: string) {
  const last = name.split('.').at(-1)?.replaceAll('`', '')
  const query = queryOf(sql)
  return query.positionAt(query.tokens.findIndex((token) => identifierOf(token) === last))
}

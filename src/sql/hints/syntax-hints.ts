import { closestName } from '../../base/text/closest-name.ts'
import { functionNames } from '../functions.ts'
import { metadata } from '../metadata-path.ts'
import { type CodeToken, endsValue, isKeyword, isSymbol } from '../tokens.ts'
import { clauses, extractUnits } from './dialect-hints.ts'
import { filled, functionHint, sourceHint, tableFunctionHint } from './name-hints.ts'
import { dottedName, type Hint, pathSql, type RefusedSql, shown, textOf } from './sql-words.ts'

/** Looks for SQL of another dialect that starts at a token. */
type SyntaxRule = (text: RefusedSql, at: number) => string | undefined

/** The first part of another dialect in SQL that the engine cannot parse. */
export function syntaxHint(text: RefusedSql): Hint | undefined {
  for (let at = 0; at < text.tokens.length; at++) {
    for (const rule of rules) {
      const message = rule(text, at)
      if (message !== undefined) return { message, at }
    }
  }
  return unclosedCase(text)
}

const rules: readonly SyntaxRule[] = [
  foreignParameter,
  jsonOperator,
  foreignFunction,
  orderedAggregate,
  extractedUnit,
  prefixedText,
  comparedWithIs,
  foreignTable,
  foreignClause,
]

/** What to write instead of a parameter in the notation of another tool. */
export function parameterHint(written: string, name: string | undefined, isSandbox: boolean): string {
  if (isSandbox) return `${written} is not a parameter. SQL of callers has none: write the value instead.`
  return name === undefined
    ? `Parameters have names. Write one such as @project instead of ${written}.`
    : `Write @${name} instead of ${written}.`
}

/** Parameters of other tools. */
const templates = [/\{\{[^{}]{0,400}\}\}/y, /[$#]\{[^{}]{1,400}\}/y, /\{\s*[A-Za-z_]\w*\s*\}/y]
/** The same, but after a value these are operators. */
const placeholders = [/:([A-Za-z_]\w*)/y, /%s\b/y, /%\(([A-Za-z_]\w*)\)s/y, /\?\d*/y]

/** The name in {{ Int32(days, 7) }} or ${days}; %s has none. */
function templateName(template: string): string | undefined {
  if (!template.includes('{')) return undefined
  const [first, second] = template.match(/[A-Za-z_]\w*/g) ?? []
  return template.includes('(') ? second : first
}

function foreignParameter({ sql, tokens, isSandbox }: RefusedSql, at: number): string | undefined {
  const [before, token] = [tokens[at - 1], tokens[at]]
  if (!token || !/^[{$#:%?]$/.test(token.text)) return undefined
  const mayStand = !endsValue(before) && !isSymbol(before, ':')
  for (const notation of mayStand ? [...templates, ...placeholders] : templates) {
    notation.lastIndex = token.start
    const found = notation.exec(sql)
    if (found) return parameterHint(found[0], found[1] ?? templateName(found[0]), isSandbox)
  }
  return undefined
}

/** Operators of Postgres and MySQL (->, ->>, #>>, @>, ?) and of Snowflake (:). */
function jsonOperator(text: RefusedSql, at: number): string | undefined {
  const { tokens } = text
  const column = dottedName(tokens, at)
  if (!column) return undefined
  const [first = '', ...inner] = column.name.split(`${metadata}.`)
  const isMetadata = column.name.endsWith(metadata) || inner.length > 0
  const root = inner.length > 0 ? `${first}${metadata}` : column.name
  const keys = inner.length > 0 ? inner.join('.').split('.') : []
  const operator = tokens.slice(column.end, column.end + 3).map(({ text: each }) => each)
  const value = (index: number) => textOf(tokens[column.end + index])
  if (operator[0] === '-' && operator[1] === '>') return arrowPath(text, root, keys, column.end, isMetadata)
  if (!isMetadata) return undefined
  if (operator[0] === '#' && operator[1] === '>') {
    const list = (operator[2] === '>' ? value(3) : value(2))?.replace(/^\{|\}$/g, '')
    return list && `Write ${pathSql(root, [...keys, ...list.split(',').slice(0, 20)])}.`
  }
  if (operator[0] === '@' && operator[1] === '>') {
    return `Compare a path instead. Write ${pathSql(root, [...keys, 'x'])} = 'a'.`
  }
  if (operator[0] === '?' && value(1) !== undefined && !isSymbol(tokens[column.end + 2], ':')) {
    return `Write ${pathSql(root, [...keys, value(1) as string])} IS NOT NULL.`
  }
  const named = operator[0] === ':' && operator[1] !== ':' ? dottedName(tokens, column.end + 1) : undefined
  return named && `Write ${pathSql(root, [...keys, ...named.name.split('.')])}.`
}

/** A chain such as metadata->'a'->>'b'. A lambda has an arrow, too, but never after metadata in SQL that is refused. */
function arrowPath(
  text: RefusedSql,
  root: string,
  before: readonly string[],
  start: number,
  isMetadata: boolean,
): string | undefined {
  const { sql, tokens } = text
  const keys: (string | number)[] = [...before]
  const chain = /\s*(->>?)\s*(?:'([^'\\]*)'|(\d+))/y
  chain.lastIndex = tokens[start]?.start ?? sql.length
  let [end, isText] = [chain.lastIndex, false]
  for (let step = chain.exec(sql); step && keys.length < 20; step = chain.exec(sql)) {
    const [, arrow, key, index] = step
    if (key === undefined) keys.push(Number(index))
    else keys.push(...key.replace(/^\$\./, '').split('.'))
    isText ||= arrow === '->>'
    end = chain.lastIndex
  }
  if (keys.length === before.length || !(isMetadata || isText)) return undefined
  const texts = keys.filter((key) => typeof key === 'string')
  if (isMetadata && texts.length === keys.length)
    return `Write ${pathSql(root, texts, castAfter(sql.slice(end, end + 40)))}.`
  // Arrays start at 1 here, and at 0 there.
  const steps = keys.map((key) => (typeof key === 'number' ? String(key + 1) : `'${key}'`))
  return `Write JSONExtractString(${[root, ...steps].join(', ')}).`
}

/** The type for (metadata->>'x')::int: as text first, a missing value could not be converted. */
function castAfter(rest: string): string {
  const [, type = ''] = /^\s*\)\s*::\s*(\w+)/.exec(rest) ?? []
  if (/^(?:int\d?|integer|bigint|smallint)$/i.test(type)) return 'Nullable(Int64)'
  return /^(?:float\d?|double|real|numeric|decimal)$/i.test(type) ? 'Nullable(Float64)' : 'Nullable(String)'
}

/** Functions that do not exist are refused later, but some of them have a syntax of their own. */
function foreignFunction(text: RefusedSql, at: number): string | undefined {
  const dotted = dottedName(text.tokens, at)
  if (!dotted || !isSymbol(text.tokens[dotted.end], '(')) return undefined
  if (functionNames.has(dotted.name.toLowerCase())) return undefined
  const isTable = isKeyword(text.tokens[at - 1], 'FROM', 'JOIN')
  const hint = isTable ? tableFunctionHint(dotted.name) : functionHint(dotted.name, text, at)
  const isClause = isKeyword(text.tokens[at], 'ALL', 'ANY', 'OFFSET', 'FIRST', 'ROW', 'TABLE')
  return hint === undefined || isClause ? undefined : `There is no function ${dotted.name}. ${hint}`
}

/** Calls can be nested, and each is searched. */
const maxCallTokens = 200

/** array_agg(x ORDER BY y) */
function orderedAggregate({ tokens }: RefusedSql, at: number): string | undefined {
  if (!isKeyword(tokens[at], 'ARRAY_AGG', 'STRING_AGG', 'GROUP_CONCAT', 'GROUPARRAY')) return undefined
  if (!isSymbol(tokens[at + 1], '(')) return undefined
  const depth = (tokens[at]?.depth ?? 0) + 1
  const inside = tokens.slice(at + 2, at + maxCallTokens)
  const end = inside.findIndex((token) => token.depth < depth)
  const isOrdered = inside.some(
    (token, index) => (end < 0 || index < end) && token.depth === depth && isKeyword(token, 'ORDER'),
  )
  return isOrdered
    ? 'ORDER BY is not available inside a function. Sort the array: ' +
        'arrayMap(p -> p.2, arraySort(groupArray((timestamp, s)))).'
    : undefined
}

function extractedUnit({ tokens }: RefusedSql, at: number): string | undefined {
  if (!isKeyword(tokens[at], 'EXTRACT') || !isSymbol(tokens[at + 1], '(')) return undefined
  if (!isKeyword(tokens[at + 3], 'FROM')) return undefined
  const unit = tokens[at + 2]?.text.toUpperCase() ?? ''
  const name = Object.hasOwn(extractUnits, unit) ? extractUnits[unit] : undefined
  return name && `EXTRACT has no unit ${unit}. Write ${name}(timestamp).`
}

/** r'…', E'…' and the like */
function prefixedText({ tokens }: RefusedSql, at: number): string | undefined {
  const [token, next] = [tokens[at], tokens[at + 1]]
  if (token?.kind !== 'word' || !/^(?:r|b|rb|br|e|n|u)$/i.test(token.text)) return undefined
  if (next?.start !== token.end || (next.kind !== 'string' && next.kind !== 'quoted-identifier'))
    return undefined
  return `Write the text without the letter ${token.text}, and each backslash twice: '\\\\d+'.`
}

function comparedWithIs({ tokens }: RefusedSql, at: number): string | undefined {
  if (!isKeyword(tokens[at], 'IS')) return undefined
  const value = tokens[isKeyword(tokens[at + 1], 'NOT') ? at + 2 : at + 1]
  const isValue = value?.kind === 'string' || value?.kind === 'number' || value?.kind === 'parameter'
  return isValue ? 'IS only compares with NULL. Write = or !=.' : undefined
}

/** FROM project.dataset.table and FROM edge-logs */
function foreignTable({ tokens, tables, aliased, isSandbox }: RefusedSql, at: number): string | undefined {
  if (!isKeyword(tokens[at - 1], 'FROM', 'JOIN')) return undefined
  const dotted = dottedName(tokens, at)
  if (!dotted) return undefined
  let { name, end } = dotted
  while (isSymbol(tokens[end], '-') && tokens[end - 1]?.end === tokens[end]?.start && name.length < 200) {
    const part = tokens[end + 1]
    const rest = dottedName(tokens, end + 1)
    name += `-${rest?.name ?? part?.text ?? ''}`
    end = rest?.end ?? end + 2
  }
  const isForeign = name.split('.').length > 2 || name.includes('-')
  if (!isForeign) return undefined
  return isSandbox
    ? `"${name}" cannot be read here. Views that can be read: ${tables.join(', ')}.`
    : `Unknown source "${name}". ${sourceHint(name, tables, [], aliased?.(name))}`
}

function foreignClause({ tokens, isSandbox }: RefusedSql, at: number): string | undefined {
  const found = clauses.find(({ words }) =>
    words.every(
      (word, index) => tokens[at + index]?.text.toUpperCase() === word && isCode(tokens[at + index]),
    ),
  )
  if (isSandbox && found?.hint.includes('@project')) return parameterHint('{%', undefined, isSandbox)
  return found && shown(filled(found.hint, columnBefore(tokens, at)))
}

/** The column on the left of an operator. */
function columnBefore(tokens: readonly CodeToken[], at: number): string | undefined {
  const isQualified = isSymbol(tokens[at - 2], '.')
  const name = dottedName(tokens, isQualified ? at - 3 : at - 1)
  return name?.end === at && endsValue(tokens[at - 1]) ? name.name : undefined
}

function isCode(token: CodeToken | undefined): boolean {
  return token?.kind === 'word' || token?.kind === 'symbol'
}

function unclosedCase({ tokens }: RefusedSql): Hint | undefined {
  const open: number[] = []
  for (const [at, token] of tokens.entries()) {
    if (isKeyword(token, 'CASE') && isKeyword(tokens[at + 1], 'WHEN')) open.push(at)
    if (isKeyword(token, 'END')) open.pop()
  }
  const at = open.at(-1)
  return at === undefined
    ? undefined
    : { message: 'This CASE is not closed. Write END after its last value.', at }
}

const keywords = 'SELECT FROM WHERE GROUP ORDER LIMIT HAVING JOIN BETWEEN DISTINCT UNION'.split(' ')

/** A keyword with a typing mistake, at the token where the engine stopped or just before it. */
export function mistypedKeyword({ tokens }: RefusedSql, stopped: number): Hint | undefined {
  for (const at of [stopped - 1, stopped]) {
    const token = tokens[at]
    if (token?.kind !== 'word' || token.text.length < 3 || token.text.length > 10) continue
    const word = token.text.toUpperCase()
    if (keywords.includes(word)) continue
    const keyword = closestName(word, keywords)
    if (keyword !== undefined) {
      return { message: `Syntax error at "${token.text}". Did you mean ${keyword}?`, at }
    }
  }
  return undefined
}

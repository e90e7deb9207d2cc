import { closestName } from '../../base/text/closest-name.ts'
import { functionNames } from '../functions.ts'
import { pathSql } from '../names.ts'
import type { Query } from '../query.ts'
import { type CodeToken, endsValue, isKeyword, isSymbol } from '../tokens.ts'
import { clauses, patterns } from './dialect-hints.ts'
import { filled, functionHint, sourceHint, tableFunctionHint } from './name-hints.ts'
import { type Hint, type RefusedSql, shown } from './refused-sql.ts'

/** Looks for SQL of another dialect that starts at a token. */
type SyntaxRule = (text: RefusedSql, at: number) => string | undefined

/** The first part of another dialect in SQL that the engine cannot parse. */
export function syntaxHint(text: RefusedSql): Hint | undefined {
  for (let at = 0; at < text.query.tokens.length; at++) {
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
  foreignPattern,
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

const templates = [/\{\{[^{}]{0,400}\}\}/y, /[$#]\{[^{}]{1,400}\}/y, /\{\s*[A-Za-z_]\w*\s*\}/y]
/** After a value, these are operators. */
const placeholders = [/:([A-Za-z_]\w*)/y, /%s\b/y, /%\(([A-Za-z_]\w*)\)s/y, /\?\d*/y]

/** The name in {{ Int32(days, 7) }} or ${days}; %s has none. */
function templateName(template: string): string | undefined {
  if (!template.includes('{')) return undefined
  const [first, second] = template.match(/[A-Za-z_]\w*/g) ?? []
  return template.includes('(') ? second : first
}

function foreignParameter({ query, isSandbox }: RefusedSql, at: number): string | undefined {
  const { sql, tokens } = query
  const [before, token] = [tokens[at - 1], tokens[at]]
  if (!token || !/^[{$#:%?]$/.test(token.text)) return undefined
  const mayStand = !endsValue(before) && !isSymbol(before, ':')
  for (const notation of mayStand ? [...templates, ...placeholders] : templates) {
    notation.lastIndex = token.start
    const found = notation.exec(sql)
    const name = found && (templates.includes(notation) ? templateName(found[0]) : found[1])
    if (found) return parameterHint(found[0], name ?? undefined, isSandbox)
  }
  return undefined
}

/** Operators of Postgres and MySQL (->, ->>, #>>, @>, ?) and of Snowflake (:). */
const operator =
  /\s*(?:((?:->>?\s*(?:'[^'\\]*'|\d+)\s*)+)(?:\)\s*::\s*(\w+))?|#>>?\s*'\{([^}']*)\}'|\?\s*'([^']+)'(?!\s*:)|(@>)|:(?!:)([A-Za-z_][\w.]*))/y

function jsonOperator({ query }: RefusedSql, at: number): string | undefined {
  const { sql, tokens } = query
  const column = query.nameAt(at)
  if (!column) return undefined
  const { name, end } = column
  operator.lastIndex = tokens[end - 1]?.end ?? sql.length
  const [, arrows, type = '', list, key, contains, field] = operator.exec(sql) ?? []
  const isMetadata = /(?:^|\.)metadata(?:\.|$)/.test(name)
  // A lambda has an arrow, too, but never after metadata in SQL that is refused.
  if (arrows !== undefined && (isMetadata || arrows.includes('->>'))) {
    const steps = [...arrows.matchAll(/'(?:\$\.)?([^']*)'|(\d+)/g)].slice(0, 20)
    if (isMetadata && steps.every(([, , index]) => index === undefined)) {
      const keys = steps.flatMap(([, each = '']) => each.split('.'))
      return `Write ${pathSql(name, keys, `::${nullableType(type)}`)}.`
    }
    // Arrays start at 1 here, and at 0 there.
    const values = steps.map(([, each, index]) => (index === undefined ? `'${each}'` : Number(index) + 1))
    return `Write JSONExtractString(${[name, ...values].join(', ')}).`
  }
  if (!isMetadata) return undefined
  if (contains) return `Compare a path instead. Write ${pathSql(name, ['x'])} = 'a'.`
  if (key) return `Write ${pathSql(name, [key])} IS NOT NULL.`
  const keys = list?.split(',') ?? field?.split('.')
  return keys && `Write ${pathSql(name, keys.slice(0, 20))}.`
}

/** The type for (metadata->>'x')::int: as text first, a missing value could not be converted. */
function nullableType(type: string): string {
  if (/^(?:int\d?|integer|bigint|smallint)$/i.test(type)) return 'Nullable(Int64)'
  return /^(?:float\d?|double|real|numeric|decimal)$/i.test(type) ? 'Nullable(Float64)' : 'Nullable(String)'
}

/** Functions that do not exist are refused later, but some of them have a syntax of their own. */
function foreignFunction({ query }: RefusedSql, at: number): string | undefined {
  const { tokens } = query
  const dotted = query.nameAt(at)
  if (!dotted || !isSymbol(tokens[dotted.end], '(')) return undefined
  if (functionNames.has(dotted.name.toLowerCase())) return undefined
  const isTable = isKeyword(tokens[at - 1], 'FROM', 'JOIN')
  const hint = isTable ? tableFunctionHint(dotted.name) : functionHint(dotted.name, query, at)
  const isClause = isKeyword(tokens[at], 'ALL', 'ANY', 'OFFSET', 'FIRST', 'ROW', 'TABLE')
  return hint === undefined || isClause ? undefined : `There is no function ${dotted.name}. ${hint}`
}

function foreignPattern({ query: { sql, tokens } }: RefusedSql, at: number): string | undefined {
  for (const { pattern, hint } of patterns) {
    pattern.lastIndex = tokens[at]?.start ?? sql.length
    const found = tokens[at]?.kind === 'word' && pattern.exec(sql)
    if (found) return shown(hint.replace('$1', found[1] ?? ''))
  }
  return undefined
}

/** FROM project.dataset.table and FROM edge-logs */
function foreignTable({ query, tables, aliased, isSandbox }: RefusedSql, at: number): string | undefined {
  const { tokens } = query
  if (!isKeyword(tokens[at - 1], 'FROM', 'JOIN')) return undefined
  const dotted = query.nameAt(at)
  if (!dotted) return undefined
  let { name, end } = dotted
  while (isSymbol(tokens[end], '-') && tokens[end - 1]?.end === tokens[end]?.start && name.length < 200) {
    const part = tokens[end + 1]
    const rest = query.nameAt(end + 1)
    name += `-${rest?.name ?? part?.text ?? ''}`
    end = rest?.end ?? end + 2
  }
  const isForeign = name.split('.').length > 2 || name.includes('-')
  if (!isForeign) return undefined
  return isSandbox
    ? `"${name}" cannot be read here. Views that can be read: ${tables.join(', ')}.`
    : `Unknown source "${name}". ${sourceHint(name, tables, [], aliased?.(name))}`
}

function foreignClause({ query, isSandbox }: RefusedSql, at: number): string | undefined {
  const { tokens } = query
  const found = clauses.find(({ words }) =>
    words.every(
      (word, index) => tokens[at + index]?.text.toUpperCase() === word && isCode(tokens[at + index]),
    ),
  )
  if (isSandbox && found?.hint.includes('@project')) return parameterHint('{%', undefined, isSandbox)
  return found && shown(filled(found.hint, columnBefore(query, at)))
}

function columnBefore(query: Query, at: number): string | undefined {
  const { tokens } = query
  const isQualified = isSymbol(tokens[at - 2], '.')
  const name = query.nameAt(isQualified ? at - 3 : at - 1)
  return name?.end === at && endsValue(tokens[at - 1]) ? name.name : undefined
}

function isCode(token: CodeToken | undefined): boolean {
  return token?.kind === 'word' || token?.kind === 'symbol'
}

function unclosedCase({ query: { tokens } }: RefusedSql): Hint | undefined {
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
export function mistypedKeyword({ query: { tokens } }: RefusedSql, stopped: number): Hint | undefined {
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

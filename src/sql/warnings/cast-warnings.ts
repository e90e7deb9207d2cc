import { typeAt } from '../metadata-path.ts'
import type { FoundPath } from '../paths.ts'
import { type CodeToken, closingOf, endsValue, isKeyword, isSymbol } from '../tokens.ts'
import { type ColumnsOf, clausesOf, type Finding, functionAround, type QueryText } from './query-text.ts'

interface Cast {
  type: string
  /** Index of its first token, and of the one after its last. */
  first: number
  end: number
  /** How to write it so that a missing value stays null. */
  instead: string
}

const texts = /^(?:String|Text|Varchar|Char)$/i
const numbers =
  /^(?:U?Int\d*|Integer|Bigint|Smallint|Tinyint|Float\d*|Double|Real|BFloat16|Decimal\d*|Numeric|Dec)$/i
const booleans = /^Bool(?:ean)?$/i
const times = /^(?:Date|Date32|DateTime|DateTime32|DateTime64|Timestamp)$/i

const conversions =
  /^to(U?Int(?:8|16|32|64|128|256)|Float(?:32|64)|String|Bool|Date(?:32)?|DateTime(?:32|64)?)$/

/** What a missing value becomes in this type; undefined if the type can be null or has no such value. */
function defaultOf(type: string): string | undefined {
  const bare = type.replace(/^LowCardinality\((.*)\)$/i, '$1').replace(/\(.*/s, '')
  if (texts.test(bare)) return "''"
  if (numbers.test(bare)) return '0'
  if (booleans.test(bare)) return 'false'
  if (times.test(bare)) return '1970-01-01'
  return undefined
}

/** Casts that turn a missing value into one that looks real. */
export function castWarnings(query: QueryText, columnsOf: ColumnsOf): Finding[] {
  const { sql, tokens } = query
  return query.paths.flatMap((found): Finding[] => {
    const { path, isColumn } = found
    if (isColumn || path.element !== undefined || path.isObject || path.steps.length > 1) return []
    const cast = castAfter(query, found) ?? castAround(query, found)
    const missing = cast && defaultOf(cast.type)
    if (!cast || missing === undefined) return []
    if (isTypedColumn(found, cast, columnsOf) || isHandled(query, found, cast, missing)) return []
    const written = shown(sql.slice(tokens[cast.first]?.start, tokens[cast.end - 1]?.end))
    const message = `${written} is ${missing} where the path is missing. Use ${cast.instead} to get null.`
    return [{ code: 'cast_hides_missing', message, at: cast.first }]
  })
}

/** A text column is empty where the path is missing as well, and this cast is how to read it. */
function isTypedColumn({ place }: FoundPath, { type }: Cast, columnsOf: ColumnsOf): boolean {
  if (!place || type !== 'String') return false
  return columnsOf(place.source)?.some(({ path, type }) => path === place.path && type === 'text') ?? false
}

/** "metadata.x::Int64" and "(metadata.x)::Int64". */
function castAfter({ tokens }: QueryText, { path }: FoundPath): Cast | undefined {
  let { first, end: at } = path
  // Not the brackets of a function.
  while (isSymbol(tokens[first - 1], '(') && isSymbol(tokens[at], ')') && !endsValue(tokens[first - 2])) {
    first--
    at++
  }
  if (!isSymbol(tokens[at], ':') || !isSymbol(tokens[at + 1], ':')) return undefined
  const type = typeAt(tokens, at + 2)
  return type && { ...type, first, instead: `::${nullable(type.type)}` }
}

/** "CAST(metadata.x AS Int64)", "CAST(metadata.x, 'Int64')" and "toInt64(metadata.x)". */
function castAround(query: QueryText, { path }: FoundPath): Cast | undefined {
  const { sql, tokens } = query
  const call = functionAround(query, path.first)
  if (!call || call.open !== path.first - 1 || isSymbol(tokens[call.open - 2], '.')) return undefined
  const close = closingOf(tokens, call.open)
  const place = { first: call.open - 1, end: close + 1 }
  const written = shown(sql.slice(tokens[path.first]?.start, tokens[path.end - 1]?.end))
  if (/^(?:accurate)?cast$/i.test(call.name)) {
    const next = tokens[path.end]
    const isNamed = isSymbol(next, ',') && tokens[path.end + 1]?.kind === 'string'
    const type = isNamed
      ? tokens[path.end + 1]?.text.slice(1, -1)
      : isKeyword(next, 'AS')
        ? typeAt(tokens, path.end + 1)?.type
        : undefined
    return type === undefined ? undefined : { ...place, type, instead: `${written}::${nullable(type)}` }
  }
  const [, type] = conversions.exec(call.name) ?? []
  if (type === undefined || !(isSymbol(tokens[path.end], ')') || isSymbol(tokens[path.end], ',')))
    return undefined
  const full = type === 'DateTime64' ? 'DateTime64(6)' : type
  return { ...place, type, instead: `${written}::${nullable(full)}` }
}

function nullable(type: string): string {
  const spaced = type.replace(/, ?/g, ', ')
  return /^LowCardinality\(/i.test(type) ? 'LowCardinality(Nullable(String))' : `Nullable(${spaced})`
}

/** Functions for which the default of a type has the same effect as null, or that exist to recognize it. */
const indifferent =
  /^(?:sum|sumIf|nullIf|empty|notEmpty|match|like|ilike|startsWith|endsWith|position\w*|locate|hasToken\w*|multiSearchAny\w*|multiMatchAny\w*)$/i

/** Whether the SQL treats a missing value right although it looks like another one. */
function isHandled(query: QueryText, { scope }: FoundPath, { first, end }: Cast, missing: string): boolean {
  const { tokens } = query
  const call = functionAround(query, first)
  if (call && call.open === first - 1) {
    if (indifferent.test(call.name)) return true
    const [comma, fallback, close] = tokens.slice(end, end + 3)
    const isSame = fallback?.text === missing && isSymbol(close, ')')
    if (/^(?:ifNull|coalesce)$/i.test(call.name) && isSymbol(comma, ',') && isSame) return true
  }
  if (missing === 'false' && scope && !isKeyword(tokens[first - 1], 'NOT')) {
    const where = clausesOf(query, scope).find(({ keyword }) => keyword === 'WHERE')
    if (where && first > where.at && first < where.end) return true
  }
  return isComparedSafely(tokens, first, end, missing)
}

/** Whether it is compared with a literal so that null and the default have the same outcome, or with the default. */
function isComparedSafely(
  tokens: readonly CodeToken[],
  first: number,
  end: number,
  missing: string,
): boolean {
  const before = isSymbol(tokens[first - 1], '(') ? first - 2 : first - 1
  // What is not true of null is not true of its opposite either.
  if (isKeyword(tokens[before], 'NOT')) return false
  if (isKeyword(tokens[end], 'BETWEEN')) {
    const [from, and, to] = tokens.slice(end + 1, end + 4)
    return missing === '0' && isPositive(from) && isKeyword(and, 'AND') && isPositive(to)
  }
  if (isKeyword(tokens[end], 'LIKE', 'ILIKE')) return tokens[end + 1]?.kind === 'string'
  if (isKeyword(tokens[end], 'IN') && isSymbol(tokens[end + 1], '(')) {
    const values = tokens.slice(end + 2, closingOf(tokens, end + 1)).filter((token) => !isSymbol(token, ','))
    return values.length > 0 && values.every((value) => isLiteral(value) && !isDefault(value, missing))
  }
  const [operator, value] = comparisonAfter(tokens, end) ?? comparisonBefore(tokens, first, end) ?? []
  if (!value || !isLiteral(value)) return false
  // A comparison with the default itself shows that its author knows about it.
  if (isDefault(value, missing))
    return missing === "''" || operator === '>' || operator === '!=' || operator === '<>'
  if (operator === '=' || operator === '==') return true
  const isNegated = isSymbol(tokens[first - 1], '-')
  return missing === '0' && (operator === '>' || operator === '>=') && !isNegated
}

type Comparison = [operator: string, value: CodeToken | undefined]

const isOperator = (token: CodeToken | undefined) => token?.kind === 'symbol' && /^[=<>!]$/.test(token.text)

function comparisonAfter(tokens: readonly CodeToken[], at: number): Comparison | undefined {
  let next = at
  while (isOperator(tokens[next])) next++
  const operator = tokens.slice(at, next).map(({ text }) => text)
  return next > at ? [operator.join(''), tokens[next]] : undefined
}

/** "500 <= …", as if the value stood on the right. */
function comparisonBefore(tokens: readonly CodeToken[], at: number, end: number): Comparison | undefined {
  let start = at
  while (isOperator(tokens[start - 1])) start--
  const operator = tokens.slice(start, at).map(({ text }) => text)
  // A sign or an operation makes it another value.
  const isAlone = [tokens[start - 2], tokens[end]].every((token) => !/^[-+*/%|.]$/.test(token?.text ?? ''))
  if (start === at || !isAlone) return undefined
  const turned = operator.join('').replace(/[<>]/g, (each) => (each === '<' ? '>' : '<'))
  return [turned === '><' ? '<>' : turned, tokens[start - 1]]
}

function isPositive(token: CodeToken | undefined): boolean {
  return token?.kind === 'number' && Number(token.text) > 0
}

const isLiteral = ({ kind }: CodeToken) => kind === 'string' || kind === 'number'

const isDefault = ({ text }: CodeToken, missing: string) =>
  missing === '0' ? Number(text) === 0 : text === missing

function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

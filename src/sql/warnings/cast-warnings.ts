import type { FoundPath } from '../paths.ts'
import { isKeyword, isSymbol, type TokenRange } from '../tokens.ts'
import { type ColumnsOf, type Finding, functionAround, type QueryText } from './query-text.ts'

interface DefaultValue {
  types: RegExp
  /** What a missing value becomes. */
  missing: string
  /** What follows a cast if null would have the same effect, or if its author knows about the default. */
  handled: RegExp
}

const defaults: readonly DefaultValue[] = [
  {
    types: /^(?:LowCardinality\()?(?:String|Text|Varchar|Char)\b/i,
    missing: "''",
    handled: /^(?:(?:!=|<>)\s*''|==?\s*'|I?LIKE\s*'|IN\s*\(\s*'[^']+'(?:\s*,\s*'[^']+')*\s*\)|,\s*''\s*\))/i,
  },
  {
    types:
      /^(?:U?Int\d*|Integer|Bigint|Smallint|Tinyint|Float\d*|Double|Real|BFloat16|Decimal\d*|Numeric|Dec)\b/i,
    missing: '0',
    handled:
      /^(?:(?:==?|>=?|BETWEEN\s)\s*[\d.]*[1-9]|(?:>|!=|<>)\s*0\b|IN\s*\(\s*[1-9]\d*(?:\s*,\s*[1-9]\d*)*\s*\)|,\s*0\s*\))/i,
  },
  {
    types: /^(?:Date|Date32|DateTime|DateTime32|DateTime64|Timestamp)\b/i,
    missing: '1970-01-01',
    handled: /^==?\s*'/,
  },
]

/** Functions for which a default has the same effect as null, or that exist to recognize it. */
const indifferent =
  /^(?:sum|sumIf|nullIf|empty|notEmpty|match|like|ilike|startsWith|endsWith|position\w*|locate|hasToken\w*|multiSearchAny\w*|multiMatchAny\w*)$/i

/** Casts that turn a missing value into one that looks real. */
export function castWarnings(query: QueryText, columnsOf: ColumnsOf): Finding[] {
  const { sql, tokens } = query
  const text = (first: number, end: number) => {
    const written = sql.slice(tokens[first]?.start, tokens[end - 1]?.end)
    return written.length > 80 ? `${written.slice(0, 80)}…` : written
  }
  return query.paths.flatMap((found): Finding[] => {
    const { path, isColumn } = found
    const { written } = path
    const value = !isColumn && defaults.find(({ types }) => types.test(written?.type ?? ''))
    if (!written || !value || isTypedColumn(found, columnsOf) || isHandled(query, written, value)) return []
    const { first, end, type } = written
    const isLow = /^LowCardinality/i.test(type)
    const nullable = isLow ? 'LowCardinality(Nullable(String))' : `Nullable(${type.replace(/, ?/g, ', ')})`
    const message =
      `${text(first, end)} is ${value.missing} where the path is missing. ` +
      `Use ${text(path.first, path.end)}::${nullable} to get null.`
    return [{ code: 'cast_hides_missing', message, at: first }]
  })
}

/** A text column is empty where the path is missing as well, and this cast is how to read it. */
function isTypedColumn({ place, path }: FoundPath, columnsOf: ColumnsOf): boolean {
  if (!place || path.cast?.type !== 'String') return false
  return columnsOf(place.source)?.some(({ path, type }) => path === place.path && type === 'text') ?? false
}

function isHandled(query: QueryText, { first, end }: TokenRange, { handled }: DefaultValue): boolean {
  const { sql, tokens } = query
  const before = isSymbol(tokens[first - 1], '(') ? first - 2 : first - 1
  // What is not true of null is not true of its opposite either.
  if (isKeyword(tokens[before], 'NOT')) return false
  const call = functionAround(query, first)
  const name = call?.open === first - 1 ? call.name : ''
  const next = tokens[end]
  const isFallback = isSymbol(next, ',') && !/^(?:ifNull|coalesce)$/i.test(name)
  const isCompared = /^[=<>!]$/.test(tokens[first - 1]?.text ?? '')
  return indifferent.test(name) || isCompared || (!isFallback && handled.test(sql.slice(next?.start)))
}

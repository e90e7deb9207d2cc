import { reservedName } from '../../../shared/sql-tokens.ts'
import { grouped } from '../../base/grouped.ts'
import { closestName } from '../../base/text/closest-name.ts'
import type { ColumnsOf } from '../paths.ts'
import { type Query, queryOf } from '../query.ts'
import { isKeyword, isSymbol, type TokenRange } from '../tokens.ts'
import { pathWarnings, type SampledSources } from './path-warnings.ts'
import { aliasWarnings, orderWarnings, timeWarnings } from './select-warnings.ts'
import { textWarnings } from './text-warnings.ts'
import type { Finding, Warning } from './warning.ts'

export interface WarnedQuery {
  sql: string
  declared: readonly string[]
  /** Parameters that endpoints which it reads take. */
  handedOn?: ReadonlySet<string>
  columnsOf: ColumnsOf
  /** Whether callers can send SQL of their own over the named subqueries. */
  sandbox: boolean
}

/** Longer SQL is not written by hand, and reading it would delay other requests. */
export const maxWarnedLength = 100_000

/** A hostile query must not make the service list warnings without end. */
const maxWarnings = 100

/** Finds what is valid in a query and probably wrong, in the order of the text. The query must have been checked. */
export async function findWarnings(asked: WarnedQuery, sampled?: SampledSources): Promise<Warning[]> {
  const { sql, columnsOf, sandbox } = asked
  if (sql.length > maxWarnedLength) return []
  const query = queryOf(sql)
  const findings: Finding[] = [
    ...parameterWarnings(query, asked),
    ...castWarnings(query),
    ...aliasWarnings(query, columnsOf),
    ...timeWarnings(query, columnsOf, sandbox),
    ...clockWarnings(query),
    ...intervalWarnings(query),
    ...orderWarnings(query),
    ...textWarnings(query),
    ...(sampled ? await pathWarnings(query, columnsOf, sampled) : []),
  ]
  return findings
    .sort((one, other) => one.at - other.at)
    .slice(0, maxWarnings)
    .map(({ code, message, at }) => ({ code, message, ...(query.positionAt(at) ?? { line: 1, column: 1 }) }))
}

function parameterWarnings(query: Query, { declared, handedOn }: WarnedQuery): Finding[] {
  const { tokens, parameters: used } = query
  const known = new Set([...declared, reservedName])
  const undeclared = [...used].filter(([name]) => !known.has(name))
  const unused = declared.filter((name) => !used.has(name) && !handedOn?.has(name))
  const findings = undeclared.map(([name, [at = -1]]): Finding => {
    const closest = closestName(name, known)
    const help = closest === undefined ? 'Declare it.' : `Did you mean @${closest}?`
    const message = `@${name} is not declared, so it is null unless a caller sends it. ${help}`
    return { code: 'undeclared_parameter', message, at }
  })
  const inQuotes = new Set(
    tokens.flatMap(({ kind, text }) => (kind === 'string' ? (text.match(/(?<=@)\w+/g) ?? []) : [])),
  )
  for (const name of unused) {
    const help = inQuotes.has(name)
      ? `In quotes, @${name} is only text; remove the quotes.`
      : `Use @${name}, or remove the declaration.`
    const message = `The parameter ${name} is declared, but the SQL does not use it. ${help}`
    findings.push({ code: 'unused_parameter', message, at: -1 })
  }
  return findings
}

const clocks: Record<string, string> = {
  now: '@now',
  now64: '@now',
  current_timestamp: '@now',
  utc_timestamp: '@now',
  current_date: 'toDate(@now)',
  today: 'toDate(@now)',
  yesterday: 'toDate(@now) - 1',
}

/** The engine's clock, which a test or a replay cannot set. */
function clockWarnings({ tokens }: Query): Finding[] {
  return tokens.flatMap(({ text }, at): Finding[] => {
    const name = text.toLowerCase()
    const call = isSymbol(tokens[at + 1], '(') ? '()' : ''
    if (!Object.hasOwn(clocks, name) || !(call || /^CURRENT_/.test(text))) return []
    const message = `${text}${call} is the clock of the engine. Use ${clocks[name]}: it is the same instant in the whole query, and tests can set it.`
    return [{ code: 'current_time', message, at }]
  })
}

/** A choice between intervals in different units, which the engine converts to one of them. */
function intervalWarnings({ tokens, brackets }: Query): Finding[] {
  const units = tokens.flatMap(({ text }, at) => {
    const unit = isKeyword(tokens[at], 'INTERVAL')
      ? titled(tokens[at + 2]?.text ?? '')
      : /^toInterval(\w+)$/i.exec(text)?.[1]
    return unit && isSymbol(tokens[at - 1], ',') ? { unit, call: (brackets[at] ?? 0) - 1 } : []
  })
  return [...grouped(units, ({ call }) => call)].flatMap(([at, chosen]): Finding[] => {
    const [first = '', ...others] = chosen.map(({ unit }) => unit)
    const other = others.find((unit) => unit.toLowerCase() !== first.toLowerCase())
    if (other === undefined || !/^(?:if|multiIf)$/i.test(tokens[at]?.text ?? '')) return []
    const bucket = (unit: string) => `toStartOfInterval(timestamp, toInterval${unit}(1))`
    const message =
      `${tokens[at]?.text} converts these intervals to one unit; a week becomes 7 days, which do not start on a Monday. ` +
      `Choose between the results instead: multiIf(…, ${bucket(first)}, ${bucket(other)}).`
    return [{ code: 'mixed_intervals', message, at }]
  })
}

function titled(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()
}

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
function castWarnings(query: Query): Finding[] {
  const text = (range: TokenRange) => {
    const all = query.text(range)
    return all.length > 80 ? `${all.slice(0, 80)}…` : all
  }
  return query.paths.flatMap(({ path, isColumn }): Finding[] => {
    const { written } = path
    const value = !isColumn && defaults.find(({ types }) => types.test(written?.type ?? ''))
    if (!written || !value || isHandled(query, written, value)) return []
    const { first, type } = written
    const isLow = /^LowCardinality/i.test(type)
    const nullable = isLow ? 'LowCardinality(Nullable(String))' : `Nullable(${type.replace(/, ?/g, ', ')})`
    const message =
      `${text(written)} is ${value.missing} where the path is missing. ` +
      `Use ${text(path)}::${nullable} to get null.`
    return [{ code: 'cast_hides_missing', message, at: first }]
  })
}

function isHandled(query: Query, { first, end }: TokenRange, { handled }: DefaultValue): boolean {
  const { sql, tokens } = query
  const before = isSymbol(tokens[first - 1], '(') ? first - 2 : first - 1
  // What is not true of null is not true of its opposite either.
  if (isKeyword(tokens[before], 'NOT')) return false
  const call = query.functionAround(first)
  const name = call?.open === first - 1 ? call.name : ''
  const next = tokens[end]
  const isFallback = isSymbol(next, ',') && !/^(?:ifNull|coalesce)$/i.test(name)
  const isCompared = /^[=<>!]$/.test(tokens[first - 1]?.text ?? '')
  return indifferent.test(name) || isCompared || (!isFallback && handled.test(sql.slice(next?.start)))
}

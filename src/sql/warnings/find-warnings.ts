import { closestName } from '../../base/text/closest-name.ts'
import { positionOf } from '../errors.ts'
import { castWarnings } from './cast-warnings.ts'
import { pathWarnings, type SampledSources } from './path-warnings.ts'
import { type ColumnsOf, type Finding, type QueryText, readQuery } from './query-text.ts'
import { aliasWarnings, orderWarnings, timeWarnings } from './select-warnings.ts'
import type { Warning } from './warning.ts'

export interface WarnedQuery {
  sql: string
  declared: readonly string[]
  /** Names that the service sets, such as now. */
  reserved: readonly string[]
  /** Names that are used outside of the SQL. */
  usedElsewhere: readonly string[]
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
  const query = readQuery(sql)
  const findings: Finding[] = [
    ...parameterWarnings(query, asked),
    ...castWarnings(query, columnsOf),
    ...aliasWarnings(query, columnsOf),
    ...timeWarnings(query, columnsOf, sandbox),
    ...orderWarnings(query),
    ...(sampled ? await pathWarnings(query, columnsOf, sampled) : []),
  ]
  return findings
    .sort((one, other) => one.at - other.at)
    .slice(0, maxWarnings)
    .map(({ code, message, at }) => ({ code, message, ...positionOf(sql, query.tokens[at]?.start ?? 0) }))
}

function parameterWarnings(
  { tokens }: QueryText,
  { declared, reserved, usedElsewhere }: WarnedQuery,
): Finding[] {
  const used = new Map<string, number>()
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind === 'parameter' && !used.has(text.slice(1))) used.set(text.slice(1), at)
  }
  const known = new Set([...declared, ...reserved])
  const undeclared = [...used].filter(([name]) => !known.has(name))
  const unused = declared.filter((name) => !used.has(name) && !usedElsewhere.includes(name))
  const findings = undeclared.map(([name, at]): Finding => {
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

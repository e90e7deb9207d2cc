import { positionOf } from '../errors.ts'
import { aliasWarnings } from './alias-warnings.ts'
import { castWarnings } from './cast-warnings.ts'
import { orderWarnings } from './order-warnings.ts'
import { parameterWarnings, type WarnedParameters } from './parameter-warnings.ts'
import { pathWarnings, type SampledSources } from './path-warnings.ts'
import { type ColumnsOf, type Finding, readQuery } from './query-text.ts'
import { timeWarnings } from './time-warnings.ts'
import type { Warning } from './warning.ts'

export interface WarnedQuery extends WarnedParameters {
  sql: string
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

import type { SqlEdit } from './edits.ts'
import { sqlName } from './names.ts'
import type { Query } from './query.ts'
import { type CodeToken, identifierOf, isSymbol } from './tokens.ts'

/** Whether a name cannot mean a table out of scope: one of another database, of a shard, or the service's own. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z]\w*$/.test(name) && !name.endsWith('_local')
}

/** Names that the service gives to subqueries. No table of any database has such a name. */
const givenForm = /^_named_\d+_\w*$/

export const isGivenName = (name: string) => givenForm.test(name)

/** Operators and functions whose last operand can be the bare name of a table. */
export const comparesWithTable = /^((global)?(not)?(null)?in|exists)$/i

/**
 * Gives other names to named subqueries that could mean something else where they are sent: tables of the engine, out of the
 * subquery's scope, or another subquery of the same statement. An out-of-scope use of the old name is refused as an unknown source.
 */
export function subqueryEdits(query: Query, takenNames: Set<string>): SqlEdit[] {
  const givenNames = new Map<string, string>()
  for (const name of query.subqueriesBy.keys()) {
    if (!isPlainName(name) || takenNames.has(name)) givenNames.set(name, freeName(name, query, takenNames))
    takenNames.add(givenNames.get(name) ?? name)
  }
  if (givenNames.size === 0) return []
  const { tokens, subqueries, selects } = query
  const edits = new Map<number, string>()
  const rename = (at: number, alias = '') => {
    const name = identifierOf(tokens[at]) ?? ''
    const givenName = givenNames.get(name)
    if (givenName !== undefined && !isSymbol(tokens[at - 1], '.')) edits.set(at, givenName + alias)
  }
  for (const { at } of subqueries) rename(at)
  for (const { name, at, isAliased } of selects.flatMap(({ tables }) => tables)) {
    if (name !== undefined) rename(at, isAliased ? '' : ` AS ${sqlName(name)}`)
  }
  for (const at of tokens.keys()) if (isComparedTable(query, at)) rename(at)
  return [...edits].map(([at, text]) => {
    const { start, end } = tokens[at] as CodeToken
    return { start, end, text }
  })
}

/** The name is readable in errors of the engine. */
function freeName(name: string, { sql }: Query, takenNames: ReadonlySet<string>): string {
  const ending = name.replace(/\W/g, '_')
  // The set grows with each name, so the first attempt succeeds unless an author imitates such names.
  for (let number = takenNames.size + 1; ; number++) {
    const givenName = `_named_${number}_${ending}`
    if (!takenNames.has(givenName) && !sql.includes(givenName)) return givenName
  }
}

/** A message of the engine with the names that the author wrote. */
export function withWrittenNames(message: string): string {
  return message.replace(/\b_named_\d+_(\w*)/g, '$1')
}

/** The right side of IN and the argument of EXISTS, also in brackets. */
function isComparedTable({ tokens }: Query, at: number): boolean {
  if (identifierOf(tokens[at]) === undefined || isSymbol(tokens[at + 1], '.')) return false
  let first = at - 1
  let end = at + 1
  while (isSymbol(tokens[first], '(') && isSymbol(tokens[end], ')')) {
    first--
    end++
  }
  if (comparesWithTable.test(tokens[first]?.text ?? '')) return true
  // in(x, name)
  const { depth } = tokens[at] as CodeToken
  if (!isSymbol(tokens[first], ',') || !isSymbol(tokens[end], ')')) return false
  while (first >= 0 && (tokens[first] as CodeToken).depth >= depth) first--
  return comparesWithTable.test(tokens[first - 1]?.text ?? '')
}

import { isAggregate } from '../functions.ts'
import { metadata, pathAt } from '../metadata-path.ts'
import type { SelectScope } from '../scopes.ts'
import { ownColumns } from '../sent-sql.ts'
import { type CodeToken, closingOf, identifierOf, isSymbol } from '../tokens.ts'
import {
  aliasOf,
  type ColumnsOf,
  callEnd,
  columnAt,
  type Finding,
  type QueryText,
  type SourceColumn,
  sourceOf,
  tokensIn,
} from './query-text.ts'

/** Aliases that a condition or an aggregate function reads in place of the column of the same name. */
export function aliasWarnings(query: QueryText, columnsOf: ColumnsOf): Finding[] {
  return query.selects.flatMap((scope) => {
    if (!scope.certain) return []
    const sources = scope.tables.flatMap((table) => sourceOf(query, table, columnsOf) ?? [])
    const typed = sources.flatMap((source) => columnsOf(source) ?? [])
    if (sources.length === 0) return []
    const columns = new Set([...ownColumns, ...typed.map(({ name }) => name)])
    const readers = readersOf(query, scope)
    return scope.items.flatMap((item) => {
      const alias = aliasOf(query, item)
      if (!alias || !columns.has(alias.name) || isSameValue(query, alias, typed)) return []
      const use = readers.get(alias.name)?.find(({ at }) => at < item.first || at >= item.end)?.reader
      if (use === undefined) return []
      const message =
        `${use} reads the alias ${alias.name}, not the column of ${sources.join(' and ')} with this name. ` +
        'Choose another alias, or write the table before the column.'
      return [{ code: 'alias_shadows_column' as const, message, at: alias.at }]
    })
  })
}

/** Whether the alias has the value of the column: the column itself, or the path that a typed column holds. */
function isSameValue(
  query: QueryText,
  { name, first, end }: { name: string; first: number; end: number },
  typed: readonly SourceColumn[],
): boolean {
  const { sql, tokens } = query
  let [from, to] = [first, end]
  while (isSymbol(tokens[from], '(') && isSymbol(tokens[to - 1], ')')) [from, to] = [from + 1, to - 1]
  // A time zone changes how an instant is shown, not which instant it is.
  if (identifierOf(tokens[from]) === 'toTimeZone' && isSymbol(tokens[from + 1], '(')) {
    const column = columnAt(query, from + 2) ? from + 2 : from + 4
    return columnAt(query, column)?.name === name && isSymbol(tokens[column + 1], ',')
  }
  const isCast = /^cast$/i.test(tokens[from]?.text ?? '')
  const path = pathAt(sql, tokens, isCast ? from + 2 : from, false)
  if (path) {
    const isWhole = isCast ? closingOf(tokens, from + 1) === to - 1 : isCastOnly(tokens.slice(path.end, to))
    return isWhole && typed.some((column) => column.name === name && column.path === path.steps[0]?.join('.'))
  }
  return to - from <= 5 && columnAt(query, to - 1)?.name === name && isDotted(tokens.slice(from, to))
}

/** Whether nothing but a cast follows an expression. */
function isCastOnly(tokens: readonly CodeToken[]): boolean {
  return tokens.length === 0 || /^::\w+(?:\(.*\))?$/s.test(tokens.map(({ text }) => text).join(''))
}

/** Whether the tokens are one name with dots: "timestamp", "e.timestamp". */
function isDotted(tokens: readonly CodeToken[]): boolean {
  return tokens.every((token, index) =>
    index % 2 === 0 ? identifierOf(token) !== undefined : isSymbol(token, '.'),
  )
}

interface Reader {
  /** What reads the name, and the index of its token. */
  reader: string
  at: number
}

/**
 * Where names are read although columns are meant: in WHERE and in aggregate functions. GROUP BY, HAVING and ORDER BY
 * usually mean the alias.
 */
function readersOf(query: QueryText, scope: SelectScope): Map<string, Reader[]> {
  const { tokens, scopes } = query
  const readers = new Map<string, Reader[]>()
  const add = (reader: string, at: number) => {
    const name = scopes.of[at] === scope ? nameAt(query, at) : undefined
    if (name === undefined) return
    const known = readers.get(name) ?? []
    readers.set(name, known)
    known.push({ reader, at })
  }
  for (const at of tokensIn(query, scope, 'WHERE')) add('WHERE', at)
  for (const item of scope.items) {
    for (let at = item.first; at < item.end; at++) {
      const called = identifierOf(tokens[at])
      const end = called !== undefined && isAggregate(called) ? callEnd(tokens, at) : undefined
      if (end === undefined) continue
      for (let inner = at + 1; inner < end; inner++) add(`${called}()`, inner)
      at = end - 1
    }
  }
  return readers
}

/** The column that an unqualified name or path reads. */
function nameAt(query: QueryText, at: number): string | undefined {
  const { tokens } = query
  const use = columnAt(query, at)
  if (use) return use.qualifier === undefined ? use.name : undefined
  const isPath = identifierOf(tokens[at]) === metadata && isSymbol(tokens[at + 1], '.')
  return isPath && !isSymbol(tokens[at - 1], '.') ? metadata : undefined
}

import { grouped } from '../../base/grouped.ts'
import { isAggregate } from '../functions.ts'
import { metadata } from '../metadata-path.ts'
import type { ColumnsOf } from '../paths.ts'
import { ownColumns } from '../pruned-sql.ts'
import type { ReadTable, SelectScope } from '../scopes.ts'
import { type CodeToken, identifierOf, isKeyword, isSymbol } from '../tokens.ts'
import {
  aliasOf,
  type Clause,
  type ColumnUse,
  callEnd,
  clausesOf,
  columnAt,
  type Finding,
  functionAround,
  type QueryText,
  sourceOf,
  tokensIn,
} from './query-text.ts'

/** Aliases that WHERE reads in place of the column of the same name. */
export function aliasWarnings(query: QueryText, columnsOf: ColumnsOf): Finding[] {
  const { sql, tokens, selects } = query
  return selects.flatMap((scope) => {
    const tables = scope.certain ? scope.tables : []
    const sources = tables.flatMap((table) => sourceOf(query, table, columnsOf) ?? [])
    const typed = new Set(sources.flatMap((source) => columnsOf(source)?.map(({ name }) => name) ?? []))
    const columns = sources.length > 0 ? new Set([...ownColumns, ...typed]) : typed
    const uses = tokensIn(query, scope, 'WHERE').flatMap((at) => columnAt(query, at) ?? [])
    const filtered = new Set(uses.flatMap(({ name, qualifier }) => (qualifier === undefined ? name : [])))
    return scope.items.flatMap((item): Finding[] => {
      const alias = aliasOf(query, item)
      if (!alias || !columns.has(alias.name) || !filtered.has(alias.name)) return []
      const text = sql.slice(tokens[alias.first]?.start, tokens[alias.end - 1]?.end)
      const value = text.replace(/^\(*(?:[\w`"]+\.)*/, '')
      // A time zone changes how an instant is shown, and a typed column has the value of its path.
      const isSameValue =
        (value.startsWith(alias.name) && /^\)*$/.test(value.slice(alias.name.length))) ||
        text.startsWith('toTimeZone(') ||
        (typed.has(alias.name) && text.includes(`${metadata}.`))
      if (isSameValue) return []
      const message =
        `WHERE reads the alias ${alias.name}, not the column of ${sources.join(' and ')} with this name. ` +
        'Choose another alias, or write the table before the column.'
      return [{ code: 'alias_shadows_column', message, at: alias.at }]
    })
  })
}

/** LIMIT that keeps any rows, because they have no order. */
export function orderWarnings(query: QueryText): Finding[] {
  return query.selects.flatMap((scope): Finding[] => {
    const clauses = clausesOf(query, scope)
    const limit = clauses.find((clause) => isRowLimit(query, clause))
    if (!limit || clauses.some(({ keyword }) => keyword === 'ORDER')) return []
    const isExists = isKeyword(query.tokens[scope.open - 1], 'EXISTS')
    if (isOneRow(query, scope, clauses) || isOrdered(query, scope) || isExists) return []
    const message = 'LIMIT without ORDER BY can keep different rows each time. Add ORDER BY.'
    return [{ code: 'no_order', message, at: limit.at }]
  })
}

/** LIMIT n, but not LIMIT 0 and not LIMIT n BY column. */
function isRowLimit({ tokens }: QueryText, { keyword, at, end }: Clause): boolean {
  if (keyword !== 'LIMIT') return false
  const own = tokens.slice(at + 1, end)
  return own[0]?.text !== '0' && !own.some((token) => isKeyword(token, 'BY'))
}

/** Whether there is at most one row anyway: an aggregate of everything, a search by id, or no table at all. */
function isOneRow(query: QueryText, scope: SelectScope, clauses: readonly Clause[]): boolean {
  const { tokens, scopes } = query
  if (scope.tables.length === 0) return true
  const isGrouped = clauses.some(({ keyword }) => keyword === 'GROUP')
  const aggregates = scope.items.some(({ first, end }) => {
    for (let at = first; at < end; at++) {
      const name = identifierOf(tokens[at])
      if (name === undefined || scopes.of[at] !== scope || !isAggregate(name)) continue
      const after = callEnd(tokens, at)
      if (after !== undefined && !isKeyword(tokens[after], 'OVER')) return true
    }
    return false
  })
  if (aggregates && !isGrouped) return true
  return tokensIn(query, scope, 'WHERE').some((at) => {
    return columnAt(query, at)?.name === 'id' && isSymbol(tokens[at + 1], '=')
  })
}

/** Whether all rows come from one subquery that has an order, or from a generator, which has its own. */
function isOrdered(query: QueryText, scope: SelectScope): boolean {
  const [table, ...others] = scope.tables
  if (!table || others.length > 0 || !scope.certain) return !scope.certain
  const [named] = query.subqueriesBy.get(table.name ?? '') ?? []
  const isSubquery = isSymbol(query.tokens[table.at], '(')
  if (table.name === undefined && !isSubquery) return true
  const open = isSubquery ? table.at : named?.open
  if (open === undefined) return false
  const inner = query.selectsIn.get(open) ?? []
  return (
    inner.length === 1 && clausesOf(query, inner[0] as SelectScope).some(({ keyword }) => keyword === 'ORDER')
  )
}

const timestamp = 'timestamp'

/** Functions whose values repeat, so that a condition on one limits nothing. */
const repeating =
  /^(?:to(?:Second|Minute|Hour|DayOfWeek|DayOfMonth|Month|Quarter)|second|minute|hour|dayofweek|dayofmonth|day|month|quarter|extract)$/i

/** Sources that are read without any bound on their timestamp, not even in a SELECT that reads the rows. */
export function timeWarnings(query: QueryText, columnsOf: ColumnsOf, isSandbox: boolean): Finding[] {
  const names = timeNames(query)
  const isBounded = ownBounds(query, names)
  const isBoundedOutside = outsideBounds(query, names, isBounded, isSandbox)
  return query.selects.flatMap((scope) => {
    if (!scope.certain) return []
    return scope.tables.flatMap((table): Finding[] => {
      const source = sourceOf(query, table, columnsOf)
      if (source === undefined || isBounded(scope, table) || isBoundedOutside(scope)) return []
      const message = `Every entry of ${source} is read. Limit the time, as in timestamp > @now - INTERVAL 1 DAY.`
      return [{ code: 'unbounded_time', message, at: table.at }]
    })
  })
}

/** Names that stand for a timestamp or a value that is computed from one, in any part of the query. */
function timeNames(query: QueryText): Set<string> {
  const { tokens, scopes, selects } = query
  const names = new Set([timestamp])
  const aliases = selects.flatMap(({ items }) => items.flatMap((item) => aliasOf(query, item) ?? []))
  for (let at = 1; at < tokens.length - 1; at++) {
    const name = identifierOf(tokens[at + 1])
    if (!isKeyword(tokens[at], 'AS') || name === undefined || scopes.tableTokens.has(at + 1)) continue
    aliases.push({ name, at, first: expressionStart(tokens, at), end: at })
  }
  const usesOf = new Map<string, Set<string>>()
  for (const { name, first, end } of aliases) {
    for (let at = first; at < end; at++) {
      const use = columnAt(query, at)
      if (!use || use.qualifier === metadata) continue
      const uses = usesOf.get(use.name) ?? new Set()
      usesOf.set(use.name, uses.add(name))
    }
  }
  // A set visits what is added while it is read.
  for (const name of names) for (const alias of usesOf.get(name) ?? []) names.add(alias)
  return names
}

function expressionStart(tokens: readonly CodeToken[], as: number): number {
  const { depth } = tokens[as] as CodeToken
  let first = as
  for (; first > 0; first--) {
    const before = tokens[first - 1] as CodeToken
    if (before.depth < depth) break
    if (before.depth !== depth) continue
    if (isSymbol(before, ',') || isKeyword(before, 'SELECT', 'WITH', 'DISTINCT')) break
    // An alias inside of the expression stands for what precedes it.
    if (first < as && isKeyword(before, 'AS')) break
  }
  return first
}

function timeAt(query: QueryText, at: number, names: ReadonlySet<string>): ColumnUse | undefined {
  const use = columnAt(query, at)
  return use && names.has(use.name) && use.qualifier !== metadata ? use : undefined
}

type IsBounded = (scope: SelectScope, table: ReadTable) => boolean

/** Returns whether a condition of a SELECT depends on the time of the table's rows. */
function ownBounds(query: QueryText, names: ReadonlySet<string>): IsBounded {
  // The conditions of each SELECT are read once, however many tables it has.
  const known = new Map<SelectScope, ReadonlySet<string | undefined>>()
  const qualifiersOf = (scope: SelectScope) => {
    const uses = tokensIn(query, scope, 'FROM', 'WHERE', 'HAVING', 'QUALIFY').flatMap((at) => {
      const use = timeAt(query, at, names)
      return use && !repeating.test(functionAround(query, at)?.name ?? '') ? [use.qualifier] : []
    })
    return new Set(uses)
  }
  return (scope, { alias, name }) => {
    if (!scope.certain) return true
    const qualifiers = known.get(scope) ?? qualifiersOf(scope)
    known.set(scope, qualifiers)
    return qualifiers.has(undefined) || qualifiers.has(alias) || qualifiers.has(name)
  }
}

const maxOpen = 200

/** Returns whether every SELECT that reads the rows of another one limits their time. */
function outsideBounds(
  query: QueryText,
  names: ReadonlySet<string>,
  isBounded: IsBounded,
  isSandbox: boolean,
) {
  const reads = query.selects.flatMap((reader) => reader.tables.map((table) => ({ reader, table })))
  const readersOf = grouped(reads, ({ table }) => table.name)
  const readAt = new Map(reads.map((read) => [read.table.at, read]))
  const namedAt = new Map(query.subqueries.map((subquery) => [subquery.open, subquery]))
  // The SELECTs of a UNION have the same readers.
  const known = new Map<number, boolean>()
  let depth = 0
  const isBoundedOutside = (scope: SelectScope): boolean => {
    const { parent, open } = scope
    if (parent === undefined) return false
    const isShown = isSandbox && parent.parent === undefined && namedAt.has(open)
    if (isShown && showsTime(query, scope, names)) return true
    const before = known.get(open)
    if (before !== undefined) return before
    // A query can refer to itself, or be nested too deep to follow; what it reads then is not certain.
    known.set(open, true)
    if (depth === maxOpen) return true
    depth++
    const bounded = find(parent, open)
    depth--
    known.set(open, bounded)
    return bounded
  }
  const isBoundedIn = ({ reader, table }: (typeof reads)[number]) =>
    isBounded(reader, table) || isBoundedOutside(reader)
  const find = (parent: SelectScope, open: number): boolean => {
    // Only brackets are around it.
    if (!clausesOf(query, parent).some(({ keyword }) => keyword === 'SELECT')) return isBoundedOutside(parent)
    const read = readAt.get(open)
    if (read) return isBoundedIn(read)
    const named = namedAt.get(open)
    if (!named) return false
    const isUnique = query.subqueriesBy.get(named.name)?.length === 1
    if (!isUnique || named.renamesColumns) return true
    // Without a reader, it is not sent to the engine.
    return (readersOf.get(named.name) ?? []).every(isBoundedIn)
  }
  return isBoundedOutside
}

/** Whether those who read the SELECT can limit the time. */
function showsTime(query: QueryText, { items }: SelectScope, names: ReadonlySet<string>): boolean {
  return items.some(({ first, end }) => {
    for (let at = first; at < end; at++) {
      if (isSymbol(query.tokens[at], '*') || timeAt(query, at, names)) return true
    }
    return false
  })
}

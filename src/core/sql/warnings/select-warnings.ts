import { grouped } from '../../base/grouped.ts'
import { isAggregate } from '../functions.ts'
import { metadata } from '../metadata-path.ts'
import type { ColumnsOf } from '../paths.ts'
import type { ColumnUse, Query } from '../query.ts'
import { clauseOf, type ReadTable, type SelectScope } from '../scopes.ts'
import { type CodeToken, closingOf, identifierOf, isKeyword, isSymbol } from '../tokens.ts'
import type { Finding } from './warning.ts'

const ownColumns = ['project', 'id', 'timestamp', 'event_message', metadata]

/** The source that a SELECT reads as this table, unless a subquery has the same name. */
function sourceOf({ subqueriesBy }: Query, { name = '' }: ReadTable, columnsOf: ColumnsOf) {
  return !subqueriesBy.has(name) && columnsOf(name) ? name : undefined
}

/** Aliases that WHERE reads in place of the column of the same name. */
export function aliasWarnings(query: Query, columnsOf: ColumnsOf): Finding[] {
  return query.selects.flatMap((scope) => {
    const tables = scope.certain ? scope.tables : []
    const sources = tables.flatMap((table) => sourceOf(query, table, columnsOf) ?? [])
    const typed = new Set(sources.flatMap((source) => columnsOf(source)?.map(({ name }) => name) ?? []))
    const columns = sources.length > 0 ? new Set([...ownColumns, ...typed]) : typed
    const uses = query.tokensIn(scope, 'WHERE').flatMap((at) => query.columnAt(at) ?? [])
    const filtered = new Set(uses.flatMap(({ name, qualifier }) => (qualifier === undefined ? name : [])))
    return scope.items.flatMap((item): Finding[] => {
      const alias = query.aliasOf(item)
      if (!alias || !columns.has(alias.name) || !filtered.has(alias.name)) return []
      const text = query.text(alias)
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
export function orderWarnings(query: Query): Finding[] {
  const { tokens } = query
  return query.selects.flatMap((scope): Finding[] => {
    // LIMIT n, but not LIMIT 0 and not LIMIT n BY column.
    const limit = scope.clauses.find(({ keyword, at, end }) => {
      const own = tokens.slice(at + 1, end)
      return keyword === 'LIMIT' && own[0]?.text !== '0' && !own.some((token) => isKeyword(token, 'BY'))
    })
    const isExists = isKeyword(tokens[scope.open - 1], 'EXISTS')
    if (!limit || clauseOf(scope, 'ORDER') || isExists) return []
    if (isOneRow(query, scope) || isOrdered(query, scope)) return []
    const message = 'LIMIT without ORDER BY can keep different rows each time. Add ORDER BY.'
    return [{ code: 'no_order', message, at: limit.at }]
  })
}

/** Whether there is at most one row anyway: an aggregate of everything, a search by id, or no table at all. */
function isOneRow(query: Query, scope: SelectScope): boolean {
  const { tokens, scopes } = query
  if (scope.tables.length === 0) return true
  const aggregates = scope.items.some(({ first, end }) => {
    for (let at = first; at < end; at++) {
      const name = identifierOf(tokens[at])
      if (name === undefined || scopes.of[at] !== scope || !isAggregate(name)) continue
      if (!isSymbol(tokens[at + 1], '(')) continue
      // quantile(0.9)(…) has two pairs of brackets.
      const after = closingOf(tokens, at + 1) + 1
      const end = isSymbol(tokens[after], '(') ? closingOf(tokens, after) + 1 : after
      if (!isKeyword(tokens[end], 'OVER')) return true
    }
    return false
  })
  if (aggregates && !clauseOf(scope, 'GROUP')) return true
  return query.tokensIn(scope, 'WHERE').some((at) => {
    return query.columnAt(at)?.name === 'id' && isSymbol(tokens[at + 1], '=')
  })
}

/** Whether all rows come from one subquery that has an order, or from a generator, which has its own. */
function isOrdered(query: Query, scope: SelectScope): boolean {
  const [table, ...others] = scope.tables
  if (!table || others.length > 0 || !scope.certain) return !scope.certain
  const [named] = query.subqueriesBy.get(table.name ?? '') ?? []
  const isSubquery = isSymbol(query.tokens[table.at], '(')
  if (table.name === undefined && !isSubquery) return true
  const open = isSubquery ? table.at : named?.open
  if (open === undefined) return false
  const [inner, ...more] = query.selectsIn.get(open) ?? []
  return inner !== undefined && more.length === 0 && clauseOf(inner, 'ORDER') !== undefined
}

const timestamp = 'timestamp'

/** Functions whose values repeat, so that a condition on one limits nothing. */
const repeating =
  /^(?:to(?:Second|Minute|Hour|DayOfWeek|DayOfMonth|Month|Quarter)|second|minute|hour|dayofweek|dayofmonth|day|month|quarter|extract)$/i

/** Sources that are read without any bound on their timestamp, not even in a SELECT that reads the rows. */
export function timeWarnings(query: Query, columnsOf: ColumnsOf, isSandbox: boolean): Finding[] {
  const names = timeNames(query)
  return unboundedTables(query, names, isSandbox).flatMap((table): Finding[] => {
    const source = sourceOf(query, table, columnsOf)
    if (source === undefined) return []
    const message = `Every entry of ${source} is read. Limit the time, as in timestamp > @now - INTERVAL 1 DAY.`
    return [{ code: 'unbounded_time', message, at: table.at }]
  })
}

/** The tables whose rows no SELECT limits in time, from those that read the others on. */
function unboundedTables(query: Query, names: ReadonlySet<string>, isSandbox: boolean): ReadTable[] {
  const { tokens, selects, selectsIn, subqueries } = query
  const named = new Set(subqueries.map(({ open }) => open))
  const asTable = new Set(selects.flatMap(({ tables }) => tables.map(({ at }) => at)))
  const inBrackets = grouped(selects, ({ parent }) => parent)
  const isOnlyBrackets = (scope: SelectScope) => !clauseOf(scope, 'SELECT')
  const found: ReadTable[] = []
  // The statement itself, and subqueries in expressions.
  const exposed = new Set(
    selects.filter(
      ({ parent, open }) => !parent || !(named.has(open) || asTable.has(open) || isOnlyBrackets(parent)),
    ),
  )
  // Callers of a sandbox can limit the time of what shows it.
  const isLimitable = (scope: SelectScope) =>
    isSandbox && named.has(scope.open) && !scope.parent?.parent && showsTime(query, scope, names)
  const expose = (scopes: readonly SelectScope[] = []) => {
    for (const scope of scopes) if (!isLimitable(scope)) exposed.add(scope)
  }
  // A set visits what is added while it is read.
  for (const scope of exposed) {
    if (isOnlyBrackets(scope)) expose(inBrackets.get(scope))
    for (const table of unlimitedIn(query, scope, names)) {
      const subquery = query.subqueryNamed(table.name ?? '')
      found.push(table)
      if (isSymbol(tokens[table.at], '(')) expose(selectsIn.get(table.at))
      else if (subquery) expose(selectsIn.get(subquery.open))
    }
  }
  return found
}

/** Names that stand for a timestamp or a value that is computed from one, in any part of the query. */
function timeNames(query: Query): Set<string> {
  const { tokens, scopes, selects } = query
  const names = new Set([timestamp])
  const aliases = selects.flatMap(({ items }) => items.flatMap((item) => query.aliasOf(item) ?? []))
  for (let at = 1; at < tokens.length - 1; at++) {
    const name = identifierOf(tokens[at + 1])
    if (!isKeyword(tokens[at], 'AS') || name === undefined || scopes.tableTokens.has(at + 1)) continue
    aliases.push({ name, at, first: expressionStart(tokens, at), end: at })
  }
  const usesOf = new Map<string, Set<string>>()
  for (const { name, first, end } of aliases) {
    for (let at = first; at < end; at++) {
      const use = query.columnAt(at)
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

function timeAt(query: Query, at: number, names: ReadonlySet<string>): ColumnUse | undefined {
  const use = query.columnAt(at)
  return use && names.has(use.name) && use.qualifier !== metadata ? use : undefined
}

/** The tables of a SELECT whose time its conditions do not depend on. */
function unlimitedIn(query: Query, scope: SelectScope, names: ReadonlySet<string>): ReadTable[] {
  if (!scope.certain) return []
  const uses = query.tokensIn(scope, 'FROM', 'WHERE', 'HAVING', 'QUALIFY').flatMap((at) => {
    const use = timeAt(query, at, names)
    return use && !repeating.test(query.functionAround(at)?.name ?? '') ? [use.qualifier] : []
  })
  const qualifiers = new Set(uses)
  return scope.tables.filter(
    ({ alias, name }) => !qualifiers.has(undefined) && !qualifiers.has(alias) && !qualifiers.has(name),
  )
}

/** Whether those who read the SELECT can limit the time. */
function showsTime(query: Query, { items }: SelectScope, names: ReadonlySet<string>): boolean {
  return items.some(({ first, end }) => {
    for (let at = first; at < end; at++) {
      if (isSymbol(query.tokens[at], '*') || timeAt(query, at, names)) return true
    }
    return false
  })
}

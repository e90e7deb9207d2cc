import { editSql, type SqlEdit } from './edits.ts'
import { metadata } from './metadata-path.ts'
import type { ColumnsOf } from './paths.ts'
import { Query } from './query.ts'
import type { SelectScope } from './scopes.ts'
import { type CodeToken, closingOf, endsValue, identifierOf, isAlias, isKeyword, isSymbol } from './tokens.ts'
import { withElements } from './with.ts'

export const ownColumns = ['project', 'id', 'timestamp', 'event_message', metadata]

/** The same result with less to plan: the engine analyzes every subquery and column, used or not. */
export function pruned(query: Query, columnsOf: ColumnsOf = () => undefined): Query {
  let sent = withoutUnused(query)
  for (let passes = 0; passes < maxPasses; passes++) {
    const fewer = withoutUnusedColumns(sent)
    if (fewer === sent) break
    sent = withoutUnused(fewer)
  }
  return withoutPick(sent, columnsOf)
}

/** A column can become unused when the one that reads it is removed. */
const maxPasses = 8

/** Removes unused elements of the WITH clause. Any identifier counts as a use of what the engine could look for. */
export function withoutUnused(query: Query): Query {
  const { sql, tokens } = query
  const clause = withElements(tokens)
  if (!clause) return query
  const { final, elements } = clause
  const used = namesIn(tokens.slice(final))
  const kept = new Set<(typeof elements)[number]>()
  for (let found = true; found; ) {
    const more = elements.filter((each) => !kept.has(each) && each.names.some((name) => used.has(name)))
    found = more.length > 0
    for (const each of more) {
      kept.add(each)
      for (const name of namesIn(each.tokens).keys()) used.set(name, 1)
    }
  }
  // An element without a name uses syntax that this function does not know.
  if (kept.size === elements.length || elements.some(({ names }) => names.length === 0)) return query
  const rest = elements.filter((each) => kept.has(each))
  return new Query(withText(sql, rest) + sql.slice(tokens[final]?.start))
}

function withText(sql: string, elements: readonly { tokens: readonly CodeToken[] }[]): string {
  const texts = elements.map(({ tokens }) => textOf(sql, tokens))
  return texts.length === 0 ? '' : `WITH\n${texts.join(',\n')}\n`
}

function textOf(sql: string, tokens: readonly CodeToken[]): string {
  return sql.slice(tokens[0]?.start, tokens.at(-1)?.end)
}

/** How often each name occurs, in lower case. A quoted name can also stand for its parts. */
function namesIn(tokens: readonly CodeToken[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const token of tokens) {
    const name = identifierOf(token)?.toLowerCase()
    if (name === undefined) continue
    for (const part of new Set([name, ...name.split('.')])) counts.set(part, (counts.get(part) ?? 0) + 1)
  }
  return counts
}

/** Words that use columns without naming them. */
const unnamed = 'COLUMNS NATURAL PASTE RECURSIVE INTERPOLATE ALL ROLLUP CUBE GROUPING'.split(' ')

/** Removes columns that subqueries select and nobody names. */
function withoutUnusedColumns(query: Query): Query {
  const { sql, tokens } = query
  if (tokens.some((token, at) => isKeyword(token, ...unnamed) || isExpanded(tokens, at))) return query
  const { tableTokens } = query.scopes
  const uses = namesIn(tokens)
  const values = namesIn(tokens.filter((_, at) => !tableTokens.has(at)))
  const subqueries = new Map(query.subqueries.map((each) => [each.open, each]))
  const isTable = ({ open, parent }: SelectScope) => {
    const named = subqueries.get(open)
    if (!named) return parent?.tables.some(({ at }) => at === open) === true
    // Besides its definition, only FROM and JOIN name it: after IN it would stand for all columns.
    return !named.renamesColumns && values.get(named.name.toLowerCase()) === 1
  }
  const edits: SqlEdit[] = []
  for (const scope of query.selects) {
    if (!isWhole(tokens, scope) || isDistinct(tokens, scope) || !isTable(scope)) continue
    const items = scope.items.map(({ first, end }) => tokens.slice(first, end))
    const after = tokens
      .slice(scope.items.at(-1)?.end, scope.end)
      .filter(({ depth }) => depth === scope.depth)
    // ORDER BY 2 means the second column.
    if (after.some(({ kind }, at) => kind === 'number' && /^(?:by|,)$/i.test(after[at - 1]?.text ?? '')))
      continue
    const isGrouped = after.some((token) => isKeyword(token, 'GROUP'))
    const kept = items.filter((item) => {
      const name = identifierOf(item.at(-1))?.toLowerCase()
      // The parts of a name with dots can be written without quotes.
      return !name || name.includes('.') || uses.get(name) !== 1 || !canDrop(item, isGrouped)
    })
    const start = items[0]?.[0]?.start ?? 0
    if (kept.length === items.length || kept.length === 0 || start < (edits.at(-1)?.end ?? 0)) continue
    const text = kept.map((item) => textOf(sql, item)).join(', ')
    edits.push({ start, end: items.at(-1)?.at(-1)?.end ?? start, text })
  }
  return edits.length > 0 ? new Query(editSql(sql, edits).text) : query
}

/** Whether an asterisk stands for columns; that of count(*) does not, nor does one that multiplies. */
function isExpanded(tokens: readonly CodeToken[], at: number): boolean {
  const before = tokens[at - 1]
  if (!isSymbol(tokens[at], '*')) return false
  if (isSymbol(before, '(')) return !isKeyword(tokens[at - 2], 'COUNT')
  return isKeyword(before, 'SELECT', 'DISTINCT') || isSymbol(before, ',') || isSymbol(before, '.')
}

/** Whether a SELECT is all that its brackets contain, and no names for its columns follow, as in "(SELECT …) AS t(a, b)". */
function isWhole(tokens: readonly CodeToken[], { open, first, end }: SelectScope): boolean {
  const alias = isKeyword(tokens[end + 1], 'AS') ? end + 2 : end + 1
  const isNamed =
    tokens[alias]?.kind === 'word' && isSymbol(tokens[alias + 1], '(') && endsValue(tokens[alias])
  return isSymbol(tokens[open], '(') && first === open + 1 && closingOf(tokens, open) === end && !isNamed
}

function isDistinct(tokens: readonly CodeToken[], { items }: SelectScope): boolean {
  return !isKeyword(tokens[(items[0]?.first ?? 0) - 1], 'SELECT')
}

/** Functions that change the number of rows, or fail on purpose. */
const effects = ['arrayjoin', 'unnest', 'throwif']

/** Without GROUP BY, an aggregate function makes one row of all. */
function canDrop(item: readonly CodeToken[], isGrouped: boolean): boolean {
  if (item.length === 1) return true
  const expression = item.slice(0, -2)
  return (
    isKeyword(item.at(-2), 'AS') &&
    !expression.some(
      (token) => isKeyword(token, 'AS', 'SELECT') || effects.includes(token.text.toLowerCase()),
    ) &&
    (isGrouped || !expression.some((token) => isSymbol(token, '(')))
  )
}

/** Clauses that come after those of a SELECT around them, or that could. */
const ownClauses = 'WITH ORDER LIMIT OFFSET FETCH WINDOW QUALIFY SETTINGS'.split(' ')

/** Merges a final SELECT that only picks the columns of a named subquery, and orders or limits them. */
function withoutPick(query: Query, columnsOf: ColumnsOf): Query {
  const { sql, tokens } = query
  const clause = withElements(tokens)
  if (!clause) return query
  const { of } = query.scopes
  const outer = of[clause.final]
  const { name = '', at: tableAt = -1 } = outer?.tables[0] ?? {}
  const [named, ...others] = query.subqueriesBy.get(name) ?? []
  const inner = of[(named?.open ?? -2) + 1]
  const isSimple = (scope: SelectScope | undefined) =>
    scope?.certain && scope.tables.length === 1 && !isDistinct(tokens, scope)
  if (!outer || !inner || !named || !isSimple(outer) || !isSimple(inner)) return query
  const tail = tokens[tableAt + 1]
  const body = tokens.slice(inner.first, inner.end)
  const isUsedOnce =
    others.length === 0 && !named.renamesColumns && namesIn(tokens).get(name.toLowerCase()) === 2
  const isPick =
    outer.end === tokens.length &&
    isKeyword(tokens[tableAt - 1], 'FROM') &&
    (tail === undefined || isKeyword(tail, 'ORDER', 'LIMIT')) &&
    !tokens.some((token) => isKeyword(token, 'INTERPOLATE'))
  const isMergeable =
    isWhole(tokens, inner) &&
    tokens[named.open]?.depth === 0 &&
    isKeyword(tokens[named.open - 1], 'AS') &&
    isKeyword(body[0], 'SELECT') &&
    !body.some((token) => token.depth === inner.depth && isKeyword(token, ...ownClauses))
  if (!isUsedOnce || !isPick || !isMergeable) return query
  const picked = outer.items.map(({ first, end }) => nameOf(tokens.slice(first, end), true))
  const items = new Map(
    inner.items.map(({ first, end }) => {
      const item = tokens.slice(first, end)
      return [nameOf(item, false), textOf(sql, item)]
    }),
  )
  const isSame =
    new Set(picked).size === items.size && items.size === inner.items.length && picked.length === items.size
  if (!isSame || picked.some((each) => each === undefined || !items.has(each))) return query
  const rest = clause.elements.filter(({ names: [first] }) => first !== name.toLowerCase())
  if (isCaptured(rest, body, columnsOf(inner.tables[0]?.name ?? ''))) return query
  const from = textOf(sql, tokens.slice(inner.items.at(-1)?.end, inner.end))
  const list = picked.map((each) => items.get(each)).join(', ')
  return new Query(`${withText(sql, rest)}SELECT ${list}\n${from}\n${tail ? sql.slice(tail.start) : ''}`)
}

/** The name of a selected column, if it is one, or of any expression with AS. */
function nameOf(item: readonly CodeToken[], isColumn: boolean): string | undefined {
  return item.length === 1 || (!isColumn && isKeyword(item.at(-2), 'AS'))
    ? identifierOf(item.at(-1))
    : undefined
}

const keywords = 'AS AND OR NOT IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END INTERVAL'.split(' ')

/** Whether a name would mean something else where the WITH clause and the SELECT share a scope: aliases precede columns. */
function isCaptured(
  elements: readonly { tokens: readonly CodeToken[]; names: readonly string[]; isSubquery: boolean }[],
  body: readonly CodeToken[],
  columns: ReturnType<ColumnsOf>,
): boolean {
  const expressions = elements.filter(({ isSubquery }) => !isSubquery)
  const aliases = new Set(expressions.flatMap(({ names }) => names))
  const inside = namesIn(withoutPlaceholders(body))
  const isName = (token: CodeToken, next: CodeToken | undefined) =>
    !isSymbol(next, '(') && !isKeyword(token, ...keywords)
  const outside = namesIn(
    withoutPlaceholders(expressions.flatMap(({ tokens }) => tokens)).filter((token, at, all) =>
      isName(token, all[at + 1]),
    ),
  )
  const isColumn = (name: string) =>
    ownColumns.includes(name) || columns?.some((column) => column.name.toLowerCase() === name) !== false
  return (
    [...aliases].some((name) => inside.has(name) && isColumn(name)) ||
    [...outside.keys()].some((name) => inside.has(name) && !aliases.has(name)) ||
    body.some(
      (token, at) => isKeyword(body[at - 1], 'AS') && aliases.has(identifierOf(token)?.toLowerCase() ?? ''),
    )
  )
}

function withoutPlaceholders(tokens: readonly CodeToken[]): CodeToken[] {
  let isInside = false
  return tokens.filter((token) => {
    if (isSymbol(token, '{')) isInside = true
    const isOutside = !isInside
    if (isSymbol(token, '}')) isInside = false
    return isOutside
  })
}

const counts = ['count', 'countif', 'uniq', 'uniqif', 'uniqexact', 'uniqexactif']

/** Result columns that are certainly counts, which a double holds exactly, or metadata as a source stored it. */
export function certainColumns(query: Query): { counts: ReadonlySet<string>; stored: ReadonlySet<string> } {
  const { tokens } = query
  const found = { counts: new Set<string>(), stored: new Set<string>() }
  const final = query.scopes.of[tokens.length - 1]
  if (!final || final.depth > 0 || final.first > 0 || tokens.some((token) => isKeyword(token, 'INTERPOLATE')))
    return found
  for (const { first, end } of final.items) {
    const name = identifierOf(tokens[end - 1])
    const isCall =
      isSymbol(tokens[first + 1], '(') &&
      closingOf(tokens, first + 1) === end - 3 &&
      isKeyword(tokens[end - 2], 'AS')
    if (name !== undefined && isCall && counts.includes(tokens[first]?.text.toLowerCase() ?? ''))
      found.counts.add(name)
  }
  const [table, ...others] = final.tables
  const isSource =
    table?.name !== undefined && others.length === 0 && final.certain && !query.subqueriesBy.has(table.name)
  const isStored = final.items.some(
    ({ first, end }) => end === first + 1 && identifierOf(tokens[first]) === metadata,
  )
  const isOther = tokens.some((token, at) => identifierOf(token) === metadata && isAlias(tokens, at))
  if (isSource && isStored && !isOther) found.stored.add(metadata)
  return found
}

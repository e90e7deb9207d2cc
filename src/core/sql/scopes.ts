import {
  type CodeToken,
  closingOf,
  endsValue,
  identifierOf,
  isKeyword,
  isSymbol,
  listItems,
  startsQuery,
  type TokenRange,
} from './tokens.ts'

export interface ReadTable {
  /** Undefined for a subquery or a table function. */
  name: string | undefined
  /** The name that qualifies its columns, and its text as the author wrote it. */
  alias: string | undefined
  qualifier: string | undefined
  /** Index of the last token of its name, or of the bracket that opens a subquery. */
  at: number
  /** Whether the author wrote an alias. */
  isAliased: boolean
}

/** One SELECT of a statement, without its subqueries. */
export interface SelectScope extends TokenRange {
  parent: SelectScope | undefined
  depth: number
  /** Index of the bracket that opens it, or the set of SELECTs that it is part of; -1 at the top. */
  open: number
  tables: ReadTable[]
  /** False if the tables could not be read for certain, as with ARRAY JOIN. */
  certain: boolean
  clauses: readonly Clause[]
  items: TokenRange[]
}

interface Clause {
  keyword: string
  /** Index of its keyword, and of the token after its last. */
  at: number
  end: number
}

export type SqlScopes = ReturnType<typeof scopesOf>

const clauseWords =
  'SELECT FROM WHERE PREWHERE GROUP HAVING WINDOW QUALIFY ORDER LIMIT OFFSET FETCH SETTINGS FORMAT INTO'.split(
    ' ',
  )
const joins =
  'JOIN INNER LEFT RIGHT FULL CROSS OUTER ANY ALL ASOF SEMI ANTI GLOBAL LOCAL PASTE NATURAL ARRAY'.split(' ')
const afterTable = [...joins, 'ON', 'USING', 'FINAL', 'SAMPLE']

/** The SELECTs of a statement and the tables that they read, as far as its text shows. */
export function scopesOf(tokens: readonly CodeToken[]) {
  const of: (SelectScope | undefined)[] = []
  /** Indexes of tokens that name tables, not columns. */
  const tableTokens = new Set<number>()
  const read = (first: number, end: number, depth: number, parent: SelectScope | undefined): void => {
    for (let from = first; from < end; ) {
      let to = from + 1
      while (to < end && !(tokens[to]?.depth === depth && isSetOperator(tokens, to))) to++
      const scope: SelectScope = {
        parent,
        first: from,
        end: to,
        depth,
        open: first - 1,
        tables: [],
        certain: true,
        clauses: clausesIn(tokens, from, to, depth),
        items: [],
      }
      for (let at = from; at < to; at++) of[at] = scope
      const select = clauseOf(scope, 'SELECT')
      if (select) {
        const isDistinct = isKeyword(tokens[select.at + 1], 'DISTINCT')
        scope.items = listItems(tokens, select.at + (isDistinct ? 2 : 1), select.end, depth)
      }
      const source = clauseOf(scope, 'FROM')
      if (source) readTables(tokens, source.at + 1, source.end, scope, tableTokens)
      for (let at = from; at < to; at++) {
        if (!isSymbol(tokens[at], '(') || !isQuery(tokens, at)) continue
        const close = Math.min(closingOf(tokens, at), to)
        read(at + 1, close, (tokens[at] as CodeToken).depth + 1, scope)
        at = close
      }
      from = to + 1
    }
  }
  read(0, tokens.length, 0, undefined)
  return { of, tableTokens }
}

/** Whether a bracket contains one query or several, and not an expression such as ((SELECT 1) AS one). */
function isQuery(tokens: readonly CodeToken[], open: number): boolean {
  if (!startsQuery(tokens, open + 1)) return false
  const after = isSymbol(tokens[open + 1], '(') ? closingOf(tokens, open + 1) + 1 : undefined
  return (
    after === undefined ||
    after === closingOf(tokens, open) ||
    isKeyword(tokens[after], 'UNION', 'INTERSECT', 'EXCEPT')
  )
}

export function clauseOf({ clauses }: SelectScope, keyword: string): Clause | undefined {
  return clauses.find((clause) => clause.keyword === keyword)
}

function clausesIn(tokens: readonly CodeToken[], first: number, end: number, depth: number): Clause[] {
  const starts: number[] = []
  for (let at = first; at < end; at++) {
    const [before, token, after] = [tokens[at - 1], tokens[at], tokens[at + 1]]
    if (token?.depth !== depth || !isKeyword(token, ...clauseWords)) continue
    // A column or an alias may be named like a word that needs a value, such as `limit`.
    const isAfterName = isKeyword(tokens[at - 2], 'AS') || isSymbol(tokens[at - 2], '.')
    const isCertain = isKeyword(token, 'FROM')
      ? !isSymbol(before, '.') && !isKeyword(before, 'DISTINCT', 'FILL', 'AS')
      : isKeyword(token, 'GROUP', 'ORDER')
    const mayStart = at === first || isAfterName || isCertain || endsValue(before) || isSymbol(before, '*')
    const isName = isKeyword(token, 'GROUP', 'ORDER')
      ? !isKeyword(after, 'BY')
      : after?.kind === 'symbol' && !/^[([{*+-]$/.test(after.text)
    if (mayStart && !isName) starts.push(at)
  }
  return starts.map((at, index) => ({
    keyword: (tokens[at] as CodeToken).text.toUpperCase(),
    at,
    end: starts[index + 1] ?? end,
  }))
}

/** EXCEPT can also follow an asterisk. */
function isSetOperator(tokens: readonly CodeToken[], at: number): boolean {
  if (!isKeyword(tokens[at], 'UNION', 'INTERSECT', 'EXCEPT')) return false
  const next = isKeyword(tokens[at + 1], 'ALL', 'DISTINCT') ? at + 2 : at + 1
  return startsQuery(tokens, next)
}

function readTables(
  tokens: readonly CodeToken[],
  from: number,
  end: number,
  scope: SelectScope,
  tableTokens: Set<number>,
): void {
  const depth = tokens[from - 1]?.depth
  // left(…) and any(…) are functions.
  const isJoin = (at: number) =>
    tokens[at]?.depth === depth &&
    isKeyword(tokens[at], ...joins) &&
    (isKeyword(tokens[at], 'JOIN') || !isSymbol(tokens[at + 1], '('))
  let at = from
  while (at < end) {
    const table: ReadTable = { name: undefined, alias: undefined, qualifier: undefined, at, isAliased: false }
    if (isSymbol(tokens[at], '(')) {
      at = closingOf(tokens, at) + 1
    } else {
      const first = at
      while (identifierOf(tokens[at]) !== undefined && isSymbol(tokens[at + 1], '.')) at += 2
      table.at = at
      table.name = identifierOf(tokens[at])
      table.alias = table.name
      table.qualifier = tokens[at]?.text
      // SQL that names a database is refused later, so it does not matter which one it is.
      if (first + 2 < at) table.name = undefined
      for (let part = first; part <= at; part++) tableTokens.add(part)
      at++
      if (isSymbol(tokens[at], '(')) {
        Object.assign(table, { name: undefined, alias: undefined, qualifier: undefined })
        at = closingOf(tokens, at) + 1
      } else if (table.alias === undefined) {
        scope.certain = false
      }
    }
    if (isKeyword(tokens[at], 'FINAL')) at++
    const named = isKeyword(tokens[at], 'AS') ? at + 1 : at
    if (named < end && identifierOf(tokens[named]) !== undefined) {
      if (named > at || !isKeyword(tokens[named], ...afterTable)) {
        table.alias = identifierOf(tokens[named])
        table.qualifier = tokens[named]?.text
        table.isAliased = true
        tableTokens.add(named)
        at = named + 1
      }
    }
    if (isKeyword(tokens[at], 'SAMPLE')) scope.certain = false
    scope.tables.push(table)
    at = nextTable(at)
  }

  /** After the next comma or JOIN; skips conditions and ARRAY JOIN. */
  function nextTable(from: number): number {
    let next = from
    while (next < end) {
      if (tokens[next]?.depth === depth && isSymbol(tokens[next], ',')) return next + 1
      if (!isJoin(next)) {
        next++
        continue
      }
      const join = next
      while (next < end && !isKeyword(tokens[next], 'JOIN')) next++
      if (!tokens.slice(join, next).some((token) => isKeyword(token, 'ARRAY'))) return next + 1
      scope.certain = false
      next++
      while (next < end && !isJoin(next)) next++
    }
    return end
  }
}

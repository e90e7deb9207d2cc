import { engineDatabase } from './names.ts'
import { beginsQuery, closingOf, identifierOf, isSymbol, isWord, type SqlWord } from './words.ts'

/** A table that a SELECT reads. */
export interface ReadTable {
  /** Undefined for a subquery or a table function. */
  name: string | undefined
  /** What its columns can be qualified with, and the text of it as the author wrote it. */
  alias: string | undefined
  qualifier: string | undefined
  /** Index of the last word of its name, or of the bracket that opens a subquery. */
  at: number
}

/** One SELECT of a statement: its own clauses, without the subqueries inside of it. */
export interface SelectScope {
  parent: SelectScope | undefined
  tables: ReadTable[]
  /** Whether its tables are certain: false for ARRAY JOIN and for what is not understood. */
  certain: boolean
  /** Indexes of the first word of each selected expression, and of the one behind its last. */
  items: { first: number; end: number }[]
}

export interface SqlScopes {
  /** The SELECT that each word belongs to. */
  of: readonly (SelectScope | undefined)[]
  /** Words that name tables, not columns. */
  tableWords: ReadonlySet<number>
}

const clauses = [
  ...['WHERE', 'PREWHERE', 'GROUP', 'HAVING', 'WINDOW', 'QUALIFY', 'ORDER', 'LIMIT', 'OFFSET', 'FETCH'],
  ...['SETTINGS', 'FORMAT', 'INTO', 'SELECT'],
]
const joins = [
  ...['JOIN', 'INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS', 'OUTER', 'ANY', 'ALL', 'ASOF', 'SEMI', 'ANTI'],
  ...['GLOBAL', 'LOCAL', 'PASTE', 'NATURAL', 'ARRAY'],
]
const behindTable = [...joins, 'ON', 'USING', 'FINAL', 'SAMPLE']

/** The SELECTs of a statement and the tables that they read, as far as its text tells. */
export function scopesOf(words: readonly SqlWord[]): SqlScopes {
  const of: (SelectScope | undefined)[] = []
  const tableWords = new Set<number>()
  const read = (first: number, end: number, depth: number, parent: SelectScope | undefined): void => {
    const own = (at: number) => words[at]?.depth === depth
    const keyword = (at: number, ...texts: string[]) =>
      own(at) && isWord(words[at], ...texts) && !isSymbol(words[at - 1], '.') && !isSymbol(words[at + 1], '.')
    const find = (from: number, to: number, ...texts: string[]) => {
      for (let at = from; at < to; at++) if (keyword(at, ...texts)) return at
      return to
    }
    for (let from = first; from < end; ) {
      let to = from + 1
      while (to < end && !(keyword(to, 'UNION', 'INTERSECT', 'EXCEPT') && isSetOperator(words, to))) to++
      const scope: SelectScope = { parent, tables: [], certain: true, items: [] }
      for (let at = from; at < to; at++) of[at] = scope
      const select = find(from, to, 'SELECT')
      const fromAt = find(from, to, 'FROM')
      if (select < to) {
        const listEnd = fromAt > select && fromAt < to ? fromAt : find(select + 1, to, ...clauses)
        scope.items = itemsOf(words, select + 1, listEnd, depth)
      }
      if (fromAt < to) {
        readTables(words, fromAt + 1, find(fromAt + 1, to, ...clauses), scope, tableWords)
      }
      for (let at = from; at < to; at++) {
        if (!isSymbol(words[at], '(') || !beginsQuery(words, at + 1)) continue
        const close = Math.min(closingOf(words, at), to)
        read(at + 1, close, (words[at] as SqlWord).depth + 1, scope)
        at = close
      }
      from = to + 1
    }
  }
  read(0, words.length, 0, undefined)
  return { of, tableWords }
}

/** EXCEPT also stands behind an asterisk. */
function isSetOperator(words: readonly SqlWord[], at: number): boolean {
  const next = isWord(words[at + 1], 'ALL', 'DISTINCT') ? at + 2 : at + 1
  return beginsQuery(words, next)
}

function itemsOf(words: readonly SqlWord[], from: number, end: number, depth: number): SelectScope['items'] {
  const items: SelectScope['items'] = []
  let first = isWord(words[from], 'DISTINCT') ? from + 1 : from
  for (let at = first; at <= end; at++) {
    if (at < end && !(words[at]?.depth === depth && isSymbol(words[at], ','))) continue
    items.push({ first, end: at })
    first = at + 1
  }
  return items
}

function readTables(
  words: readonly SqlWord[],
  from: number,
  end: number,
  scope: SelectScope,
  tableWords: Set<number>,
): void {
  const depth = words[from - 1]?.depth
  const isJoin = (at: number) =>
    words[at]?.depth === depth && isWord(words[at], ...joins) && !isSymbol(words[at + 1], '(')
  let at = from
  while (at < end) {
    const table: ReadTable = { name: undefined, alias: undefined, qualifier: undefined, at }
    if (isSymbol(words[at], '(')) {
      at = closingOf(words, at) + 1
    } else {
      const first = at
      while (identifierOf(words[at]) !== undefined && isSymbol(words[at + 1], '.')) at += 2
      table.at = at
      table.name = identifierOf(words[at])
      table.alias = table.name
      table.qualifier = words[at]?.text
      // Only a source of the service's own database can be meant by more than one part.
      if (first + 2 < at || (first < at && identifierOf(words[first]) !== engineDatabase))
        table.name = undefined
      for (let part = first; part <= at; part++) tableWords.add(part)
      at++
      if (isSymbol(words[at], '(')) {
        Object.assign(table, { name: undefined, alias: undefined, qualifier: undefined })
        at = closingOf(words, at) + 1
      } else if (table.alias === undefined) {
        scope.certain = false
      }
    }
    if (isWord(words[at], 'FINAL')) at++
    const named = isWord(words[at], 'AS') ? at + 1 : at
    if (named < end && identifierOf(words[named]) !== undefined) {
      if (named > at || !isWord(words[named], ...behindTable)) {
        table.alias = identifierOf(words[named])
        table.qualifier = words[named]?.text
        tableWords.add(named)
        at = named + 1
      }
    }
    if (isWord(words[at], 'SAMPLE')) scope.certain = false
    scope.tables.push(table)
    at = nextTable(at)
  }

  /** Behind the next comma or JOIN, past conditions and arrays. */
  function nextTable(behind: number): number {
    let next = behind
    while (next < end) {
      if (words[next]?.depth === depth && isSymbol(words[next], ',')) return next + 1
      if (!isJoin(next)) {
        next++
        continue
      }
      let isArray = false
      while (next < end && !isWord(words[next], 'JOIN')) {
        isArray ||= isWord(words[next], 'ARRAY')
        next++
      }
      if (!isArray) return next + 1
      scope.certain = false
      next = skipArrays(next + 1)
    }
    return end
  }

  function skipArrays(behind: number): number {
    let next = behind
    while (next < end && !isJoin(next)) next++
    return next
  }
}

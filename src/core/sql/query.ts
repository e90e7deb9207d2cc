import { LRUCache } from 'lru-cache'
import { sourceForm } from '../../shared/names.ts'
import { parametersIn } from '../../shared/sql-tokens.ts'
import { grouped } from '../base/grouped.ts'
import { positionOf, type SqlPosition } from './edits.ts'
import { findPaths } from './paths.ts'
import { type SelectScope, scopesOf } from './scopes.ts'
import {
  type CodeToken,
  closingOf,
  codeTokens,
  identifierOf,
  isKeyword,
  isSymbol,
  listItems,
  type TokenRange,
} from './tokens.ts'
import { finalSelect, namedSubqueries, withoutUnused } from './with.ts'

export type WithClause = NonNullable<Query['leadingWith']>
export type ColumnUse = NonNullable<ReturnType<Query['columnAt']>>

/** What a statement says. Each part is read when it is first needed, and only once. */
export class Query {
  readonly sql: string
  readonly #parts = new Map<string, unknown>()

  constructor(sql: string, tokens?: readonly CodeToken[]) {
    this.sql = sql
    if (tokens) this.#parts.set('tokens', tokens)
  }

  get tokens(): readonly CodeToken[] {
    return this.#once('tokens', () => codeTokens(this.sql))
  }

  get scopes() {
    return this.#once('scopes', () => scopesOf(this.tokens))
  }

  get selects() {
    return this.#once('selects', () => [...new Set(this.scopes.of)].filter((scope) => scope !== undefined))
  }

  /** The SELECTs that a bracket contains, by its index: more than one for a UNION. */
  get selectsIn() {
    return this.#once('selectsIn', () => grouped(this.selects, ({ open }) => open))
  }

  /** Named subqueries at any depth. */
  get subqueries() {
    return this.#once('subqueries', () => namedSubqueries(this.tokens))
  }

  /** A name can have several. */
  get subqueriesBy() {
    return this.#once('subqueriesBy', () => grouped(this.subqueries, ({ name }) => name))
  }

  /** The subquery that a name certainly stands for, with the columns that it selects. */
  subqueryNamed(name: string) {
    const named = this.subqueriesBy.get(name)
    return named?.length === 1 && !named[0]?.renamesColumns ? named[0] : undefined
  }

  /** For each token, the index of the bracket that it is directly in, or -1. */
  get brackets() {
    return this.#once('brackets', () => bracketsOf(this.tokens))
  }

  /** Paths of metadata. */
  get paths() {
    return this.#once('paths', () => findPaths(this))
  }

  /** Words that have the form of a source name. What is not among them is certainly not read. */
  get possibleSources(): ReadonlySet<string> {
    return this.#once('possibleSources', () => {
      const names = this.tokens.flatMap((token) => identifierOf(token) ?? [])
      return new Set(names.filter((name) => sourceForm.test(name)))
    })
  }

  /** Indexes of the tokens that are parameters, by their names, in the order of their first appearance. */
  get parameters() {
    return this.#once('parameters', () => {
      const uses = this.tokens.flatMap(({ kind }, at) => (kind === 'parameter' ? at : []))
      return grouped(uses, (at) => (this.tokens[at] as CodeToken).text.slice(1))
    })
  }

  /** Names of the parameters except @now. */
  get parameterNames() {
    return this.#once('parameterNames', () => parametersIn(this.sql))
  }

  /** The WITH clause that the query starts with, and the subqueries that it names itself. */
  get leadingWith() {
    return this.#once('leadingWith', () => {
      const { sql, tokens, subqueries } = this
      const final = finalSelect(tokens)
      if (final < 0) return undefined
      return {
        /** From WITH up to the final SELECT. */
        text: sql.slice(tokens[0]?.start, tokens[final]?.start),
        names: subqueries.flatMap(({ name, open }) =>
          open < final && tokens[open]?.depth === 0 ? name : [],
        ),
      }
    })
  }

  /** The same result without elements of the leading WITH clause that nothing uses. */
  get withoutUnused(): Query {
    return this.#once('withoutUnused', () => {
      const sql = withoutUnused(this.sql, this.tokens)
      return sql === this.sql ? this : new Query(sql)
    })
  }

  /** What the author wrote in a range of tokens. */
  text({ first, end }: TokenRange): string {
    return this.sql.slice(this.tokens[first]?.start, this.tokens[end - 1]?.end)
  }

  /** Where a token is, for errors. Undefined if there is no such token. */
  positionAt(at: number): SqlPosition | undefined {
    const token = this.tokens[at]
    return token && positionOf(this.sql, token.start)
  }

  /** The name that starts at a token, with dots, and the index after it. */
  nameAt(at: number): { name: string; end: number } | undefined {
    const { tokens } = this
    const first = identifierOf(tokens[at])
    if (first === undefined || isSymbol(tokens[at - 1], '.')) return undefined
    const parts = [first]
    let end = at + 1
    while (isSymbol(tokens[end], '.') && identifierOf(tokens[end + 1]) !== undefined) {
      parts.push(identifierOf(tokens[end + 1]) as string)
      end += 2
    }
    return { name: parts.join('.'), end }
  }

  /** Index of the first call of a function, or -1. */
  callOf(name: string): number {
    const lower = name.toLowerCase()
    return this.tokens.findIndex((_, at) => {
      const called = this.nameAt(at)
      return called?.name.toLowerCase() === lower && isSymbol(this.tokens[called.end], '(')
    })
  }

  /** The arguments of the call whose bracket is at this index. */
  argumentsOf(open: number): TokenRange[] {
    const { tokens } = this
    const depth = (tokens[open]?.depth ?? 0) + 1
    return listItems(tokens, open + 1, closingOf(tokens, open), depth).filter(({ first, end }) => first < end)
  }

  /** The name of the function whose brackets directly contain this token, and the index of its opening bracket. */
  functionAround(at: number): { name: string; open: number } | undefined {
    const open = this.brackets[at] ?? -1
    const name = isSymbol(this.tokens[open], '(') ? identifierOf(this.tokens[open - 1]) : undefined
    return name === undefined ? undefined : { name, open }
  }

  /** A name of a column, as in "timestamp" or "e.timestamp"; undefined for parts of paths, functions and tables. */
  columnAt(at: number): { name: string; qualifier: string | undefined } | undefined {
    const { tokens, scopes } = this
    const name = identifierOf(tokens[at])
    if (name === undefined || scopes.tableTokens.has(at)) return undefined
    if (isSymbol(tokens[at + 1], '.') || isSymbol(tokens[at + 1], '(')) return undefined
    if (!isSymbol(tokens[at - 1], '.')) return { name, qualifier: undefined }
    const qualifier = identifierOf(tokens[at - 2])
    // With three parts it is a path of metadata, unless the second is a table: then the first is its database.
    const isLonger = isSymbol(tokens[at - 3], '.')
    const isTable = scopes.of[at]?.tables.some((table) => table.name === qualifier)
    if (isLonger && (!isTable || isSymbol(tokens[at - 5], '.'))) return undefined
    return { name, qualifier }
  }

  /** The name that an item of a SELECT gets, where it is, and what it names. */
  aliasOf({ first, end }: TokenRange): (TokenRange & { name: string; at: number }) | undefined {
    const { tokens } = this
    const at = end - 1
    const name = identifierOf(tokens[at])
    if (name === undefined || at <= first) return undefined
    if (isKeyword(tokens[at - 1], 'AS')) return { name, at, first, end: at - 1 }
    // "count() n" and "timestamp::date day".
    const isCast = isSymbol(tokens[at - 2], ':') && identifierOf(tokens[at - 1]) !== undefined
    const follows = isSymbol(tokens[at - 1], ')') || isSymbol(tokens[at - 1], ']') || isCast
    return follows ? { name, at, first, end: at } : undefined
  }

  /** Indexes of the tokens of clauses that belong to the SELECT itself. */
  tokensIn(scope: SelectScope, ...keywords: string[]): number[] {
    const indexes: number[] = []
    for (const { keyword, at, end } of scope.clauses) {
      if (!keywords.includes(keyword)) continue
      for (let index = at + 1; index < end; index++) if (this.scopes.of[index] === scope) indexes.push(index)
    }
    return indexes
  }

  /** Whether it reads a typed column by its name. A path of metadata is not a use: it works without the column. */
  readsColumn(source: string, column: string): boolean {
    if (!this.possibleSources.has(source)) return false
    const { tokens, paths } = this
    const isInPath = (at: number) => paths.some(({ path: { first, end } }) => at >= first && at < end)
    const uses = tokens.flatMap((token, at) => (identifierOf(token) === column && !isInPath(at) ? at : []))
    const isAlias = (at: number) => isKeyword(tokens[at - 1], 'AS')
    // A name that the query gives to something else hides the column, except where the name is given.
    const isHidden = uses.some(isAlias)
    return uses.some((at) => !isAlias(at) && (!isHidden || isKeyword(tokens[at + 1], 'AS')))
  }

  #once<T>(part: string, read: () => T): T {
    if (!this.#parts.has(part)) this.#parts.set(part, read())
    return this.#parts.get(part) as T
  }
}

function bracketsOf(tokens: readonly CodeToken[]): number[] {
  const open: number[] = []
  return tokens.map(({ depth }, at) => {
    // The brackets that are open before a token are as many as its depth.
    open.length = Math.min(open.length, Math.max(0, depth))
    const bracket = open.at(-1) ?? -1
    if (/^[([{]$/.test((tokens[at] as CodeToken).text)) open[Math.max(0, depth)] = at
    return bracket
  })
}

/** Tokens take about 15 times the memory of their text, so not those of all definitions are kept. */
const maxKeptCharacters = 2 ** 19

const kept = new LRUCache<string, Query>({
  maxSize: maxKeptCharacters,
  sizeCalculation: ({ sql }) => sql.length + 1,
})

/** What the text of a definition says, read once for all who ask. */
export function queryOf(sql: string): Query {
  const query = kept.get(sql) ?? new Query(sql)
  kept.set(sql, query)
  return query
}

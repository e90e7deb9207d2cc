import words from './functions.json' with { type: 'json' }
import { ExpressionParser, isReserved } from './parse-expression.ts'
import type { Body, Expression, From, Join, Query, Select, SelectItem, Table } from './syntax.ts'
import { TokenReader } from './token-reader.ts'

/** Words that can follow a table or a column and so are not its alias. */
const afterTable = /^(?:offset|tablesample|pivot|unpivot|for)$/i

/** What ends the list of columns, which may have a comma at its end. */
const afterItems = ['from', 'where', 'group', 'order', 'limit', 'union', ')']

/** Parses one query as Studio, MCP clients and people write them. Throws an error that names what is not supported. */
export function parseQuery(sql: string): Query {
  return new QueryParser(new TokenReader(sql)).statement()
}

class QueryParser {
  readonly #tokens: TokenReader
  readonly #expressions: ExpressionParser
  readonly #expression: () => Expression

  constructor(tokens: TokenReader) {
    this.#tokens = tokens
    this.#expressions = new ExpressionParser(tokens, this.#query)
    this.#expression = this.#expressions.expression
  }

  statement(): Query {
    const tokens = this.#tokens
    if (!tokens.startsQuery()) {
      throw tokens.refuse(
        'The query must start with SELECT or WITH. Only queries that read logs are supported.',
      )
    }
    const query = this.#query()
    while (tokens.skip(';'));
    if (tokens.current.kind === 'end') return query
    this.#refuseClause()
    throw tokens.startsQuery()
      ? tokens.refuse('Only one query is supported. Remove the second one.')
      : tokens.unexpected('the end of the query')
  }

  readonly #query = (): Query => this.#tokens.nested(() => this.#unnestedQuery())

  #unnestedQuery(): Query {
    const tokens = this.#tokens
    const { at } = tokens
    const ctes = tokens.skip('with') ? tokens.list(() => this.#cte(), ['select']) : []
    const body = this.#body()
    const order = this.#expressions.order()
    const limit = tokens.skip('limit') ? tokens.wholeNumber('a number of rows') : undefined
    const offset = tokens.skip('offset') ? tokens.wholeNumber('a number of rows') : undefined
    return { at, ctes, body, order, limit, offset }
  }

  #cte(): Query['ctes'][number] {
    const tokens = this.#tokens
    const name = tokens.name('the name of a subquery')
    tokens.expect('as')
    return { name, query: tokens.inBrackets(this.#query) }
  }

  #body(): Body {
    const tokens = this.#tokens
    const branches = [this.#branch()]
    let isDistinct: boolean | undefined
    while (tokens.skip('union')) {
      // PostgreSQL's UNION alone removes duplicates.
      const isThisDistinct = tokens.skip('distinct') || !tokens.skip('all')
      if (isDistinct !== undefined && isDistinct !== isThisDistinct) {
        throw tokens.refuse('UNION ALL and UNION DISTINCT cannot be mixed. Use brackets.')
      }
      isDistinct = isThisDistinct
      branches.push(this.#branch())
    }
    const [only] = branches as [Query]
    const isPlain = only.ctes.length === 0 && only.order.length === 0 && only.limit === undefined
    return branches.length === 1 && isPlain
      ? only.body
      : { kind: 'union', distinct: isDistinct === true, branches }
  }

  /** One SELECT, or a query in brackets. */
  #branch(): Query {
    const { at } = this.#tokens
    if (this.#tokens.is('(')) return this.#tokens.inBrackets(this.#query)
    const body = { kind: 'select', select: this.#select() } as const
    return { at, ctes: [], body, order: [], limit: undefined, offset: undefined }
  }

  #select(): Select {
    const tokens = this.#tokens
    const { at } = tokens
    tokens.expect('select')
    const distinct = tokens.oneOf(['distinct', 'all']) === 'distinct'
    const items = [this.#item()]
    if (tokens.skip(',')) items.push(...tokens.list(() => this.#item(), afterItems))
    const from = tokens.skip('from') ? this.#from() : undefined
    const where = tokens.skip('where') ? this.#expression() : undefined
    const group = tokens.skip('group', 'by')
      ? tokens.skip('all')
        ? ('all' as const)
        : tokens.list(this.#expression)
      : []
    const having = tokens.skip('having') ? this.#expression() : undefined
    const qualify = tokens.skip('qualify') ? this.#expression() : undefined
    this.#refuseClause()
    return { at, distinct, items, from, where, group, having, qualify }
  }

  #refuseClause(): void {
    const clause = Object.entries(words.clauses).find(([word]) => this.#tokens.is(word))
    if (clause) throw this.#tokens.refuse(clause[1])
  }

  #item(): SelectItem {
    const tokens = this.#tokens
    const { at, current } = tokens
    if (tokens.skip('*')) return { kind: 'all', at, of: undefined, except: this.#except() }
    if (tokens.skip(current.text.toLowerCase(), '.', '*')) {
      return { kind: 'all', at, of: current.text, except: this.#except() }
    }
    return { kind: 'expression', value: this.#expression(), alias: this.#alias() }
  }

  #except(): string[] {
    const tokens = this.#tokens
    return tokens.skip('except') ? this.#names() : []
  }

  #names(): string[] {
    return this.#tokens.inBrackets(() => this.#tokens.list(() => this.#tokens.name('a column')))
  }

  /** Any word after AS is an alias; without AS, only one that is not reserved. */
  #alias(): string | undefined {
    const tokens = this.#tokens
    const { kind, text } = tokens.current
    const isAlias = kind === 'name' || (kind === 'word' && !isReserved(text) && !afterTable.test(text))
    return tokens.skip('as') || isAlias ? tokens.name('a name') : undefined
  }

  #from(): From {
    const tokens = this.#tokens
    const first = this.#table()
    const joins: Join[] = []
    for (let type = this.#joinType(); type !== undefined; type = this.#joinType()) {
      const table = this.#table()
      const on = tokens.skip('on') ? this.#expression() : undefined
      joins.push({ type, table, on, using: tokens.skip('using') ? this.#names() : [] })
    }
    return { first, joins }
  }

  #joinType(): Join['type'] | undefined {
    const tokens = this.#tokens
    if (tokens.skip(',') || tokens.skip('cross', 'join')) return 'CROSS'
    if (tokens.skip('join') || tokens.skip('inner', 'join')) return 'INNER'
    for (const type of ['LEFT', 'RIGHT', 'FULL'] as const) {
      const word = type.toLowerCase()
      if (tokens.skip(word, 'join') || tokens.skip(word, 'outer', 'join')) return type
    }
    this.#refuseClause()
    return undefined
  }

  #table(): Table {
    const tokens = this.#tokens
    const { at } = tokens
    if (tokens.skip('unnest')) {
      return { kind: 'unnest', of: tokens.inBrackets(this.#expression), alias: this.#alias(), at }
    }
    if (tokens.startsQuery()) {
      return { kind: 'subquery', query: tokens.inBrackets(this.#query), alias: this.#alias(), at }
    }
    if (tokens.is('(')) {
      const from = tokens.nested(() => tokens.inBrackets(() => this.#from()))
      return { kind: 'joined', from, alias: this.#alias(), at }
    }
    const { kind, text } = tokens.current
    if (kind === 'word' && isReserved(text)) throw tokens.unexpected('a table')
    const parts = kind === 'name' ? tokens.name('a table').split('.') : [tokens.name('a table')]
    while (tokens.skip('.')) parts.push(tokens.name('a table'))
    return { kind: 'table', parts, alias: this.#alias(), at }
  }
}

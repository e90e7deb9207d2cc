import words from './functions.json' with { type: 'json' }
import { ExpressionParser, isReserved } from './parse-expression.ts'
import type { Body, From, Join, Query, Select, SelectItem, Table } from './syntax.ts'

/** Words that can follow a table or a column and so are not its alias. */
const afterTable = /^(?:offset|tablesample|pivot|unpivot|for)$/i

/** What ends the list of columns, which may have a comma at its end. */
const afterItems = ['from', 'where', 'group', 'order', 'limit', 'union', ')']

/** Parses one query as Studio, MCP clients and people write them. Throws an error that names what is not supported. */
export function parseQuery(sql: string): Query {
  return new QueryParser(sql).statement()
}

class QueryParser extends ExpressionParser {
  statement(): Query {
    if (!this.startsQuery()) {
      throw this.refuse(
        'The query must start with SELECT or WITH. Only queries that read logs are supported.',
      )
    }
    const query = this.query()
    while (this.skip(';'));
    if (this.current.kind === 'end') return query
    this.#refuseClause()
    throw this.startsQuery()
      ? this.refuse('Only one query is supported. Remove the second one.')
      : this.unexpected('the end of the query')
  }

  protected readonly query = (): Query =>
    this.nested(() => {
      const { at } = this
      const ctes = this.skip('with') ? this.list(() => this.#cte(), ['select']) : []
      const body = this.#body()
      const order = this.order()
      const limit = this.skip('limit') ? this.wholeNumber('a number of rows') : undefined
      const offset = this.skip('offset') ? this.wholeNumber('a number of rows') : undefined
      return { at, ctes, body, order, limit, offset }
    })

  #cte(): Query['ctes'][number] {
    const name = this.name('the name of a subquery')
    this.expect('as')
    return { name, query: this.inBrackets(this.query) }
  }

  #body(): Body {
    const branches = [this.#branch()]
    let isDistinct: boolean | undefined
    while (this.skip('union')) {
      // PostgreSQL's UNION alone removes duplicates.
      const isThisDistinct = this.skip('distinct') || !this.skip('all')
      if (isDistinct !== undefined && isDistinct !== isThisDistinct) {
        throw this.refuse('UNION ALL and UNION DISTINCT cannot be mixed. Use brackets.')
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
    const { at } = this
    if (this.is('(')) return this.inBrackets(this.query)
    const body = { kind: 'select', select: this.#select() } as const
    return { at, ctes: [], body, order: [], limit: undefined, offset: undefined }
  }

  #select(): Select {
    const { at } = this
    this.expect('select')
    const distinct = this.oneOf(['distinct', 'all']) === 'distinct'
    const items = [this.#item()]
    if (this.skip(',')) items.push(...this.list(() => this.#item(), afterItems))
    const from = this.skip('from') ? this.#from() : undefined
    const where = this.skip('where') ? this.expression() : undefined
    const isGrouped = this.skip('group', 'by')
    const isByAll = isGrouped && this.skip('all')
    const group = isByAll ? 'all' : isGrouped ? this.list(this.expression) : []
    const having = this.skip('having') ? this.expression() : undefined
    const qualify = this.skip('qualify') ? this.expression() : undefined
    this.#refuseClause()
    return { at, distinct, items, from, where, group, having, qualify }
  }

  #refuseClause(): void {
    const clause = Object.entries(words.clauses).find(([word]) => this.is(word))
    if (clause) throw this.refuse(clause[1])
  }

  #item(): SelectItem {
    const { at, current } = this
    if (this.skip('*')) return { kind: 'all', at, of: undefined, except: this.#except() }
    if (this.skip(current.text.toLowerCase(), '.', '*')) {
      return { kind: 'all', at, of: current.text, except: this.#except() }
    }
    return { kind: 'expression', value: this.expression(), alias: this.#alias() }
  }

  #except(): string[] {
    return this.skip('except') ? this.#names() : []
  }

  #names(): string[] {
    return this.inBrackets(() => this.list(() => this.name('a column')))
  }

  /** Any word after AS is an alias; without AS, only one that is not reserved. */
  #alias(): string | undefined {
    const { kind, text } = this.current
    const isAlias = kind === 'name' || (kind === 'word' && !isReserved(text) && !afterTable.test(text))
    return this.skip('as') || isAlias ? this.name('a name') : undefined
  }

  #from(): From {
    const first = this.#table()
    const joins: Join[] = []
    for (let type = this.#joinType(); type !== undefined; type = this.#joinType()) {
      const table = this.#table()
      const on = this.skip('on') ? this.expression() : undefined
      joins.push({ type, table, on, using: this.skip('using') ? this.#names() : [] })
    }
    return { first, joins }
  }

  #joinType(): Join['type'] | undefined {
    if (this.skip(',') || this.skip('cross', 'join')) return 'CROSS'
    if (this.skip('join') || this.skip('inner', 'join')) return 'INNER'
    for (const type of ['LEFT', 'RIGHT', 'FULL'] as const) {
      const word = type.toLowerCase()
      if (this.skip(word, 'join') || this.skip(word, 'outer', 'join')) return type
    }
    this.#refuseClause()
    return undefined
  }

  #table(): Table {
    const { at } = this
    if (this.skip('unnest')) {
      return { kind: 'unnest', of: this.inBrackets(this.expression), alias: this.#alias(), at }
    }
    if (this.startsQuery()) {
      return { kind: 'subquery', query: this.inBrackets(this.query), alias: this.#alias(), at }
    }
    if (this.is('(')) {
      const from = this.nested(() => this.inBrackets(() => this.#from()))
      return { kind: 'joined', from, alias: this.#alias(), at }
    }
    const { kind, text } = this.current
    if (kind === 'word' && isReserved(text)) throw this.unexpected('a table')
    const parts = kind === 'name' ? this.name('a table').split('.') : [this.name('a table')]
    while (this.skip('.')) parts.push(this.name('a table'))
    return { kind: 'table', parts, alias: this.#alias(), at }
  }
}

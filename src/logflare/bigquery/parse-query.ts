import { ExpressionParser, isReserved } from './parse-expression.ts'
import type { Body, Expression, From, Join, Query, Select, SelectItem, Table } from './syntax.ts'
import { TokenReader } from './token-reader.ts'

/** Words that can follow a table or a column and so are not its alias. */
const afterTable = /^(?:offset|tablesample|pivot|unpivot|for)$/i

/** Clauses that this parser knows but does not support, with an alternative. */
const unsupported: Record<string, string> = {
  qualify: 'QUALIFY is not supported. Use GROUP BY in a subquery.',
  window: 'WINDOW is not supported. Use GROUP BY in a subquery.',
  tablesample: 'TABLESAMPLE is not supported. Use LIMIT.',
  pivot: 'PIVOT is not supported. Use COUNTIF with one column per value.',
  unpivot: 'UNPIVOT is not supported. Use UNION ALL.',
  intersect: 'INTERSECT is not supported. Use IN with a subquery.',
  except: 'EXCEPT is not supported between queries. Use NOT IN with a subquery.',
  full: 'FULL JOIN is not supported. Use LEFT JOIN.',
  right: 'RIGHT JOIN is not supported. Swap the tables and use LEFT JOIN.',
  natural: 'NATURAL JOIN is not supported. Use JOIN … USING.',
}

/** Parses one query as Studio, MCP clients and people write them. Throws an error that names what is not supported. */
export function parseQuery(sql: string): Query {
  const parser = new QueryParser(new TokenReader(sql))
  return parser.statement()
}

class QueryParser {
  readonly #tokens: TokenReader
  readonly #expressions: ExpressionParser

  constructor(tokens: TokenReader) {
    this.#tokens = tokens
    this.#expressions = new ExpressionParser(tokens, () => this.#query())
  }

  statement(): Query {
    const tokens = this.#tokens
    if (!tokens.startsQuery()) {
      throw tokens.refuse(
        'The query must start with SELECT or WITH. Only queries that read logs are supported.',
      )
    }
    const query = this.#query()
    while (tokens.symbol(';'));
    if (tokens.current.kind !== 'end') {
      this.#refuseClause()
      throw tokens.startsQuery()
        ? tokens.refuse('Only one query is supported. Remove the second one.')
        : tokens.unexpected('the end of the query')
    }
    return query
  }

  #query(): Query {
    return this.#tokens.nested(() => this.#unnestedQuery())
  }

  #unnestedQuery(): Query {
    const tokens = this.#tokens
    const { at } = tokens
    const ctes = tokens.word('with') ? this.#ctes() : []
    const body = this.#body()
    const order = tokens.word('order') ? this.#order() : []
    let limit: number | undefined
    let offset: number | undefined
    if (tokens.word('limit')) {
      limit = tokens.wholeNumber('a number of rows')
      if (tokens.word('offset')) offset = tokens.wholeNumber('a number of rows')
    }
    return { kind: 'query-body', at, ctes, body, order, limit, offset }
  }

  #ctes(): Query['ctes'] {
    const tokens = this.#tokens
    if (tokens.peekWord('recursive')) throw tokens.refuse('WITH RECURSIVE is not supported.')
    const ctes: { name: string; query: Query }[] = []
    do {
      // A comma before the final SELECT is allowed.
      if (tokens.peekWord('select')) break
      const name = tokens.name('the name of a subquery')
      tokens.expectWord('as')
      tokens.expectSymbol('(')
      ctes.push({ name, query: this.#query() })
      tokens.expectSymbol(')')
    } while (tokens.symbol(','))
    return ctes
  }

  #body(): Body {
    const tokens = this.#tokens
    const branches = [this.#branch()]
    let isDistinct: boolean | undefined
    while (tokens.word('union')) {
      const distinct = tokens.word('distinct')
      // PostgreSQL's UNION alone removes duplicates.
      const isThisDistinct = distinct || !tokens.word('all')
      if (isDistinct !== undefined && isDistinct !== isThisDistinct) {
        throw tokens.refuse('UNION ALL and UNION DISTINCT cannot be mixed. Use brackets.')
      }
      isDistinct = isThisDistinct
      branches.push(this.#branch())
    }
    const [only] = branches as [Query]
    if (branches.length > 1) return { kind: 'union', distinct: isDistinct === true, branches }
    const isPlain = only.ctes.length === 0 && only.order.length === 0 && only.limit === undefined
    return isPlain ? only.body : { kind: 'union', distinct: false, branches }
  }

  /** One SELECT, or a query in brackets. */
  #branch(): Query {
    const tokens = this.#tokens
    const { at } = tokens
    if (tokens.symbol('(')) {
      const query = this.#query()
      tokens.expectSymbol(')')
      return query
    }
    const body = { kind: 'select', select: this.#select() } as const
    return { kind: 'query-body', at, ctes: [], body, order: [], limit: undefined, offset: undefined }
  }

  #order(): Query['order'] {
    const tokens = this.#tokens
    tokens.expectWord('by')
    const order: Query['order'][number][] = []
    do {
      const by = this.#expressions.expression()
      const direction = tokens.word('desc') ? 'DESC' : 'ASC'
      if (direction === 'ASC') tokens.word('asc')
      const nulls = tokens.word('nulls', 'first')
        ? ' NULLS FIRST'
        : tokens.word('nulls', 'last')
          ? ' NULLS LAST'
          : ''
      order.push({ by, direction, nulls })
    } while (tokens.symbol(','))
    return order
  }

  #select(): Select {
    const tokens = this.#tokens
    const { at } = tokens
    tokens.expectWord('select')
    const distinct = tokens.word('distinct')
    if (!distinct) tokens.word('all')
    if (tokens.peekWord('as')) throw tokens.refuse('SELECT AS STRUCT and SELECT AS VALUE are not supported.')
    const items = this.#items()
    const from = tokens.word('from') ? this.#from() : undefined
    const where = tokens.word('where') ? this.#expressions.expression() : undefined
    const group = tokens.word('group') ? this.#group() : []
    const having = tokens.word('having') ? this.#expressions.expression() : undefined
    this.#refuseClause()
    return { at, distinct, items, from, where, group, having }
  }

  #refuseClause(): void {
    const { current } = this.#tokens
    const message = current.kind === 'word' ? unsupported[current.text.toLowerCase()] : undefined
    if (message !== undefined) throw this.#tokens.refuse(message)
  }

  #items(): SelectItem[] {
    const tokens = this.#tokens
    const items: SelectItem[] = []
    do {
      // A comma after the last column is allowed.
      if (items.length > 0 && (tokens.current.kind === 'end' || isEnd(tokens))) break
      items.push(this.#item())
    } while (tokens.symbol(','))
    return items
  }

  #item(): SelectItem {
    const tokens = this.#tokens
    const { at } = tokens
    if (tokens.symbol('*')) return { kind: 'all', at, of: undefined, except: this.#except() }
    const isName = tokens.current.kind === 'word' || tokens.current.kind === 'name'
    if (isName && tokens.next.text === '.' && tokens.isStarAfterDot()) {
      const of = tokens.name('a table')
      tokens.expectSymbol('.')
      tokens.expectSymbol('*')
      return { kind: 'all', at, of, except: this.#except() }
    }
    const value = this.#expressions.expression()
    return { kind: 'expression', value, alias: this.#alias() }
  }

  #except(): string[] {
    const tokens = this.#tokens
    if (tokens.peekWord('replace'))
      throw tokens.refuse('SELECT * REPLACE is not supported. Name the columns.')
    if (!tokens.peekWord('except') || tokens.next.text !== '(') return []
    tokens.take()
    tokens.expectSymbol('(')
    const names: string[] = []
    do names.push(tokens.name('a column'))
    while (tokens.symbol(','))
    tokens.expectSymbol(')')
    return names
  }

  /** Any word after AS is an alias; without AS, only one that is not reserved. */
  #alias(): string | undefined {
    const tokens = this.#tokens
    if (tokens.word('as')) return tokens.name('a name')
    const { kind, text } = tokens.current
    if (kind === 'name') return tokens.name('a name')
    if (kind !== 'word' || isReserved(text) || afterTable.test(text)) return undefined
    return tokens.name('a name')
  }

  #group(): Select['group'] {
    const tokens = this.#tokens
    tokens.expectWord('by')
    if (tokens.word('all')) return 'all'
    if (tokens.peekWordThenBracket() && /^(?:rollup|cube|grouping)$/i.test(tokens.current.text)) {
      throw tokens.refuse(`GROUP BY ${tokens.current.text.toUpperCase()} is not supported. Use UNION ALL.`)
    }
    const group: Expression[] = []
    do group.push(this.#expressions.expression())
    while (tokens.symbol(','))
    return group
  }

  #from(): From {
    const tokens = this.#tokens
    const first = this.#table()
    const joins: Join[] = []
    for (;;) {
      if (tokens.symbol(',')) {
        joins.push({ type: 'CROSS', table: this.#table(), on: undefined, using: [] })
        continue
      }
      const type = this.#joinType()
      if (type === undefined) return { first, joins }
      const table = this.#table()
      const on = tokens.word('on') ? this.#expressions.expression() : undefined
      joins.push({ type, table, on, using: tokens.word('using') ? this.#using() : [] })
    }
  }

  #joinType(): Join['type'] | undefined {
    const tokens = this.#tokens
    if (tokens.word('cross', 'join')) return 'CROSS'
    if (tokens.word('join') || tokens.word('inner', 'join')) return 'INNER'
    if (tokens.word('left', 'join') || tokens.word('left', 'outer', 'join')) return 'LEFT'
    this.#refuseClause()
    return undefined
  }

  #using(): string[] {
    const tokens = this.#tokens
    tokens.expectSymbol('(')
    const names: string[] = []
    do names.push(tokens.name('a column'))
    while (tokens.symbol(','))
    tokens.expectSymbol(')')
    return names
  }

  #table(): Table {
    const tokens = this.#tokens
    const { at } = tokens
    if (tokens.peekWord('unnest') && tokens.next.text === '(') {
      tokens.take()
      tokens.expectSymbol('(')
      const of = this.#expressions.expression()
      tokens.expectSymbol(')')
      const alias = this.#alias()
      if (tokens.word('with'))
        throw tokens.refuse('WITH OFFSET is not supported. Entries have no order inside of metadata.')
      return { kind: 'unnest', of, alias, at }
    }
    if (tokens.startsQuery()) {
      tokens.expectSymbol('(')
      const query = this.#query()
      tokens.expectSymbol(')')
      return { kind: 'subquery', query, alias: this.#alias(), at }
    }
    if (tokens.symbol('(')) {
      const from = tokens.nested(() => this.#from())
      tokens.expectSymbol(')')
      return { kind: 'joined', from, alias: this.#alias(), at }
    }
    const isQuoted = tokens.current.kind === 'name'
    if (!isQuoted && isReserved(tokens.current.text)) throw tokens.unexpected('a table')
    const name = tokens.name('a table')
    const parts = isQuoted ? name.split('.') : [name]
    while (tokens.symbol('.')) parts.push(tokens.name('a table', true))
    if (tokens.peekSymbol('(')) throw tokens.refuse(`The table function ${name} is not supported.`, at)
    return { kind: 'table', parts, alias: this.#alias(), at }
  }
}

function isEnd(tokens: TokenReader): boolean {
  return (
    ['from', 'where', 'group', 'order', 'limit', 'union'].some((word) => tokens.peekWord(word)) ||
    tokens.peekSymbol(')')
  )
}

import type { Expression, Query } from './syntax.ts'
import type { TokenReader } from './token-reader.ts'

const comparisons = new Set(['=', '!=', '<>', '<', '<=', '>', '>='])
const sums = new Set(['+', '-', '||'])
const products = new Set(['*', '/', '%'])

/** Words that end an expression, so a name cannot be one of them without backticks. */
const reserved = new Set(
  (
    'ALL AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT ELSE END EXCEPT FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT IS JOIN ' +
    'LEFT LIKE LIMIT NOT ON OR ORDER OUTER QUALIFY RIGHT SELECT THEN UNION USING WHEN WHERE WINDOW WITH'
  ).split(' '),
)

export function isReserved(word: string): boolean {
  return reserved.has(word.toUpperCase())
}

/** Reads expressions with the precedence of BigQuery. */
export class ExpressionParser {
  readonly #tokens: TokenReader
  readonly #query: () => Query

  constructor(tokens: TokenReader, query: () => Query) {
    this.#tokens = tokens
    this.#query = query
  }

  expression(): Expression {
    return this.#tokens.nested(() => this.#logic('or'))
  }

  list(end: string): Expression[] {
    const items: Expression[] = []
    while (!this.#tokens.peekSymbol(end)) {
      items.push(this.expression())
      if (!this.#tokens.symbol(',')) break
    }
    this.#tokens.expectSymbol(end)
    return items
  }

  #logic(operator: 'and' | 'or'): Expression {
    const { at } = this.#tokens
    const term = () => (operator === 'or' ? this.#logic('and') : this.#not())
    const terms = [term()]
    while (this.#tokens.word(operator)) terms.push(term())
    return terms.length === 1 ? (terms[0] as Expression) : { kind: 'logic', operator, terms, at }
  }

  #not(): Expression {
    const { at } = this.#tokens
    if (!this.#tokens.word('not')) return this.#comparison()
    return { kind: 'not', of: this.#tokens.nested(() => this.#not()), at }
  }

  #comparison(): Expression {
    const tokens = this.#tokens
    let left = this.#sum()
    for (;;) {
      const { at } = tokens
      const operator = tokens.oneOf(comparisons)
      if (operator !== undefined) {
        left = {
          kind: 'compare',
          operator: operator === '<>' ? '!=' : operator,
          left,
          right: this.#sum(),
          at,
        }
        continue
      }
      if (tokens.word('is')) {
        left = this.#is(left, at)
        continue
      }
      const isNegated = tokens.peekWord('not') && /^(?:in|like|ilike|between)$/i.test(tokens.next.text)
      if (isNegated) tokens.word('not')
      const found = this.#predicate(left, isNegated, at)
      if (!found) return left
      left = found
    }
  }

  #is(of: Expression, at: number): Expression {
    const tokens = this.#tokens
    const not = tokens.word('not')
    if (tokens.word('distinct'))
      throw tokens.refuse('IS DISTINCT FROM is not supported. Use != and IS NULL.', at)
    for (const what of ['null', 'true', 'false'] as const)
      if (tokens.word(what)) return { kind: 'is', not, of, what, at }
    throw tokens.unexpected('NULL, TRUE or FALSE')
  }

  #predicate(of: Expression, not: boolean, at: number): Expression | undefined {
    const tokens = this.#tokens
    for (const operator of ['like', 'ilike'] as const) {
      if (!tokens.word(operator)) continue
      if (tokens.peekWord('any') || tokens.peekWord('all') || tokens.peekWord('some')) {
        throw tokens.refuse(
          `${operator.toUpperCase()} ANY is not supported. Join the conditions with OR.`,
          at,
        )
      }
      return { kind: 'like', operator, not, of, pattern: this.#sum(), at }
    }
    if (tokens.word('between')) {
      const low = this.#sum()
      tokens.expectWord('and')
      return { kind: 'between', not, of, low, high: this.#sum(), at }
    }
    if (!tokens.word('in')) return undefined
    const isUnnested = tokens.word('unnest')
    tokens.expectSymbol('(')
    if (!isUnnested && tokens.startsQuery()) {
      const query = this.#query()
      tokens.expectSymbol(')')
      return { kind: 'in', not, of, items: query, at }
    }
    const [first, ...others] = this.list(')')
    if (first === undefined) throw tokens.refuse('IN needs at least one value.', at)
    if (!isUnnested) return { kind: 'in', not, of, items: [first, ...others], at }
    if (first.kind !== 'array' || others.length > 0) {
      throw tokens.refuse('IN UNNEST needs an array of values: IN UNNEST([1, 2]).', at)
    }
    return { kind: 'in', not, of, items: first.items, at }
  }

  #sum(): Expression {
    return this.#binary(sums, () => this.#binary(products, () => this.#unary()))
  }

  #binary(operators: ReadonlySet<string>, operand: () => Expression): Expression {
    let left = operand()
    for (;;) {
      const { at } = this.#tokens
      const operator = this.#tokens.oneOf(operators)
      if (operator === undefined) return left
      left = { kind: 'binary', operator, left, right: operand(), at }
    }
  }

  #unary(): Expression {
    const tokens = this.#tokens
    const { at } = tokens
    if (tokens.symbol('+')) return tokens.nested(() => this.#unary())
    if (tokens.symbol('-')) return { kind: 'negative', of: tokens.nested(() => this.#unary()), at }
    if (tokens.symbol('~')) throw tokens.refuse('Operators on bits are not supported.', at)
    return this.#suffixes(this.#primary())
  }

  /** Fields, elements and casts after a value. */
  #suffixes(value: Expression): Expression {
    const tokens = this.#tokens
    let of = value
    for (;;) {
      const { at } = tokens
      if (tokens.symbol('.')) {
        const name = tokens.name('a field', true)
        // Names keep their parts together, since only the scope tells a table from a column.
        of = of.kind === 'name' ? { ...of, parts: [...of.parts, name] } : { kind: 'field', of, name, at }
      } else if (tokens.symbol('::')) of = { kind: 'cast', of, type: this.#type(), at }
      else if (tokens.symbol('[')) of = { kind: 'index', of, offset: this.#offset(), at }
      else return of
    }
  }

  #offset(): number {
    const tokens = this.#tokens
    const { at } = tokens
    const mode = tokens.peekWordThenBracket() ? tokens.name('OFFSET').toLowerCase() : undefined
    if (mode !== undefined) tokens.expectSymbol('(')
    if (mode !== undefined && !/^(?:safe_)?(?:offset|ordinal)$/.test(mode)) {
      throw tokens.refuse(`An element needs OFFSET, ORDINAL, SAFE_OFFSET or SAFE_ORDINAL, not ${mode}.`, at)
    }
    const position = tokens.wholeNumber('a whole number')
    if (mode !== undefined) tokens.expectSymbol(')')
    tokens.expectSymbol(']')
    const offset = mode?.endsWith('ordinal') ? position - 1 : position
    if (offset < 0 || offset > 10_000) throw tokens.refuse('An element must be between 0 and 10000.', at)
    return offset
  }

  #primary(): Expression {
    const tokens = this.#tokens
    const { at, current } = tokens
    if (current.kind === 'string') return { kind: 'literal', type: 'string', value: tokens.take().text, at }
    if (current.kind === 'number') {
      const { text: value } = tokens.take()
      return {
        kind: 'literal',
        type: /^(?:\d{1,18}|0x[\da-f]{1,15})$/i.test(value) ? 'int' : 'number',
        value,
        at,
      }
    }
    if (tokens.symbol('(')) return this.#brackets(at)
    if (tokens.symbol('[')) return { kind: 'array', items: this.list(']'), at }
    if (tokens.symbol('*')) return { kind: 'star', at }
    if (tokens.symbol('@'))
      throw tokens.refuse('Parameters such as @name are not supported. Write the value instead.', at)
    if (current.kind === 'word') {
      const found = this.#keyword(current.text.toLowerCase(), at)
      if (found) return found
      const isFunction = /^(?:left|right)$/i.test(current.text) && tokens.peekWordThenBracket()
      if (isReserved(current.text) && !isFunction) throw tokens.unexpected('a value')
    }
    return this.#nameOrCall(at)
  }

  #brackets(at: number): Expression {
    const tokens = this.#tokens
    if (tokens.startsQuery()) {
      const query = this.#query()
      tokens.expectSymbol(')')
      return { kind: 'query', query, use: 'scalar', at }
    }
    const first = this.expression()
    if (!tokens.symbol(',')) {
      tokens.expectSymbol(')')
      return first.kind === 'name' ? { ...first } : first
    }
    const members = [first, ...this.list(')')].map((value) => ({ name: undefined, value }))
    return { kind: 'struct', members, at }
  }

  /** Expressions that start with a keyword. */
  #keyword(word: string, at: number): Expression | undefined {
    const tokens = this.#tokens
    if (word === 'null' || word === 'true' || word === 'false') {
      tokens.take()
      return { kind: 'literal', type: word === 'null' ? 'null' : 'bool', value: word, at }
    }
    if (word === 'case') return this.#case(at)
    if (word === 'not') return this.#not()
    if (word === 'interval' && !/^[.,)]$/.test(tokens.next.text)) {
      tokens.take()
      const count = this.#sum()
      return { kind: 'interval', count, unit: tokens.name('a unit of time').toLowerCase(), at }
    }
    const isTyped = tokens.next.kind === 'string' && /^(?:timestamp|datetime|date)$/.test(word)
    if (isTyped) {
      const type = tokens.take().text
      const literal = { kind: 'literal', type: 'string', value: tokens.take().text, at } as const
      return { kind: 'cast', of: literal, type, at }
    }
    if (!/^[([]$/.test(tokens.next.text) || tokens.next.kind !== 'symbol') return undefined
    return this.#keywordCall(word, at)
  }

  /** Functions whose arguments have a syntax of their own. */
  #keywordCall(word: string, at: number): Expression | undefined {
    const tokens = this.#tokens
    if (word === 'array' && tokens.next.text === '[') {
      tokens.take()
      return this.#primary()
    }
    if (!/^(?:cast|safe_cast|extract|exists|struct|unnest)$/.test(word) || tokens.next.text !== '(')
      return undefined
    tokens.take()
    tokens.expectSymbol('(')
    if (word === 'unnest') throw tokens.refuse('UNNEST is only supported in FROM and JOIN.', at)
    if (word === 'exists') {
      const query = this.#query()
      tokens.expectSymbol(')')
      return { kind: 'query', query, use: 'exists', at }
    }
    if (word === 'struct') return this.#struct(at)
    if (word === 'extract') {
      const unit = tokens.name('a part of a date').toLowerCase()
      tokens.expectWord('from')
      const of = this.expression()
      tokens.expectSymbol(')')
      return { kind: 'part', unit, of, at }
    }
    const of = this.expression()
    tokens.expectWord('as')
    const type = this.#type()
    if (tokens.word('format'))
      throw tokens.refuse('CAST with FORMAT is not supported. Use FORMAT_TIMESTAMP.', at)
    tokens.expectSymbol(')')
    return { kind: 'cast', of, type, at }
  }

  #struct(at: number): Expression {
    const tokens = this.#tokens
    const members: { name: string | undefined; value: Expression }[] = []
    while (!tokens.peekSymbol(')')) {
      const value = this.expression()
      const own = value.kind === 'name' ? value.parts.at(-1) : undefined
      members.push({ name: tokens.word('as') ? tokens.name('a name', true) : own, value })
      if (!tokens.symbol(',')) break
    }
    tokens.expectSymbol(')')
    return { kind: 'struct', members, at }
  }

  #case(at: number): Expression {
    const tokens = this.#tokens
    tokens.take()
    const of = tokens.peekWord('when') ? undefined : this.expression()
    const whens: [Expression, Expression][] = []
    while (tokens.word('when')) {
      const when = this.expression()
      tokens.expectWord('then')
      whens.push([when, this.expression()])
    }
    if (whens.length === 0) throw tokens.unexpected('WHEN')
    const otherwise = tokens.word('else') ? this.expression() : undefined
    tokens.expectWord('end')
    return { kind: 'case', ...(of && { of }), whens, ...(otherwise && { otherwise }), at }
  }

  #type(): string {
    const tokens = this.#tokens
    const type = tokens.name('a type').toLowerCase()
    if (tokens.symbol('(')) {
      tokens.wholeNumber('a number of digits')
      if (tokens.symbol(',')) tokens.wholeNumber('a number of digits')
      tokens.expectSymbol(')')
    }
    if (tokens.peekSymbol('<')) throw tokens.refuse(`The type ${type}<…> is not supported.`, tokens.at)
    return type
  }

  #nameOrCall(at: number): Expression {
    const tokens = this.#tokens
    const isQuoted = tokens.current.kind === 'name'
    const name = tokens.name('a value')
    // A path in one pair of backticks is a path.
    const parts = isQuoted ? name.split('.') : [name]
    if (/^safe$/i.test(name) && tokens.peekSymbol('.')) {
      tokens.symbol('.')
      return this.#nameOrCall(at)
    }
    if (!isQuoted && tokens.symbol('(')) return this.#call(name.toLowerCase(), at)
    return { kind: 'name', parts, at }
  }

  #call(name: string, at: number): Expression {
    const tokens = this.#tokens
    const distinct = tokens.word('distinct')
    const args: Expression[] = []
    while (!tokens.peekSymbol(')')) {
      args.push(this.expression())
      if (!tokens.symbol(',')) break
    }
    // The default of the aggregate functions that allow it.
    if (tokens.word('ignore')) tokens.expectWord('nulls')
    if (tokens.peekWord('respect')) throw tokens.refuse('RESPECT NULLS is not supported.', tokens.at)
    if (tokens.peekWord('order')) {
      throw tokens.refuse(
        `ORDER BY inside of ${name.toUpperCase()} is not supported. Order the rows of a subquery.`,
        tokens.at,
      )
    }
    const limit = tokens.word('limit') ? tokens.wholeNumber('a number of values') : undefined
    tokens.expectSymbol(')')
    if (tokens.peekWord('over')) {
      throw tokens.refuse('Window functions (OVER) are not supported. Use GROUP BY in a subquery.', tokens.at)
    }
    return { kind: 'call', name, args, distinct, ...(limit !== undefined && { limit }), at }
  }
}

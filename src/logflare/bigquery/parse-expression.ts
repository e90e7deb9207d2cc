import words from './functions.json' with { type: 'json' }
import type { Expression, Modifiers, OrderKey, Query } from './syntax.ts'
import type { TokenReader } from './token-reader.ts'

const comparisons = ['=', '!=', '<>', '<', '<=', '>', '>=']
const sums = ['+', '-', '||']
const products = ['*', '/', '%']
const predicates = ['in', 'like', 'ilike', 'between']
/** The engine's words for the frame of a window are the same. */
const frameWord = /^(?:rows|range|between|and|unbounded|preceding|following|current|row|\d{1,9})$/i

/** Words that end an expression, so a name cannot be one of them without backticks. */
const reserved = new Set(
  (
    'ALL AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT ELSE END EXCEPT FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT IS JOIN ' +
    'LEFT LIKE LIMIT NOT ON OR ORDER OUTER QUALIFY RIGHT SELECT THEN UNION USING WHEN WHERE WINDOW WITH'
  ).split(' '),
)

export const wholeInterval = 'INTERVAL needs a whole number and a unit: INTERVAL 1 HOUR.'

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

  readonly expression = (): Expression => this.#tokens.nested(() => this.#logic('or'))

  /** The keys of ORDER BY, if it follows. */
  order(): OrderKey[] {
    return this.#tokens.skip('order', 'by') ? this.#tokens.list(() => this.#orderKey()) : []
  }

  #orderKey(): OrderKey {
    const tokens = this.#tokens
    const by = this.expression()
    const direction = tokens.oneOf(['asc', 'desc']) === 'desc' ? 'DESC' : 'ASC'
    if (!tokens.skip('nulls')) return { by, direction, nulls: '' }
    if (tokens.skip('first')) return { by, direction, nulls: ' NULLS FIRST' }
    tokens.expect('last')
    return { by, direction, nulls: ' NULLS LAST' }
  }

  #logic(name: 'and' | 'or'): Expression {
    const { at } = this.#tokens
    const term = () => (name === 'or' ? this.#logic('and') : this.#not())
    const args = [term()]
    while (this.#tokens.skip(name)) args.push(term())
    return args.length === 1 ? (args[0] as Expression) : { kind: 'call', name, args, at }
  }

  #not(): Expression {
    const { at } = this.#tokens
    if (!this.#tokens.skip('not')) return this.#comparison()
    return { kind: 'call', name: 'not', args: [this.#tokens.nested(() => this.#not())], at }
  }

  #comparison(): Expression {
    const tokens = this.#tokens
    let left = this.#sum()
    for (;;) {
      const { at } = tokens
      const operator = tokens.oneOf(comparisons)
      if (operator !== undefined) {
        left = { kind: 'call', name: operator, args: [left, this.#sum()], at }
      } else if (tokens.skip('is')) {
        const not = tokens.skip('not') ? 'not ' : ''
        const what = tokens.skip('distinct', 'from')
          ? 'distinct from'
          : tokens.oneOf(['null', 'true', 'false'])
        if (what === undefined) throw tokens.unexpected('NULL, TRUE, FALSE or DISTINCT FROM')
        const args = what === 'distinct from' ? [left, this.#sum()] : [left]
        left = { kind: 'call', name: `is ${not}${what}`, args, at }
      } else {
        const not = predicates.some((word) => tokens.is('not', word)) && tokens.skip('not')
        const word = tokens.oneOf(predicates)
        if (word === undefined) return left
        left = { kind: 'call', name: not ? `not ${word}` : word, args: [left, ...this.#predicate(word)], at }
      }
    }
  }

  /** What follows the word of a predicate. */
  #predicate(word: string): Expression[] {
    const tokens = this.#tokens
    if (word === 'in' && tokens.skip('unnest')) {
      const { at } = tokens
      const of = tokens.inBrackets(this.expression)
      if (of.kind === 'call' && of.name === 'array' && of.args.length > 0) return [...of.args]
      throw tokens.refuse('IN UNNEST needs a list such as UNNEST(["a", "b"]). Use IN with a subquery.', at)
    }
    if (word === 'in') {
      return tokens.inBrackets(() =>
        tokens.startsQuery() ? [this.#subquery()] : tokens.list(this.expression),
      )
    }
    const first = this.#sum()
    if (word !== 'between') return [first]
    tokens.expect('and')
    return [first, this.#sum()]
  }

  #subquery(): Expression {
    const { at } = this.#tokens
    return { kind: 'query', query: this.#query(), at }
  }

  #sum(): Expression {
    return this.#binary(sums, () => this.#binary(products, () => this.#unary()))
  }

  #binary(operators: readonly string[], operand: () => Expression): Expression {
    let left = operand()
    for (;;) {
      const { at } = this.#tokens
      const operator = this.#tokens.oneOf(operators)
      if (operator === undefined) return left
      const right = operand()
      const isInterval = right.kind === 'call' && /^intervals?$/.test(right.name)
      const name = isInterval ? (operator === '-' ? 'timestamp_sub' : 'timestamp_add') : operator
      left = { kind: 'call', name, args: [left, right], at }
    }
  }

  #unary(): Expression {
    const tokens = this.#tokens
    const { at } = tokens
    if (tokens.skip('+')) return tokens.nested(() => this.#unary())
    if (!tokens.skip('-')) return this.#suffixes(this.#primary())
    return { kind: 'call', name: 'negate', args: [tokens.nested(() => this.#unary())], at }
  }

  /** Fields, elements and casts after a value. */
  #suffixes(value: Expression): Expression {
    const tokens = this.#tokens
    let of = value
    for (;;) {
      const { at } = tokens
      if (tokens.skip('.')) {
        const key = tokens.name('a field')
        // Names keep their parts together, since only the scope tells a table from a column.
        if (of.kind === 'name') of.parts.push(key)
        else of = { kind: 'element', of, key, at }
      } else if (tokens.skip('::')) of = { kind: 'call', name: `cast ${this.#type()}`, args: [of], at }
      else if (tokens.skip('at', 'time', 'zone'))
        of = { kind: 'call', name: 'cast timestamp', args: [of, this.#primary()], at }
      else if (tokens.skip('[')) {
        of = { kind: 'element', of, key: this.#offset(), at }
        tokens.expect(']')
      } else return of
    }
  }

  #offset(): number {
    const tokens = this.#tokens
    const mode = tokens.oneOf(['offset', 'safe_offset', 'ordinal', 'safe_ordinal'])
    const read = () => tokens.wholeNumber('a whole number, OFFSET or ORDINAL')
    const position = mode === undefined ? read() : tokens.inBrackets(read)
    return mode?.endsWith('ordinal') ? Math.max(0, position - 1) : position
  }

  #primary(): Expression {
    const tokens = this.#tokens
    const { at, current } = tokens
    if (current.kind === 'string') return { kind: 'literal', type: 'string', value: tokens.take().text, at }
    if (current.kind === 'number') {
      const { text: value } = tokens.take()
      const isInteger = /^(?:\d{1,19}|0x[\da-f]{1,16})$/i.test(value) && BigInt(value) < 2n ** 63n
      return { kind: 'literal', type: isInteger ? 'int' : 'number', value, at }
    }
    if (tokens.is('(')) return this.#brackets()
    if (tokens.skip('array', '[') || tokens.skip('[')) {
      const args = tokens.list(this.expression, [']'])
      tokens.expect(']')
      return { kind: 'call', name: 'array', args, at }
    }
    if (current.kind === 'word') {
      const found = this.#keyword(current.text.toLowerCase(), at)
      if (found) return found
      const isFunction = /^(?:left|right)$/i.test(current.text) && tokens.next.text === '('
      if (isReserved(current.text) && !isFunction) throw tokens.unexpected('a value')
    }
    return this.#nameOrCall(at)
  }

  #brackets(): Expression {
    const { at } = this.#tokens
    const tokens = this.#tokens
    const values = tokens.inBrackets(() =>
      tokens.startsQuery() ? [this.#subquery()] : tokens.list(this.expression),
    )
    const members = values.map((value) => ({ name: undefined, value }))
    return values.length === 1 ? (values[0] as Expression) : { kind: 'struct', members, at }
  }

  /** Expressions that start with a keyword. */
  #keyword(word: string, at: number): Expression | undefined {
    const tokens = this.#tokens
    if (word === 'null' || word === 'true' || word === 'false') {
      tokens.take()
      return { kind: 'literal', type: word === 'null' ? 'null' : 'bool', value: word, at }
    }
    if (tokens.skip('case')) return this.#case(at)
    if (word === 'interval' && !/^[.,)]$/.test(tokens.next.text)) {
      tokens.take()
      return this.#interval(at)
    }
    if (tokens.next.kind === 'string' && /^(?:timestamp|datetime|date)$/.test(word)) {
      tokens.take()
      return { kind: 'call', name: `cast ${word}`, args: [this.#primary()], at }
    }
    if (!tokens.is(word, '(')) return undefined
    if (tokens.skip('struct')) return tokens.inBrackets(() => this.#struct(at))
    if (tokens.skip('extract')) {
      return tokens.inBrackets(() => {
        const name = `extract ${tokens.name('a part of a date').toLowerCase()}`
        tokens.expect('from')
        return { kind: 'call', name, args: [this.expression()], at }
      })
    }
    if (!tokens.skip('cast') && !tokens.skip('safe_cast')) return undefined
    return tokens.inBrackets(() => {
      const of = this.expression()
      tokens.expect('as')
      return { kind: 'call', name: `cast ${this.#type()}`, args: [of], at }
    })
  }

  /** A number and its unit. PostgreSQL has them in a string, which can have several. */
  #interval(at: number): Expression {
    const tokens = this.#tokens
    const { kind, text } = tokens.current
    const of = (number: Expression, word = tokens.name('a unit of time')): Expression => {
      const unit: Expression = { kind: 'name', parts: [word], at }
      return { kind: 'call', name: 'interval', args: [number, unit], at }
    }
    if (kind !== 'string') return of(tokens.nested(() => this.#sum()))
    if (!/^(?:[+-]?\d+|(?:[+-]?\d+ *[a-z]+ *)+)$/i.test(text.trim())) throw tokens.refuse(wholeInterval)
    tokens.take()
    const parts = [...text.matchAll(/([+-]?\d+) *([a-z]+)?/gi)].map(([, number = '', word]) =>
      of({ kind: 'literal', type: 'int', value: number.replace('+', ''), at }, word),
    )
    return parts.length === 1
      ? (parts[0] as Expression)
      : { kind: 'call', name: 'intervals', args: parts, at }
  }

  #struct(at: number): Expression {
    const tokens = this.#tokens
    const member = () => {
      const value = this.expression()
      const own = value.kind === 'name' ? value.parts.at(-1) : undefined
      return { name: tokens.skip('as') ? tokens.name('a name') : own, value }
    }
    return { kind: 'struct', members: tokens.list(member, [')']), at }
  }

  /** The conditions and their values in turn, and the value after ELSE. */
  #case(at: number): Expression {
    const tokens = this.#tokens
    const of = tokens.is('when') ? undefined : this.expression()
    const args: Expression[] = []
    if (!tokens.is('when')) throw tokens.unexpected('WHEN')
    while (tokens.skip('when')) {
      const when = this.expression()
      tokens.expect('then')
      args.push(of ? { kind: 'call', name: '=', args: [of, when], at } : when, this.expression())
    }
    args.push(tokens.skip('else') ? this.expression() : { kind: 'literal', type: 'null', value: 'null', at })
    tokens.expect('end')
    return { kind: 'call', name: 'case', args, at }
  }

  #type(): string {
    const tokens = this.#tokens
    const type = tokens.name('a type').toLowerCase()
    const digits = () => tokens.wholeNumber('a number of digits')
    if (tokens.is('(')) tokens.inBrackets(() => tokens.list(digits))
    return type
  }

  #nameOrCall(at: number): Expression {
    const tokens = this.#tokens
    while (tokens.skip('safe', '.'));
    const isQuoted = tokens.current.kind === 'name'
    const name = tokens.name('a value')
    if (!isQuoted && tokens.is('(')) return this.#call(name.toLowerCase(), at)
    if (!isQuoted && /^current_(?:timestamp|datetime|date)$/i.test(name))
      return { kind: 'call', name: name.toLowerCase(), args: [], at }
    // A path in one pair of backticks is a path.
    return { kind: 'name', parts: isQuoted ? name.split('.') : [name], at }
  }

  #call(name: string, at: number): Expression {
    const tokens = this.#tokens
    tokens.expect('(')
    const distinct = tokens.skip('distinct')
    const isCount = name === 'count' && tokens.skip('*')
    const isQuery = tokens.is('select') || tokens.is('with')
    const args = isCount ? [] : isQuery ? [this.#subquery()] : tokens.list(this.expression, [')'])
    const ignoresNulls = tokens.skip('ignore', 'nulls')
    if (!ignoresNulls) tokens.skip('respect', 'nulls')
    const order = this.order()
    const limit = tokens.skip('limit') ? tokens.wholeNumber('a number of values') : undefined
    tokens.expect(')')
    if (tokens.is('over') && tokens.next.text !== '(') throw tokens.refuse(words.clauses.window)
    const over = tokens.skip('over') ? tokens.inBrackets(() => this.#window()) : undefined
    // PostgreSQL has the unit first, returns a timestamp, and starts weeks on Monday.
    const [unit, ...of] = args
    if (name === 'date_trunc' && unit?.kind === 'literal' && /^[a-z]+$/i.test(unit.value)) {
      const value = unit.value.toLowerCase() === 'week' ? 'isoweek' : unit.value
      return { kind: 'call', name: 'timestamp_trunc', args: [...of, { ...unit, value }], at }
    }
    return { kind: 'call', name, args, modifiers: { distinct, ignoresNulls, order, limit, over }, at }
  }

  #window(): Modifiers['over'] {
    const tokens = this.#tokens
    const partition = tokens.skip('partition', 'by') ? tokens.list(this.expression) : []
    const order = this.order()
    const frame: string[] = []
    while (frameWord.test(tokens.current.text)) frame.push(tokens.take().text)
    return { partition, order, frame: frame.join(' ') }
  }
}

import words from './functions.json' with { type: 'json' }
import type { Expression, Modifiers, OrderKey, Query } from './syntax.ts'
import { TokenReader } from './token-reader.ts'

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

function call(name: string, args: readonly Expression[], at: number): Expression {
  return { kind: 'call', name, args, at }
}

/** Reads expressions with the precedence of BigQuery. */
export abstract class ExpressionParser extends TokenReader {
  protected abstract readonly query: () => Query

  readonly expression = (): Expression => this.nested(() => this.#logic('or'))

  /** The keys of ORDER BY, if it follows. */
  order(): OrderKey[] {
    return this.skip('order', 'by') ? this.list(() => this.#orderKey()) : []
  }

  #orderKey(): OrderKey {
    const by = this.expression()
    const direction = this.oneOf(['asc', 'desc']) === 'desc' ? 'DESC' : 'ASC'
    if (!this.skip('nulls')) return { by, direction, nulls: '' }
    if (this.skip('first')) return { by, direction, nulls: ' NULLS FIRST' }
    this.expect('last')
    return { by, direction, nulls: ' NULLS LAST' }
  }

  #logic(name: 'and' | 'or'): Expression {
    const { at } = this
    const term = () => (name === 'or' ? this.#logic('and') : this.#not())
    const args = [term()]
    while (this.skip(name)) args.push(term())
    return args.length === 1 ? (args[0] as Expression) : call(name, args, at)
  }

  #not(): Expression {
    const { at } = this
    return this.skip('not') ? call('not', [this.nested(() => this.#not())], at) : this.#comparison()
  }

  #comparison(): Expression {
    let left = this.#sum()
    for (;;) {
      const { at } = this
      const operator = this.oneOf(comparisons)
      if (operator !== undefined) left = call(operator, [left, this.#sum()], at)
      else if (this.skip('is')) {
        const not = this.skip('not') ? 'not ' : ''
        const what = this.oneOf(['null', 'true', 'false'])
        if (what !== undefined) left = call(`is ${not}${what}`, [left], at)
        else if (this.skip('distinct', 'from')) left = call(`is ${not}distinct from`, [left, this.#sum()], at)
        else throw this.unexpected('NULL, TRUE, FALSE or DISTINCT FROM')
      } else {
        const not = predicates.some((word) => this.is('not', word)) && this.skip('not')
        const word = this.oneOf(predicates)
        if (word === undefined) return left
        left = call(not ? `not ${word}` : word, [left, ...this.#predicate(word)], at)
      }
    }
  }

  #predicate(word: string): Expression[] {
    if (word === 'in' && this.skip('unnest')) {
      const { at } = this
      const of = this.inBrackets(this.expression)
      if (of.kind === 'call' && of.name === 'array' && of.args.length > 0) return [...of.args]
      throw this.refuse('IN UNNEST needs a list such as UNNEST(["a", "b"]). Use IN with a subquery.', at)
    }
    if (word === 'in') {
      return this.inBrackets(() => (this.startsQuery() ? [this.#subquery()] : this.list(this.expression)))
    }
    const first = this.#sum()
    if (word !== 'between') return [first]
    this.expect('and')
    return [first, this.#sum()]
  }

  #subquery(): Expression {
    const { at } = this
    return { kind: 'query', query: this.query(), at }
  }

  #sum(): Expression {
    return this.#binary(sums, () => this.#binary(products, () => this.#unary()))
  }

  #binary(operators: readonly string[], operand: () => Expression): Expression {
    let left = operand()
    for (;;) {
      const { at } = this
      const operator = this.oneOf(operators)
      if (operator === undefined) return left
      const right = operand()
      const isInterval = right.kind === 'call' && /^intervals?$/.test(right.name)
      const name = isInterval ? (operator === '-' ? 'timestamp_sub' : 'timestamp_add') : operator
      left = call(name, [left, right], at)
    }
  }

  #unary(): Expression {
    const { at } = this
    if (this.skip('+')) return this.nested(() => this.#unary())
    if (!this.skip('-')) return this.#suffixes(this.#primary())
    return call('negate', [this.nested(() => this.#unary())], at)
  }

  /** Fields, elements and casts after a value. */
  #suffixes(value: Expression): Expression {
    let of = value
    for (;;) {
      const { at } = this
      if (this.skip('.')) {
        const key = this.name('a field')
        // Names keep their parts together, since only the scope tells a table from a column.
        if (of.kind === 'name') of.parts.push(key)
        else of = { kind: 'element', of, key, at }
      } else if (this.skip('::')) of = call(`cast ${this.#type()}`, [of], at)
      else if (this.skip('at', 'time', 'zone')) of = call('cast timestamp', [of, this.#primary()], at)
      else if (this.skip('[')) {
        of = { kind: 'element', of, key: this.#offset(), at }
        this.expect(']')
      } else return of
    }
  }

  #offset(): number {
    const mode = this.oneOf(['offset', 'safe_offset', 'ordinal', 'safe_ordinal'])
    const read = () => this.wholeNumber('a whole number, OFFSET or ORDINAL')
    const position = mode === undefined ? read() : this.inBrackets(read)
    return mode?.endsWith('ordinal') ? Math.max(0, position - 1) : position
  }

  #primary(): Expression {
    const { at, current } = this
    if (current.kind === 'string') return { kind: 'literal', type: 'string', value: this.take().text, at }
    if (current.kind === 'number') {
      const { text: value } = this.take()
      const isInteger = /^(?:\d{1,19}|0x[\da-f]{1,16})$/i.test(value) && BigInt(value) < 2n ** 63n
      return { kind: 'literal', type: isInteger ? 'int' : 'number', value, at }
    }
    if (this.is('(')) return this.#brackets()
    if (this.skip('array', '[') || this.skip('[')) {
      const args = this.list(this.expression, [']'])
      this.expect(']')
      return call('array', args, at)
    }
    if (current.kind === 'word') {
      const found = this.#keyword(current.text.toLowerCase(), at)
      if (found) return found
      const isFunction = /^(?:left|right)$/i.test(current.text) && this.next.text === '('
      if (isReserved(current.text) && !isFunction) throw this.unexpected('a value')
    }
    return this.#nameOrCall(at)
  }

  #brackets(): Expression {
    const { at } = this
    const values = this.inBrackets(() =>
      this.startsQuery() ? [this.#subquery()] : this.list(this.expression),
    )
    const members = values.map((value) => ({ name: undefined, value }))
    return values.length === 1 ? (values[0] as Expression) : { kind: 'struct', members, at }
  }

  #keyword(word: string, at: number): Expression | undefined {
    if (word === 'null' || word === 'true' || word === 'false') {
      this.take()
      return { kind: 'literal', type: word === 'null' ? 'null' : 'bool', value: word, at }
    }
    if (this.skip('case')) return this.#case(at)
    if (word === 'interval' && !/^[.,)]$/.test(this.next.text)) {
      this.take()
      return this.#interval(at)
    }
    if (this.next.kind === 'string' && /^(?:timestamp|datetime|date)$/.test(word)) {
      this.take()
      return call(`cast ${word}`, [this.#primary()], at)
    }
    if (!this.is(word, '(')) return undefined
    if (this.skip('struct')) return this.inBrackets(() => this.#struct(at))
    if (this.skip('extract')) {
      return this.inBrackets(() => {
        const name = `extract ${this.name('a part of a date').toLowerCase()}`
        this.expect('from')
        return call(name, [this.expression()], at)
      })
    }
    if (!this.skip('cast') && !this.skip('safe_cast')) return undefined
    return this.inBrackets(() => {
      const of = this.expression()
      this.expect('as')
      return call(`cast ${this.#type()}`, [of], at)
    })
  }

  /** A number and its unit. PostgreSQL has them in a string, which can have several. */
  #interval(at: number): Expression {
    const { kind, text } = this.current
    const of = (number: Expression, word = this.name('a unit of time')) =>
      call('interval', [number, { kind: 'name', parts: [word], at }], at)
    if (kind !== 'string') return of(this.nested(() => this.#sum()))
    if (!/^(?:[+-]?\d+|(?:[+-]?\d+ *[a-z]+ *)+)$/i.test(text.trim())) throw this.refuse(wholeInterval)
    this.take()
    const parts = [...text.matchAll(/([+-]?\d+) *([a-z]+)?/gi)].map(([, number = '', word]) =>
      of({ kind: 'literal', type: 'int', value: number.replace('+', ''), at }, word),
    )
    return parts.length === 1 ? (parts[0] as Expression) : call('intervals', parts, at)
  }

  #struct(at: number): Expression {
    const member = () => {
      const value = this.expression()
      const own = value.kind === 'name' ? value.parts.at(-1) : undefined
      return { name: this.skip('as') ? this.name('a name') : own, value }
    }
    return { kind: 'struct', members: this.list(member, [')']), at }
  }

  /** The conditions and their values in turn, and the value after ELSE. */
  #case(at: number): Expression {
    const of = this.is('when') ? undefined : this.expression()
    const args: Expression[] = []
    if (!this.is('when')) throw this.unexpected('WHEN')
    while (this.skip('when')) {
      const when = this.expression()
      this.expect('then')
      args.push(of ? call('=', [of, when], at) : when, this.expression())
    }
    args.push(this.skip('else') ? this.expression() : { kind: 'literal', type: 'null', value: 'null', at })
    this.expect('end')
    return call('case', args, at)
  }

  #type(): string {
    const type = this.name('a type').toLowerCase()
    const digits = () => this.wholeNumber('a number of digits')
    if (this.is('(')) this.inBrackets(() => this.list(digits))
    return type
  }

  #nameOrCall(at: number): Expression {
    while (this.skip('safe', '.'));
    const isQuoted = this.current.kind === 'name'
    const name = this.name('a value')
    if (!isQuoted && this.is('(')) return this.#call(name.toLowerCase(), at)
    if (!isQuoted && /^current_(?:timestamp|datetime|date)$/i.test(name))
      return call(name.toLowerCase(), [], at)
    // A path in one pair of backticks is a path.
    return { kind: 'name', parts: isQuoted ? name.split('.') : [name], at }
  }

  #call(name: string, at: number): Expression {
    this.expect('(')
    const distinct = this.skip('distinct')
    const isCount = name === 'count' && this.skip('*')
    const isQuery = this.is('select') || this.is('with')
    const args = isCount ? [] : isQuery ? [this.#subquery()] : this.list(this.expression, [')'])
    const ignoresNulls = this.skip('ignore', 'nulls')
    if (!ignoresNulls) this.skip('respect', 'nulls')
    const order = this.order()
    const limit = this.skip('limit') ? this.wholeNumber('a number of values') : undefined
    this.expect(')')
    if (this.is('over') && this.next.text !== '(') throw this.refuse(words.clauses.window)
    const over = this.skip('over') ? this.inBrackets(() => this.#window()) : undefined
    // PostgreSQL has the unit first, returns a timestamp, and starts weeks on Monday.
    const [unit, ...of] = args
    if (name === 'date_trunc' && unit?.kind === 'literal' && /^[a-z]+$/i.test(unit.value)) {
      const value = unit.value.toLowerCase() === 'week' ? 'isoweek' : unit.value
      return call('timestamp_trunc', [...of, { ...unit, value }], at)
    }
    return { kind: 'call', name, args, modifiers: { distinct, ignoresNulls, order, limit, over }, at }
  }

  #window(): Modifiers['over'] {
    const partition = this.skip('partition', 'by') ? this.list(this.expression) : []
    const order = this.order()
    const frame: string[] = []
    while (frameWord.test(this.current.text)) frame.push(this.take().text)
    return { partition, order, frame: frame.join(' ') }
  }
}

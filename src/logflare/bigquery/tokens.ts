import { invalidQuery } from '../../base/errors.ts'
import { positionOf } from '../../sql/errors.ts'

export interface Token {
  kind: 'word' | 'name' | 'string' | 'number' | 'symbol' | 'end'
  /** As written; the value of a string, and the name in backticks. */
  text: string
  start: number
}

const skipped = /(?:[\s\u00a0\ufeff]+|--[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/)+/y
const word = /[\p{L}_][\p{L}\p{N}_]*/uy
const number = /0[xX][\da-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const symbol = /<=|>=|<>|!=|\|\||::|=>|<<|>>|[-+*/%=<>(),.;[\]{}?:&|^~@]/y
const stringStart = /(?:[rR][bB]?|[bB][rR]?)?(?:'''|"""|'|")/y

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', a: '\x07', v: '\v' }

/** Reads BigQuery SQL as Studio writes it: a doubled quote inside of a string is a quote, as in PostgreSQL. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const text = pattern.exec(sql)?.[0]
    if (text !== undefined) at += text.length
    return text
  }
  for (;;) {
    take(skipped)
    const start = at
    if (at >= sql.length) return [...tokens, { kind: 'end', text: '', start }]
    const opening = take(stringStart)
    if (opening !== undefined) {
      const prefix = opening.replace(/['"]+$/, '').toLowerCase()
      if (prefix.includes('b'))
        throw refuse('Bytes such as b"…" are not supported. Use a string.', sql, start)
      const long = opening.slice(prefix.length)
      // A doubled quote at the start of a short string looks like the start of a long one.
      const quote = long.length === 3 && sql.includes(long, at) ? long : (long[0] as string)
      const read = readString(sql, start + prefix.length + quote.length, quote, prefix === 'r')
      at = read.end
      tokens.push({ kind: 'string', text: read.text, start })
      continue
    }
    if (sql[at] === '`') {
      const end = sql.indexOf('`', at + 1)
      if (end < 0) throw refuse('A name in backticks is not closed.', sql, start)
      tokens.push({ kind: 'name', text: sql.slice(at + 1, end), start })
      at = end + 1
      continue
    }
    const text = take(word)
    if (text !== undefined) {
      tokens.push({ kind: 'word', text, start })
      continue
    }
    const digits = take(number)
    if (digits !== undefined) {
      tokens.push({ kind: 'number', text: digits, start })
      continue
    }
    const sign = take(symbol)
    if (sign === undefined) {
      const message = sql.startsWith('/*', at)
        ? 'A comment is not closed.'
        : `Unexpected character "${sql[at]}".`
      throw refuse(message, sql, start)
    }
    tokens.push({ kind: 'symbol', text: sign, start })
  }
}

function readString(sql: string, from: number, quote: string, isRaw: boolean): { text: string; end: number } {
  let text = ''
  for (let at = from; at < sql.length; ) {
    if (sql.startsWith(quote, at)) {
      // Three quotes end a long string; a short one continues after a doubled quote.
      if (quote.length === 3 || isRaw || sql[at + 1] !== quote) return { text, end: at + quote.length }
      text += quote
      at += 2
    } else if (sql[at] === '\\' && at + 1 < sql.length) {
      const escaped = isRaw ? { text: sql.slice(at, at + 2), length: 2 } : readEscape(sql, at)
      text += escaped.text
      at += escaped.length
    } else {
      text += sql[at]
      at++
    }
  }
  throw refuse('A string is not closed.', sql, from - quote.length)
}

const codePoint = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{3}))/y

function readEscape(sql: string, at: number): { text: string; length: number } {
  codePoint.lastIndex = at
  const found = codePoint.exec(sql)
  if (found) {
    const [whole, hex2, hex4, hex8, octal] = found
    const code =
      octal === undefined ? Number.parseInt(hex2 ?? hex4 ?? hex8 ?? '', 16) : Number.parseInt(octal, 8)
    const isValid = code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000)
    if (isValid) return { text: String.fromCodePoint(code), length: whole.length }
  }
  const next = sql[at + 1] as string
  // Postgres keeps the backslash of an escape that it does not know, and Studio's regular expressions rely on it.
  const text = escapes[next] ?? (/[\\'"`?]/.test(next) ? next : `\\${next}`)
  return { text, length: 2 }
}

/** The SQL is refused, with the position in the text as it was sent. */
export function refuse(message: string, sql: string, at: number) {
  return invalidQuery(message, positionOf(sql, at))
}

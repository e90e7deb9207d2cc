import { invalidQuery, type WellheadError } from '../../base/errors.ts'
import { callerTokens } from '../../sql/check.ts'
import { positionOf } from '../../sql/errors.ts'
import { identifierOf } from '../../sql/tokens.ts'

export interface Token {
  kind: 'word' | 'name' | 'string' | 'number' | 'symbol' | 'end'
  /** As written; the value of a string, and the name in backticks. */
  text: string
  /** A word in lower case, or a symbol: what the grammar compares with. Empty for others. */
  key: string
  start: number
}

const pairs = new Set(['<=', '>=', '<>', '!=', '||', '::'])

/** Reads BigQuery SQL. Its tokens are those of the engine's SQL, except that double quotes enclose strings. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = []
  let end = 0
  for (const token of callerTokens(sql)) {
    const { kind, text, start } = token
    const last = end === start ? tokens.at(-1) : undefined
    end = token.end
    const first = text.charAt(0)
    if (kind === 'unterminated') {
      const what = first === '/' ? 'comment' : first === '`' ? 'name in backticks' : 'string'
      throw refuse(`A ${what} is not closed.`, sql, start)
    }
    if (kind === 'parameter') {
      throw refuse('Parameters such as @name are not supported. Write the value instead.', sql, start)
    }
    if (first === "'" || first === '"') {
      const prefix = last?.kind === 'word' && /^[rb]{1,2}$/i.test(last.text) ? last.text.toLowerCase() : ''
      // Studio doubles a single quote, also at the start and at the end of a string.
      const isOpen = /\w/.test(sql.charAt(end)) && !text.endsWith("'''")
      const isTriple = first === '"' || prefix !== '' || isOpen
      if (isTriple && text.startsWith(first.repeat(3)))
        throw refuse('Strings in triple quotes are not supported. Use one quote on each side.', sql, start)
      if (prefix.includes('b'))
        throw refuse('Bytes such as b"…" are not supported. Use a string.', sql, start)
      if (prefix !== '') tokens.pop()
      tokens.push({ kind: 'string', text: stringValue(text, prefix === 'r'), key: '', start })
    } else if (first === '`') tokens.push({ kind: 'name', text: identifierOf(token) ?? '', key: '', start })
    else if (kind === 'symbol' && last?.kind === 'symbol' && pairs.has(last.text + text)) {
      last.text += text
      last.key = last.text
    } else if (kind === 'word' || kind === 'number' || kind === 'symbol')
      tokens.push({ kind, text, key: kind === 'number' ? '' : text.toLowerCase(), start })
    else throw refuse(`Unexpected character "${text}".`, sql, start)
  }
  tokens.push({ kind: 'end', text: '', key: '', start: sql.length })
  return tokens
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', a: '\x07', v: '\v' }

/** Studio doubles a quote inside of a string, as in PostgreSQL. */
function stringValue(written: string, isRaw: boolean): string {
  const quote = written.charAt(0)
  const inner = written.slice(1, -1)
  if (isRaw) return inner
  const escaped = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))|(['"])\4/g
  const text = inner.replace(escaped, (whole, hex, point, next, doubled) => {
    if (doubled) return doubled === quote ? quote : whole
    if (next === undefined) return String.fromCodePoint(Number.parseInt(hex ?? point, 16))
    // Postgres keeps the backslash of an escape that it does not know, and Studio's regular expressions rely on it.
    return escapes[next] ?? (/[\\'"`?]/.test(next) ? next : whole)
  })
  return text.toWellFormed()
}

/** The SQL is refused, with the position in the text as it was sent. */
export function refuse(message: string, sql: string, at: number): WellheadError {
  return invalidQuery(message, positionOf(sql, at))
}

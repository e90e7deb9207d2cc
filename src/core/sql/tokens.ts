import { type SqlToken, sqlTokens } from '../../shared/sql-tokens.ts'

/** A token that is neither space nor a comment. */
export interface CodeToken extends SqlToken {
  text: string
  /** Number of brackets open before it. A bracket and the one that closes it have the same depth. */
  depth: number
}

const openingBrackets = new Set('([{')
const closingBrackets = new Set(')]}')

/** At most one token more than the maximum, so that a text of too many tokens is not read to its end. */
export function codeTokens(sql: string, max = Infinity): CodeToken[] {
  const tokens: CodeToken[] = []
  let depth = 0
  for (const token of sqlTokens(sql)) {
    if (token.kind === 'space' || token.kind === 'comment') continue
    const { kind, start, end } = token
    const text = sql.slice(start, end)
    if (kind === 'symbol' && closingBrackets.has(text)) depth--
    tokens.push({ kind, start, end, text, depth })
    if (tokens.length > max) break
    if (kind === 'symbol' && openingBrackets.has(text)) depth++
  }
  return tokens
}

export const isKeyword = (token: CodeToken | undefined, ...texts: string[]) =>
  token?.kind === 'word' && texts.includes(token.text.toUpperCase())

export const isSymbol = (token: CodeToken | undefined, text: string) =>
  token?.kind === 'symbol' && token.text === text

/** The name that a word or a quoted identifier stands for. */
export function identifierOf(token: CodeToken | undefined): string | undefined {
  if (token?.kind === 'word') return token.text
  if (token?.kind !== 'quoted-identifier') return undefined
  const quote = token.text.slice(-1)
  return token.text.slice(1, -1).replaceAll(quote + quote, quote)
}

/** Whether a query starts here, after any number of brackets. */
export function startsQuery(tokens: readonly CodeToken[], at: number): boolean {
  let first = at
  while (tokens[first]?.text === '(') first++
  return isKeyword(tokens[first], 'SELECT', 'WITH', 'FROM', 'VALUES', 'EXPLAIN')
}

/** The index of the bracket that closes the one at this index, or the number of tokens if none does. */
export function closingOf(tokens: readonly CodeToken[], open: number): number {
  const depth = tokens[open]?.depth ?? 0
  let at = open + 1
  while (at < tokens.length && (tokens[at] as CodeToken).depth > depth) at++
  return at
}

/** A part of the tokens: the index of its first, and of the one after its last. */
export interface TokenRange {
  first: number
  end: number
}

/** The parts between commas of this depth. */
export function listItems(tokens: readonly CodeToken[], from: number, end: number, depth: number) {
  const items: TokenRange[] = []
  let first = from
  for (let at = from; at <= end; at++) {
    if (at < end && !(tokens[at]?.depth === depth && isSymbol(tokens[at], ','))) continue
    items.push({ first, end: at })
    first = at + 1
  }
  return items
}

const beforeValue = (
  'SELECT DISTINCT WHERE HAVING QUALIFY ON USING FROM JOIN WITH FILL BY LIMIT OFFSET AS AND OR NOT IN LIKE ILIKE IS ' +
  'BETWEEN CASE WHEN THEN ELSE INTERVAL EXCEPT'
).split(' ')

/** Whether a value ends with this token, so that an operator, an alias or a clause must follow. */
export function endsValue(token: CodeToken | undefined): boolean {
  if (token === undefined || isKeyword(token, ...beforeValue)) return false
  return token.kind === 'symbol' ? /^[)\]}]$/.test(token.text) : true
}

/** Whether this token may be the name of the value before it. The engine prefers such names to columns. */
export function isAlias(tokens: readonly CodeToken[], at: number): boolean {
  return isKeyword(tokens[at - 1], 'AS') || endsValue(tokens[at - 1])
}

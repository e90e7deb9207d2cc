/** Tokenizes ClickHouse SQL, as far as needed to tell code from text. */
export type SqlTokenKind =
  | 'space'
  | 'comment'
  | 'word'
  | 'number'
  | 'string'
  | 'quoted-identifier'
  | 'parameter'
  | 'symbol'
  | 'unterminated'

export interface SqlToken {
  kind: SqlTokenKind
  /** Offset of the first character, and of the one after the last. */
  start: number
  end: number
}

const word = /[\p{L}_$][\p{L}\p{N}_$]*/uy
const number = /(?:0[xX][\da-fA-F]+|0[bB][01]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)/y
const space = /[\s\u0085\u180e\u200b-\u200d\u2060\0]+/y
const lineComment = /(?:--|\/\/|#[ !])[^\n]*/y
const heredocTag = /\$[A-Za-z0-9_]*\$/y
const atName = /@[A-Za-z_][A-Za-z0-9_]*/y

/** Most tokens start with one of these, which tell their kind. */
const startsWord = /[A-Za-z_]/
const alwaysSymbols = new Set('()[]{},;+*=<>!%&|^~?:\\')

const closingQuote: Record<string, string> = { "'": "'", '"': '"', '`': '`', '‘': '’', '“': '”' }
const identifierQuotes = new Set(['"', '`', '“'])

function matchEnd(pattern: RegExp, sql: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(sql) ? pattern.lastIndex : undefined
}

/** Block comments nest, as in the engine. */
function blockCommentEnd(sql: string, at: number): number | undefined {
  let depth = 0
  for (let i = at; i < sql.length; i++) {
    if (sql.startsWith('/*', i)) {
      depth++
      i++
    } else if (sql.startsWith('*/', i)) {
      depth--
      i++
      if (depth === 0) return i + 1
    }
  }
  return undefined
}

function quotedEnd(sql: string, at: number, close: string): number | undefined {
  // Only plain quotes support escapes; typographic ones end at the first closing quote.
  const plain = close === sql[at]
  for (let i = at + 1; i < sql.length; i++) {
    if (plain && sql[i] === '\\') i++
    else if (sql[i] === close) {
      if (plain && sql[i + 1] === close) i++
      else return i + 1
    }
  }
  return undefined
}

/** The last position of each heredoc tag, found in one pass: a search per unclosed tag would be quadratic. */
function lastHeredocTags(sql: string): Map<string, number> {
  const last = new Map<string, number>()
  for (const { 0: tag, index } of sql.matchAll(/\$[A-Za-z0-9_]*/g)) {
    if (sql[index + tag.length] === '$') last.set(`${tag}$`, index)
  }
  return last
}

function heredocEnd(sql: string, at: number, lastTags: () => Map<string, number>): number | undefined {
  const tagEnd = matchEnd(heredocTag, sql, at)
  if (tagEnd === undefined) return undefined
  const tag = sql.slice(at, tagEnd)
  if ((lastTags().get(tag) ?? -1) < tagEnd) return undefined
  return sql.indexOf(tag, tagEnd) + tag.length
}

function tokenAt(sql: string, at: number, lastTags: () => Map<string, number>): SqlToken {
  const token = (kind: SqlTokenKind, end: number): SqlToken => ({ kind, start: at, end })
  const match = (kind: SqlTokenKind, pattern: RegExp) => {
    const end = matchEnd(pattern, sql, at)
    return end === undefined ? undefined : token(kind, end)
  }
  const first = sql[at] as string
  if (alwaysSymbols.has(first)) return token('symbol', at + 1)
  const plain = startsWord.test(first)
    ? match('word', word)
    : (match('space', space) ?? match('comment', lineComment))
  if (plain) return plain
  if (sql.startsWith('/*', at)) {
    const end = blockCommentEnd(sql, at)
    return end === undefined ? token('unterminated', sql.length) : token('comment', end)
  }
  const close = closingQuote[first]
  if (close !== undefined) {
    const end = quotedEnd(sql, at, close)
    if (end === undefined) return token('unterminated', sql.length)
    return token(identifierQuotes.has(first) ? 'quoted-identifier' : 'string', end)
  }
  if (first === '$') {
    const end = heredocEnd(sql, at, lastTags)
    if (end !== undefined) return token('string', end)
  }
  if (first === '@') {
    // "@@name" is a server variable of the MySQL dialect, not a parameter.
    if (sql[at + 1] === '@') return token('symbol', at + 2)
    const parameter = sql[at - 1] === '@' ? undefined : match('parameter', atName)
    if (parameter) return parameter
  }
  const symbolEnd = at + String.fromCodePoint(sql.codePointAt(at) as number).length
  return match('number', number) ?? match('word', word) ?? token('symbol', symbolEnd)
}

export function* sqlTokens(sql: string): Generator<SqlToken> {
  let tags: Map<string, number> | undefined
  const lastTags = () => {
    tags ??= lastHeredocTags(sql)
    return tags
  }
  for (let at = 0; at < sql.length; ) {
    const token = tokenAt(sql, at, lastTags)
    yield token
    at = token.end
  }
}

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

/** Words of SQL that have the form of a source name. */
export function possibleSources(sql: string, tokens: readonly CodeToken[] = codeTokens(sql)): Set<string> {
  const names = tokens.flatMap((token) => identifierOf(token) ?? [])
  return new Set(names.filter((name) => /^[a-z][a-z0-9_]{0,63}$/.test(name)))
}

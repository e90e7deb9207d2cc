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

/** Parameter that the service sets to the time of the request. */
export const reservedName = 'now'

/** Names of the parameters that SQL uses except @now, in the order of their first appearance. */
export function parametersIn(sql: string, isBeingTyped = false): string[] {
  const names = [...sqlTokens(sql)].flatMap(({ kind, start, end }) => {
    if (kind === 'parameter') return sql.slice(start + 1, end)
    // A quote that is not closed yet hides nothing.
    if (!isBeingTyped || kind !== 'unterminated' || sql.startsWith('/*', start)) return []
    return [...sql.slice(start).matchAll(/@@\w*|@([A-Za-z_]\w*)/g)].flatMap(([, name]) => name ?? [])
  })
  return [...new Set(names)].filter((name) => name !== reservedName)
}

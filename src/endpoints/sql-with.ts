import { type SqlToken, sqlTokens } from '../base/sql-tokens.ts'

interface Word extends SqlToken {
  text: string
  /** How many brackets are open before it. */
  depth: number
}

/** Tokens that mean something, with the brackets around them counted. */
function wordsOf(sql: string): Word[] {
  const words: Word[] = []
  let depth = 0
  for (const token of sqlTokens(sql)) {
    if (token.kind === 'space' || token.kind === 'comment') continue
    const text = sql.slice(token.start, token.end)
    const symbol = token.kind === 'symbol'
    if (symbol && /^[)\]}]$/.test(text)) depth--
    words.push({ ...token, text, depth })
    if (symbol && /^[([{]$/.test(text)) depth++
  }
  return words
}

const isWord = (word: Word | undefined, ...texts: string[]) =>
  word?.kind === 'word' && texts.includes(word.text.toUpperCase())

/** The names that a statement gives to subqueries, anywhere in it: name AS (SELECT …). The tree does not show them. */
export function subqueryNames(sql: string): Set<string> {
  const words = wordsOf(sql)
  const names = new Set<string>()
  for (const [index, word] of words.entries()) {
    if (word.text !== '(' || word.kind !== 'symbol') continue
    const name = nameBefore(words, index)
    if (name !== undefined && beginsQuery(words, index + 1)) names.add(name)
  }
  return names
}

/** The name in "name AS (", "name AS MATERIALIZED (" and "name (column, …) AS (". */
function nameBefore(words: Word[], open: number): string | undefined {
  let at = open - 1
  if (isWord(words[at], 'MATERIALIZED')) at--
  if (!isWord(words[at], 'AS')) return undefined
  at--
  if (words[at]?.text === ')') {
    const { depth } = words[at] as Word
    at--
    while (at >= 0 && (words[at] as Word).depth > depth) at--
    at--
  }
  const word = words[at]
  if (word?.kind === 'word') return word.text
  return word?.kind === 'quoted-identifier' ? word.text.slice(1, -1) : undefined
}

function beginsQuery(words: Word[], at: number): boolean {
  let first = at
  while (words[first]?.text === '(') first++
  return isWord(words[first], 'SELECT', 'WITH', 'FROM', 'VALUES', 'EXPLAIN')
}

export interface WithClause {
  /** From WITH up to the final SELECT. */
  text: string
  /** Its subqueries by name, in the order of their definition. */
  names: string[]
}

/** The WITH clause that a query begins with, and undefined where it does not begin with one. */
export function leadingWith(sql: string): WithClause | undefined {
  const words = wordsOf(sql)
  if (!isWord(words[0], 'WITH')) return undefined
  const final = words.find((word) => word.depth === 0 && isWord(word, 'SELECT', 'FROM'))
  if (!final) return undefined
  const names: string[] = []
  for (const [index, word] of words.entries()) {
    if (word.start >= final.start) break
    if (word.depth !== 0 || word.text !== '(' || word.kind !== 'symbol') continue
    const name = nameBefore(words, index)
    if (name !== undefined && beginsQuery(words, index + 1)) names.push(name)
  }
  return { text: sql.slice((words[0] as Word).start, final.start), names }
}

/** Why the brackets of a text do not fit, if they do not, and where. */
export function bracketProblem(
  sql: string,
  maxDepth: number,
): { problem: string; offset: number } | undefined {
  const closing: Record<string, string> = { '(': ')', '[': ']', '{': '}' }
  const open: Word[] = []
  for (const word of wordsOf(sql)) {
    if (word.kind === 'unterminated') {
      return { problem: 'A quote or a comment is not closed.', offset: word.start }
    }
    if (word.kind !== 'symbol') continue
    if (closing[word.text] !== undefined) {
      open.push(word)
      if (open.length > maxDepth) {
        return { problem: `Brackets are nested more than ${maxDepth} deep.`, offset: word.start }
      }
    } else if (/^[)\]}]$/.test(word.text)) {
      const opening = open.pop()
      if (!opening || closing[opening.text] !== word.text) {
        return { problem: `A bracket is closed that was not opened: "${word.text}".`, offset: word.start }
      }
    }
  }
  const left = open.at(-1)
  return left && { problem: `A bracket is not closed: "${left.text}".`, offset: left.start }
}

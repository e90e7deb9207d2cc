import { type SqlToken, sqlTokens } from './tokens.ts'

/** A token that means something: neither space nor a comment. */
export interface SqlWord extends SqlToken {
  text: string
  /** Number of brackets that are open before it. A bracket and the one that closes it have the same depth. */
  depth: number
}

export function wordsOf(sql: string): SqlWord[] {
  const words: SqlWord[] = []
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

export const isWord = (word: SqlWord | undefined, ...texts: string[]) =>
  word?.kind === 'word' && texts.includes(word.text.toUpperCase())

export const isSymbol = (word: SqlWord | undefined, text: string) =>
  word?.kind === 'symbol' && word.text === text

/** The name that a word or a quoted identifier stands for. */
export function identifierOf(word: SqlWord | undefined): string | undefined {
  if (word?.kind === 'word') return word.text
  if (word?.kind !== 'quoted-identifier') return undefined
  const quote = word.text.slice(-1)
  return word.text.slice(1, -1).replaceAll(quote + quote, quote)
}

/** Whether a query begins here, behind any number of brackets. */
export function beginsQuery(words: readonly SqlWord[], at: number): boolean {
  let first = at
  while (words[first]?.text === '(') first++
  return isWord(words[first], 'SELECT', 'WITH', 'FROM', 'VALUES', 'EXPLAIN')
}

/** The index of the bracket that closes the one at this index, or the number of words where none does. */
export function closingOf(words: readonly SqlWord[], open: number): number {
  const depth = words[open]?.depth ?? 0
  let at = open + 1
  while (at < words.length && (words[at] as SqlWord).depth > depth) at++
  return at
}

import { beginsQuery, identifierOf, isWord, type SqlWord, wordsOf } from './words.ts'

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
function nameBefore(words: readonly SqlWord[], open: number): string | undefined {
  let at = open - 1
  if (isWord(words[at], 'MATERIALIZED')) at--
  if (!isWord(words[at], 'AS')) return undefined
  at--
  if (words[at]?.text === ')') {
    const { depth } = words[at] as SqlWord
    at--
    while (at >= 0 && (words[at] as SqlWord).depth > depth) at--
    at--
  }
  return identifierOf(words[at])
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
  return { text: sql.slice((words[0] as SqlWord).start, final.start), names }
}

/**
 * The query without what its WITH clause defines and nothing uses. Any identifier counts as a use, so that nothing is
 * left out that the engine could look for. The engine analyzes every subquery of the clause, used or not.
 */
export function withoutUnused(sql: string): string {
  const words = wordsOf(sql)
  const final = words.findIndex((word) => word.depth === 0 && isWord(word, 'SELECT', 'FROM'))
  if (!isWord(words[0], 'WITH') || isWord(words[1], 'RECURSIVE') || final < 0) return sql
  const elements = elementsOf(words.slice(1, final))
  const used = new Set<string>()
  const use = (some: readonly SqlWord[]) => {
    for (const word of some) for (const name of identifierParts(word)) used.add(name)
  }
  use(words.slice(final))
  const kept = new Set<WithElement>()
  for (let found = true; found; ) {
    const more = elements.filter((each) => !kept.has(each) && each.names.some((name) => used.has(name)))
    found = more.length > 0
    for (const each of more) {
      kept.add(each)
      use(each.words)
    }
  }
  // An element without a name is something that this does not understand.
  if (kept.size === elements.length || elements.some(({ names }) => names.length === 0)) return sql
  const text = elements
    .filter((each) => kept.has(each))
    .map(({ words: own }) => sql.slice(own[0]?.start, own.at(-1)?.end))
  const rest = sql.slice(words[final]?.start)
  return text.length === 0 ? rest : `WITH\n${text.join(',\n')}\n${rest}`
}

interface WithElement {
  words: readonly SqlWord[]
  /** Names that it can be used by, in lower case. */
  names: readonly string[]
}

function elementsOf(words: readonly SqlWord[]): WithElement[] {
  const elements: SqlWord[][] = [[]]
  for (const word of words) {
    if (word.depth === 0 && word.kind === 'symbol' && word.text === ',') elements.push([])
    else elements.at(-1)?.push(word)
  }
  return elements.map((own) => ({ words: own, names: namesOf(own).map((name) => name.toLowerCase()) }))
}

/** A subquery has the one name; of an expression, the names that it gives to its parts can be used as well. */
function namesOf(words: readonly SqlWord[]): string[] {
  for (const [index, { depth, text }] of words.entries()) {
    const name = depth === 0 && text === '(' ? nameBefore(words, index) : undefined
    if (name !== undefined && beginsQuery(words, index + 1)) return [name]
  }
  return words.flatMap((word, index) => (isWord(words[index - 1], 'AS') && identifierOf(word)) || [])
}

function identifierParts(word: SqlWord): string[] {
  const name = identifierOf(word)?.toLowerCase()
  return name === undefined ? [] : [name, ...name.split('.')]
}

/** Why the brackets of a text do not fit, if they do not, and where. */
export function bracketProblem(
  sql: string,
  maxDepth: number,
): { problem: string; offset: number } | undefined {
  const closing: Record<string, string> = { '(': ')', '[': ']', '{': '}' }
  const open: SqlWord[] = []
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

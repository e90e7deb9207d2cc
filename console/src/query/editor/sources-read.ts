import { sqlTokens } from '../../../../src/shared/sql-tokens.ts'

/** Words and brackets of SQL outside comments and strings. */
export function wordsOf(query: string): string[] {
  const code = [...sqlTokens(query)].map(({ kind, start, end }) => {
    const isOpenName = kind === 'unterminated' && /[`"]/.test(query[start] as string)
    return !isOpenName && /^(?:comment|string|unterminated)$/.test(kind) ? ' ' : query.slice(start, end)
  })
  return code.join('').match(/[\w.]+|[`"][^`"]*[`"]?|[(),]/g) ?? []
}

/**
 * The sources that a query names. Those that its FROM reaches come first, because a WITH may define views that are never
 * used.
 */
export function sourcesRead(query: string, sources: ReadonlySet<string>): string[] {
  const words = wordsOf(query)
  const ends = closings(words)
  const parts = new Map<string, [number, number]>()
  let start = 0
  if (words[0]?.toLowerCase() === 'with') {
    for (let at = 1; at < words.length; at++) {
      const word = (words[at] as string).toLowerCase()
      if (word === 'select') {
        start = at
        break
      }
      if (word !== '(') continue
      const end = ends.get(at) ?? words.length
      if (words[at - 1]?.toLowerCase() === 'as') parts.set(words[at - 2] as string, [at, end])
      at = end
    }
  }
  const found = new Set<string>()
  const seen = new Set<string>()
  const follow = (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      if (!/^(from|join)$/i.test(words[at] as string)) continue
      const name = unquoted(words[at + 1])
      const part = parts.get(name)
      if (sources.has(name)) found.add(name)
      else if (part && !seen.has(name)) {
        seen.add(name)
        follow(...part)
      }
    }
  }
  follow(start, words.length)
  for (const word of words) if (sources.has(word)) found.add(word)
  return [...found]
}

const unquoted = (word: string | undefined) => (word ?? '').replace(/^[`"](.*)[`"]$/, '$1')

/** The names that a query reads rows of. The service decides it exactly. */
export function namesRead(query: string, names: ReadonlySet<string>): string[] {
  const words = wordsOf(query)
  const read = new Set<string>()
  // For each open bracket, whether a comma separates tables.
  const lists = [false]
  for (const [at, word] of words.entries()) {
    const before = words[at - 1] ?? ''
    if (/^(?:from|join|in)$/i.test(before) || (before === ',' && lists.at(-1))) read.add(unquoted(word))
    if (word === '(') lists.push(false)
    else if (word === ')') lists.pop()
    else if (/^(?:from|select|where|prewhere|group|having|order|limit|union|settings)$/i.test(word))
      lists.splice(-1, 1, /^from$/i.test(word))
  }
  return [...read].filter((name) => names.has(name))
}

/** The index of the closing bracket for each opening one. */
function closings(words: readonly string[]): Map<number, number> {
  const ends = new Map<number, number>()
  const open: number[] = []
  for (const [at, word] of words.entries()) {
    if (word === '(') open.push(at)
    else if (word === ')') ends.set(open.pop() ?? -1, at)
  }
  return ends
}

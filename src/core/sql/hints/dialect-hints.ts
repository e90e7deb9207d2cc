import dialects from './dialects.json' with { type: 'json' }

/** Hints by names in lower case. SQL in backticks is tested: x is a number, s is text and a is an array. */
type Hints = Readonly<Record<string, string>>

/** For statements that start with another word, which replaces $. */
export const firstWordHints = byName(dialects.firstWords)
export const functionHints = byName(dialects.functions)
export const tableFunctionHints = byName(dialects.tableFunctions)
/** Types that need more than another name. */
export const typeHints = byName(dialects.otherTypes)
/** Names that stand for a value elsewhere. */
export const valueHints = byName(dialects.values)

/** Functions that read a path from JSON. The hint shows the path that their arguments name. */
export const pathFunctions: ReadonlySet<string> = new Set(dialects.pathFunctions.split(' '))

/** Names of types, each with the one that exists. */
export const types: Hints = dialects.types

/** Functions and clauses that exist, used as elsewhere, by parts of the engine's message and words of the SQL. */
export const messageHints = dialects.messages

/** Words and symbols of other dialects that are a syntax error here, in the order in which they are looked for. */
export const clauses = dialects.clauses.map(({ words, hint }) => ({ words: words.split(' '), hint }))

/** SQL with a syntax of its own, as regular expressions. What the first group matches replaces $1. */
export const patterns = dialects.patterns.map(({ pattern, hint }) => ({
  pattern: new RegExp(pattern, 'iy'),
  hint,
}))

function byName(hints: Hints): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(hints).flatMap(([names, hint]) => names.split(' ').map((name) => [name, hint] as const)),
  )
}

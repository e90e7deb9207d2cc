import { invalidQuery } from '../base/errors.ts'
import { argumentsOf, type SqlNode } from './tree.ts'

/** Functions that compile a pattern, in lower case, by the position of the pattern. */
const patternFunctions: ReadonlyMap<string, number> = new Map([
  ['splitbyregexp', 0] as const,
  ...[
    'match regexp_matches regexp notregexp rlike like notlike ilike notilike',
    'extract extractall extractgroups extractallgroups extractallgroupshorizontal extractallgroupsvertical',
    'regexpextract regexp_extract regexp_substr regexpinstr regexp_instr regexpposition',
    'countmatches countmatchescaseinsensitive',
    'replaceregexpall replaceregexpone regexp_replace regexpreplace',
    'mapcontainskeylike mapcontainsvaluelike mapextractkeylike mapextractvaluelike',
  ].flatMap((names) => names.split(' ').map((name) => [name, 1] as const)),
])

/** Functions whose last argument is a list of patterns. */
const listFunction = /^multi(?:(?:fuzzy)?match|search)/

/** A function that compares each item of one list with each item of another. */
const pairwiseFunction = 'hasall'

const maxPatternLength = 1_000
const maxPatterns = 100

/** Whether a sandbox bounds arguments of a function. */
export function hasBoundedArguments(name: string): boolean {
  return patternPosition(name) !== undefined || name.toLowerCase() === pairwiseFunction
}

/** Position of a function's pattern among its arguments, under any of its names; -1: the last one. Undefined: it has none. */
export function patternPosition(name: string): number | undefined {
  const lower = name.toLowerCase()
  return listFunction.test(lower) ? -1 : patternFunctions.get(lower)
}

/**
 * Refuses patterns that cannot be bounded: the engine compiles them without a look at the time limit. For SQL that callers send,
 * which has no parameters. Those who save SQL, or run it with `POST /api/sql`, belong to the team that runs the service: they
 * can also use functions that the engine cannot stop.
 */
export function checkPatterns(nodes: readonly SqlNode[]): void {
  for (const node of nodes) {
    if (node.kind !== 'Function' || node.parent?.kind === 'TableExpression') continue
    if (node.name.toLowerCase() === pairwiseFunction) checkLists(node)
    const position = patternPosition(node.name)
    const pattern = position === undefined ? undefined : argumentsOf(node).at(position)
    if (!pattern) continue
    const isList = position === -1
    if (isBounded(isList && pattern.name === 'array' ? argumentsOf(pattern) : [pattern])) continue
    throw invalidQuery(
      `The pattern of ${node.name} must be text that is written in the SQL, at most ${maxPatternLength} characters${isList ? ` and ${maxPatterns} patterns` : ''}: in SQL that callers send, the engine could not stop it at the time limit.`,
    )
  }
}

/** With one short list, the work grows only with the other. */
function checkLists(node: SqlNode): void {
  const isShort = (list: SqlNode) => isBounded(list.name === 'array' ? argumentsOf(list) : [list])
  if (argumentsOf(node).some(isShort)) return
  throw invalidQuery(
    `One list of ${node.name} must be written in the SQL, with at most ${maxPatterns} items and ${maxPatternLength} characters: in SQL that callers send, the engine could not stop it at the time limit.`,
  )
}

function isBounded(items: readonly SqlNode[]): boolean {
  const length = items.reduce((sum, item) => sum + longestText(item), 0)
  return length <= maxPatternLength && items.length <= maxPatterns
}

/** Functions whose result is at most as long as their arguments together. A cast can pad a text to millions of bytes. */
const shorteningFunctions = new Set(
  'coalesce concat if ifnull left lower lowerutf8 ltrim multiif nullif right rtrim substring tostring trim trimboth upper upperutf8'.split(
    ' ',
  ),
)

/** Length that a text which is made of literals cannot exceed. */
function longestText(node: SqlNode): number {
  if (node.kind === 'Literal') return node.name.length
  // A match without an entry is how a pattern is checked before it is used.
  if (node.kind === 'Function' && node.name.toLowerCase() === 'match') return 0
  if (node.kind !== 'Function' || !shorteningFunctions.has(node.name.toLowerCase())) return Infinity
  return argumentsOf(node).reduce((sum, argument) => sum + longestText(argument), 0)
}

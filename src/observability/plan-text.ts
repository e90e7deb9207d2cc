/** What stands before the text of a line: the tree that the engine draws. */
const tree = /^[\s│├└─]*/

/** A step, with the table that it reads or the part of the query that it is. */
const step = /^[A-Z]\w*(?: \((?:wellhead\.\w+|[^'"\d]+)\))?$/

/** What is said of a step without any value of the query. */
const facts = [
  /^Read type: \w+$/,
  /^Parts: \d+ \| Granules: \d+$/,
  /^(?:Parts|Granules): \d+\/\d+$/,
  /^Ranges: \d+$/,
  /^Type: \w+ \| Strictness: \w+ \| Algorithm: [\w()]+$/,
  /^(?:Indexes|Keys):$/,
  /^Min-Max$/,
  /^Name: \w+$/,
  /^Description: \w+ GRANULARITY \d+$/,
  /^Search Algorithm: [a-z ]+$/,
]

/** A column of a key, or what the key makes of it. */
const keyColumn = /^[a-z_]\w*(?:\([a-z_]\w*\))?$/

/**
 * A plan as the engine writes it, without expressions: those hold values of the call. Kept is what is known to hold none,
 * so that a line of a newer engine is left out before somebody has looked at it.
 */
export function withoutValues(plan: string): string {
  const kept: string[] = []
  let keysAt = Number.POSITIVE_INFINITY
  for (const line of plan.split('\n')) {
    const depth = (tree.exec(line)?.[0] ?? '').length
    const text = line.slice(depth).trimEnd()
    if (depth <= keysAt) keysAt = Number.POSITIVE_INFINITY
    const isKey = depth > keysAt && keyColumn.test(text)
    if (isKey || step.test(text) || facts.some((fact) => fact.test(text))) kept.push(line)
    if (text === 'Keys:') keysAt = depth
  }
  return kept.join('\n')
}

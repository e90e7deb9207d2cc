/** Lines that say what the engine does, and on how much of what. */
const steps = /^[A-Z]\w*(?: \((?:[^'\d]|\d(?=\w*\.)|_\d)*\))?$/
const facts =
  /^(?:Indexes:|(?:MinMax|Partition|PrimaryKey|Skip|Statistics)$|Name: \w+$|Description: \w+ GRANULARITY \d+$|(?:Parts|Granules): \d+\/\d+$|Search Algorithm: [\w ]+$|Keys: *$)/
/** A column of a key: letters in a line of its own. */
const column = /^[A-Za-z_]\w*$/

/**
 * A plan as the engine writes it, without the conditions: those hold values of the call. Kept is what is known to hold
 * none, so that a line of a newer engine is left out before somebody has looked at it.
 */
export function withoutValues(plan: string): string {
  const lines = plan.split('\n')
  const kept: string[] = []
  let keysDeeperThan = Number.POSITIVE_INFINITY
  for (const line of lines) {
    const text = line.trim()
    const depth = line.length - line.trimStart().length
    if (depth <= keysDeeperThan) keysDeeperThan = Number.POSITIVE_INFINITY
    const isKey = depth > keysDeeperThan && column.test(text)
    if (steps.test(text) || facts.test(text) || isKey) kept.push(line)
    if (text.startsWith('Keys:')) keysDeeperThan = depth
  }
  return kept.join('\n')
}

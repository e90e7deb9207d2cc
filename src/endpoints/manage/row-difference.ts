/** How the rows of one result differ from those of another. A changed row is a removed and an added one. */
export interface RowDifference {
  added: number
  removed: number
  reordered: boolean
  examples: { before: string | null; after: string | null }[]
}

const maxExamples = 5

export function isSame({ added, removed, reordered }: RowDifference): boolean {
  return added + removed === 0 && !reordered
}

/** Compares rows in NDJSON as text, because parsing would round long numbers. */
export function rowDifference(before: Buffer, after: Buffer): RowDifference {
  if (before.equals(after)) return { added: 0, removed: 0, reordered: false, examples: [] }
  const [was, is] = [linesOf(before), linesOf(after)]
  const [left, right] = [without(was, is).map(withoutNoise), without(is, was).map(withoutNoise)]
  const [removed, added] = [without(left, right), without(right, left)]
  const examples = Array.from({ length: maxExamples }, (_, index) => [
    ...removed.slice(index, index + 1).map((line) => ({ before: line, after: null })),
    ...added.slice(index, index + 1).map((line) => ({ before: null, after: line })),
  ])
  const isMoved = (line: string, index: number) =>
    line !== is[index] && withoutNoise(line) !== withoutNoise(is[index] ?? '')
  return {
    added: added.length,
    removed: removed.length,
    reordered: removed.length + added.length === 0 && was.some(isMoved),
    examples: examples.flat().slice(0, maxExamples),
  }
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The last digits of a sum of floating-point numbers depend on the order in which threads add them. */
const significantDigits = 14

function withoutNoise(line: string): string {
  return line.replace(stringOrNumber, (token) => {
    const isFraction = !token.startsWith('"') && /[.eE]/.test(token)
    return isFraction ? String(Number(Number(token).toPrecision(significantDigits))) : token
  })
}

function linesOf(body: Buffer): string[] {
  return body.toString().split('\n').slice(0, -1)
}

/** The lines without those of the other list, each of which counts once. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1)
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0
    counts.set(line, count - 1)
    return count <= 0
  })
}

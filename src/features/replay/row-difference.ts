import { setImmediate as giveWay } from 'node:timers/promises'

/** How the rows of one result differ from those of another. A changed row is a removed and an added one. */
export interface RowDifference {
  added: number
  removed: number
  reordered: boolean
  examples: { before: string | null; after: string | null }[]
}

const maxExamples = 5
const charactersPerTurn = 200_000

export function isSame({ added, removed, reordered }: RowDifference): boolean {
  return added + removed === 0 && !reordered
}

/** Compares rows in NDJSON as text, because parsing would round long numbers. */
export async function rowDifference(before: Buffer, after: Buffer): Promise<RowDifference> {
  if (before.equals(after)) return { added: 0, removed: 0, reordered: false, examples: [] }
  const [was, is] = [await linesOf(before), await linesOf(after)]
  const left = await without(was, is, withoutNoise)
  const right = await without(is, was, withoutNoise)
  const [removed, added] = [await without(left, right), await without(right, left)]
  const examples = Array.from({ length: maxExamples }, (_, index) => [
    ...removed.slice(index, index + 1).map((line) => ({ before: line, after: null })),
    ...added.slice(index, index + 1).map((line) => ({ before: null, after: line })),
  ])
  let reordered = false
  if (removed.length + added.length === 0) {
    await inTurns(was, (line, index) => {
      reordered ||= line !== is[index] && withoutNoise(line) !== withoutNoise(is[index] ?? '')
    })
  }
  return {
    added: added.length,
    removed: removed.length,
    reordered,
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

async function linesOf(body: Buffer): Promise<string[]> {
  await giveWay()
  return body.toString().split('\n').slice(0, -1)
}

/** The lines without those of the other list, each of which counts once. */
async function without(
  lines: readonly string[],
  others: readonly string[],
  change = (line: string) => line,
): Promise<string[]> {
  const counts = new Map<string, number>()
  const left: string[] = []
  await inTurns(others, (line) => counts.set(line, (counts.get(line) ?? 0) + 1))
  await inTurns(lines, (line) => {
    const count = counts.get(line) ?? 0
    counts.set(line, count - 1)
    if (count <= 0) left.push(change(line))
  })
  return left
}

/** Serves requests in between, so that a large result does not delay them. Short rows take time as well. */
async function inTurns(lines: readonly string[], work: (line: string, index: number) => void): Promise<void> {
  let characters = 0
  for (const [index, line] of lines.entries()) {
    characters += 100 + line.length
    if (characters > charactersPerTurn) {
      characters = 0
      await giveWay()
    }
    work(line, index)
  }
}

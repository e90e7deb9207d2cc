/** The engine writes this file of a part last. If it is empty, so may be the others. */
export const checksumsFile = 'checksums.txt'

/** The range of inserts in a part, which its name states. */
export interface Part {
  partition: string
  first: number
  last: number
  /** Number of merges behind it; 0 for a part that holds a single insert. */
  level: number
}

export function parsePart(name: string): Part | undefined {
  const [, partition, first, last, level] = /^([^_]+)_(\d+)_(\d+)_(\d+)(?:_\d+)?$/.exec(name) ?? []
  if (partition === undefined) return undefined
  return { partition, first: Number(first), last: Number(last), level: Number(level) }
}

/** Whether one of these parts holds the rows of the named one: itself, or what it was merged into. */
export function isCovered(name: string, parts: readonly Part[]): boolean {
  const part = parsePart(name)
  if (part === undefined) return true
  return parts.some(
    ({ partition, first, last }) => partition === part.partition && first <= part.first && last >= part.last,
  )
}

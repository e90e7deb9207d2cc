import { distance } from 'fastest-levenshtein'

/** Comparing longer names would take long. */
const maxLength = 200

/** The candidate that a mistyped name most likely means. Letter case does not count. */
export function closestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined
  const typed = name.toLowerCase()
  let closest: { name: string; edits: number } | undefined
  for (const candidate of candidates) {
    const edits = distance(typed, candidate.toLowerCase())
    if (edits < (closest?.edits ?? Infinity)) closest = { name: candidate, edits }
  }
  const maxEdits = Math.max(1, Math.floor(Math.min(typed.length, 18) / 3))
  // Names without a letter in common are as many edits apart as they are long.
  if (!closest || closest.edits >= Math.max(typed.length, closest.name.length)) return undefined
  return closest.edits <= maxEdits ? closest.name : undefined
}

import { distance } from 'fastest-levenshtein'

/** Comparing longer names would take long. */
const maxLength = 200

/** The candidate that a mistyped name most likely means. Letter case does not count. */
export function closestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined
  const typed = name.toLowerCase()
  const all = [...candidates]
  let closest: { name: string; edits: number } | undefined
  for (const candidate of all) {
    const edits = distance(typed, candidate.toLowerCase())
    if (edits < (closest?.edits ?? Infinity)) closest = { name: candidate, edits }
  }
  const maxEdits = Math.max(1, Math.floor(Math.min(typed.length, 18) / 3))
  // Names without a letter in common are as many edits apart as they are long.
  const isSimilar = ({ name, edits }: { name: string; edits: number }) =>
    edits <= maxEdits && edits < Math.max(typed.length, name.length)
  if (closest && isSimilar(closest)) return closest.name
  // @form for @from: two letters that changed places are two edits.
  const letters = sorted(typed)
  const hasSameLetters = (other: string) =>
    other.length === typed.length && sorted(other.toLowerCase()) === letters
  return typed.length < 3 ? undefined : all.find(hasSameLetters)
}

export function didYouMean(name: string | undefined): string {
  return name === undefined ? '' : ` Did you mean ${name}?`
}

const sorted = (word: string) => [...word].sort().join('')

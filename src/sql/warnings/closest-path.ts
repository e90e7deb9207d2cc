import { closestName } from '../../base/text/closest-name.ts'

/** The path that a mistyped one most likely means. */
export function closestPath(typed: string, paths: readonly string[]): string | undefined {
  const whole = closestName(typed, paths)
  if (whole !== undefined && isSimilar(typed, whole)) return whole
  const corrected = correctedKeys(typed.split('.'), paths)
  if (corrected !== undefined) return corrected
  // The right key in the wrong place, or one that starts with it if nothing is known of its place.
  const key = lastKey(typed)
  const lastKeys = new Set(paths.map(lastKey))
  const meant = lastKeys.has(key) ? key : key === typed ? longerName(key, lastKeys) : undefined
  const [inOtherPlace, ...more] = paths.filter((path) => lastKey(path) === meant)
  return more.length === 0 ? inOtherPlace : undefined
}

/** Whether paths are also similar without the keys that they start with in common. */
function isSimilar(one: string, other: string): boolean {
  const [keys, otherKeys] = [one.split('.'), other.split('.')]
  let common = 0
  while (common < keys.length - 1 && common < otherKeys.length - 1 && keys[common] === otherKeys[common])
    common++
  const rest = (all: readonly string[]) => all.slice(common).join('.')
  return closestName(rest(keys), [rest(otherKeys)]) !== undefined
}

/** Corrects one key after the other, each among those that follow the corrected ones before it. */
function correctedKeys(keys: readonly string[], paths: readonly string[]): string | undefined {
  let corrected = ''
  for (const key of keys) {
    const following = paths.filter((path) => path.startsWith(corrected))
    const candidates = new Set(following.map((path) => path.slice(corrected.length).split('.')[0] as string))
    const found = candidates.has(key) ? key : (closestName(key, candidates) ?? longerName(key, candidates))
    if (found === undefined) return undefined
    corrected += `${found}.`
  }
  return corrected.slice(0, -1)
}

/** status for status_code, if only one name is so similar. */
function longerName(key: string, candidates: Iterable<string>): string | undefined {
  if (key.length < 3) return undefined
  const similar = [...candidates].filter(
    (name) => name.startsWith(key) || (name.length > 2 && key.startsWith(name)),
  )
  return similar.length === 1 ? similar[0] : undefined
}

function lastKey(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1)
}

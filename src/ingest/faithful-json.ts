import { isSafeNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json'

/** A number that a double cannot hold is kept as an integer of 64 bits, or marked as one that cannot be kept. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // The slow parser is for the few bodies in which the fast one may have lost something.
  if (!isUnsafe(value, 0)) return value
  return parseLossless(text, undefined, {
    parseNumber: (digits) => {
      if (isSafeNumber(digits) || !/^-?\d+$/.test(digits)) return Number(digits)
      const integer = BigInt(digits)
      return integer >= -(2n ** 63n) && integer < 2n ** 64n ? integer : Number.NaN
    },
    // As the native parser does it.
    onDuplicateKey: ({ newValue }) => newValue,
  })
}

/** Deeper than any entry that is stored; from here on the stack is not trusted. */
const maxRecursion = 100

function isUnsafe(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return isUnsafeNumber(value)
  if (typeof value !== 'object' || value === null) return false
  if (depth > maxRecursion) return holdsUnsafeNumber(value)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (isUnsafe(value[i], depth + 1)) return true
    return false
  }
  for (const key in value) if (isUnsafe((value as Record<string, unknown>)[key], depth + 1)) return true
  return false
}

/** Without recursion: a body may be nested deeper than the stack. */
function holdsUnsafeNumber(value: unknown): boolean {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'number' && isUnsafeNumber(next)) return true
    if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) open.push(member)
  }
  return false
}

function isUnsafeNumber(value: number): boolean {
  return value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER
}

/** The native one cannot write integers beyond a double, and is much faster for all the others. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return stringifyLossless(value) ?? 'null'
  }
}

import { createHash } from 'node:crypto'

export type Random = ReturnType<typeof randomOf>

/** Random numbers that are the same for the same seed. Mulberry32: small and fast. */
export function randomOf(...seed: readonly (string | number)[]) {
  let state = createHash('sha256').update(seed.join('\0')).digest().readUInt32LE(0)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** From 0 to below 1. */
    next,
    whole: (min: number, max: number) => min + Math.floor(next() * (max - min + 1)),
    chance: (probability: number) => next() < probability,
    pick: <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T,
    /** Picks by weight: `[value, weight]`. */
    weighted: <T>(values: readonly (readonly [T, number])[]): T => {
      let rest = next() * values.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [value, weight] of values) {
        rest -= weight
        if (rest < 0) return value
      }
      return values.at(-1)?.[0] as T
    },
    /** A log-normal distribution, as durations have: most near the median, few far above. */
    longTail: (median: number, spread: number) => {
      // Box-Muller transform; 1 - x avoids the logarithm of zero.
      const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
      return median * Math.exp(spread * normal)
    },
    hex: (digits: number) => {
      let text = ''
      while (text.length < digits) text += (next() * 2 ** 32).toString(16).padStart(8, '0')
      return text.slice(0, digits)
    },
  }
}

export function uuidOf(random: Random): string {
  const hex = random.hex(32)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

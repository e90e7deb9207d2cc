import { spreadOf } from './figures.mjs'

/**
 * All sides in each round, in an order that turns around from one to the next, so that what changes on the machine
 * meanwhile meets all of them. The first round warms them and is not counted;
 * nor is what gives nothing, so that a slow side may sit out the last rounds.
 */
export async function alternate(sides, rounds) {
  const names = Object.keys(sides)
  const results = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const result = await sides[name](round)
      if (round > 0 && result !== undefined) results[name].push(result)
    }
  }
  return results
}

/** How long each of so many calls took, one after the other. */
export async function timesOf(calls, work) {
  const times = []
  for (let i = 0; i < calls; i++) {
    const since = performance.now()
    await work(i)
    times.push(performance.now() - since)
  }
  return times
}

/** One side over another, round by round: what both had beside them is then in both. */
export function ratioOf(one, other) {
  const rounds = Math.min(one.length, other.length)
  return spreadOf(one.slice(0, rounds).map((value, round) => value / other[round]))
}

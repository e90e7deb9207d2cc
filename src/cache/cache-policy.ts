/** How long results of an endpoint live, as its definition says. */
export interface CachePolicy {
  cacheSeconds: number
  /** Null: nothing is refreshed unless somebody asks. */
  warmSeconds: number | null
}

/** A warmed result that is older than its life, but younger than this many lives, is served while renewed. */
const staleLives = 2

/** A result that cannot be renewed is served until it is this many lives old. */
const fallbackLives = 10

/** Without warming the first caller in the last tenth of the life has the result renewed. */
const renewAfterShare = 0.9

/** A refresh comes up to this share of its interval early, each key at a place of its own. */
const spreadShare = 0.1

const firstRetryMs = 1000
const longestRetryMs = 60_000

export function lifeMs({ cacheSeconds }: CachePolicy): number {
  return cacheSeconds * 1000
}

/** Until this age a result is served although it is no longer fresh, without anything having failed. */
export function staleLifeMs(policy: CachePolicy): number {
  return policy.warmSeconds === null ? lifeMs(policy) : staleLives * lifeMs(policy)
}

/** At this age a result is gone, whatever happens. */
export function lastLifeMs(policy: CachePolicy): number {
  return fallbackLives * lifeMs(policy)
}

/** The age at which a result is renewed. */
export function renewalAgeMs(policy: CachePolicy, key: string): number {
  if (policy.warmSeconds === null) return renewAfterShare * lifeMs(policy)
  return policy.warmSeconds * 1000 * spreadOf(key)
}

/** From this age on a renewal no longer gives way to callers: half of the time that it had is gone. */
export function urgentAgeMs(policy: CachePolicy, key: string): number {
  return (renewalAgeMs(policy, key) + lifeMs(policy)) / 2
}

/** How long to leave a key alone whose renewal failed so many times in a row. */
export function retryDelayMs(policy: CachePolicy, key: string, failures: number): number {
  const interval = (policy.warmSeconds ?? policy.cacheSeconds) * 1000
  const longest = Math.max(firstRetryMs, Math.min(longestRetryMs, interval))
  return Math.min(longest, firstRetryMs * 2 ** (failures - 1)) * spreadOf(key)
}

/** The same place for the same key, in (0.9, 1]; the key is a hash, so its first digits are as good as chance. */
function spreadOf(key: string): number {
  return 1 - (spreadShare * Number.parseInt(key.slice(0, 6), 16)) / 2 ** 24
}

/** What the header `Cache-Status` (RFC 9211) says of a result. */
export type CacheOutcome = 'hit' | 'stale' | 'joined' | 'miss' | 'not cached'

export function cacheOutcome(status: string): CacheOutcome {
  if (!/;\s*(?:hit|fwd=(?!bypass))/.test(status)) return 'not cached'
  // Also if a refresh was tried and failed.
  if (/detail="?stale|hit; ttl=-/.test(status)) return 'stale'
  if (/;\s*hit/.test(status)) return 'hit'
  return /collapsed/.test(status) ? 'joined' : 'miss'
}

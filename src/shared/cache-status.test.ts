import { expect, test } from 'vitest'
import { cacheOutcome } from './cache-status.ts'

test.each([
  ['Wellhead; hit; ttl=12', 'hit'],
  ['Wellhead; hit; ttl=-3; detail=stale', 'stale'],
  ['Wellhead; hit; ttl=-3; detail="stale: query_timeout"', 'stale'],
  ['Wellhead; fwd=stale; fwd-status=503; ttl=-12; detail="stale: engine_unavailable"', 'stale'],
  ['Wellhead; fwd=stale; stored; ttl=60', 'miss'],
  ['Wellhead; fwd=uri-miss; stored; ttl=60; collapsed', 'joined'],
  ['Wellhead; fwd=bypass', 'not cached'],
  ['', 'not cached'],
] as const)('%s is "%s"', (status, outcome) => {
  expect(cacheOutcome(status)).toBe(outcome)
})

import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

const randomBytes = 16
const pool = Buffer.alloc(256 * randomBytes)
let used = pool.length
let lastMsecs = 0
let seq = 0

/**
 * A UUID of version 7, larger than the one before it with the same time. Random bytes come from the system for many at once: each
 * request for them takes longer than the rest.
 */
export function uuidAt(msecs: number): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.subarray(used, used + randomBytes)
  used += randomBytes
  // Half of the range is left to count on.
  seq = lastMsecs === msecs ? seq + 1 : random.readUInt32BE() >>> 1
  lastMsecs = msecs
  return v7({ msecs, seq, random })
}

import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

const randomBytes = 16
const pool = Buffer.alloc(256 * randomBytes)
let used = pool.length

/** A UUID of version 7. Random bytes come from the system for many at once: each request for them takes longer than the rest. */
export function uuidAt(msecs: number): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.subarray(used, used + randomBytes)
  used += randomBytes
  return v7({ msecs, random })
}

import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'

let random = randomBytes(16)
let lastMsecs = 0
let seq = 0

/** A UUID of version 7, larger than the one before it with the same time. Random bytes take longer than the rest, so both share them. */
export function uuidAt(msecs: number): string {
  if (msecs !== lastMsecs) {
    lastMsecs = msecs
    random = randomBytes(16)
    // Half of the range is left to count on.
    seq = random.readUInt32BE() >>> 1
  }
  return v7({ msecs, seq: seq++, random })
}

import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'

/**
 * Makes UUIDs of version 7, each larger than the one before. Each request has a maker of its own: what others send meanwhile does not
 * show in its ids.
 */
export function uuidsAt(msecs: number): () => string {
  // Random bytes take longer than the rest, so all share them.
  const random = randomBytes(16)
  // Half of the range is left to count on.
  let seq = random.readUInt32BE() >>> 1
  return () => v7({ msecs, seq: seq++, random })
}

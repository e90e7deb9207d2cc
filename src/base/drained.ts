import type { Writable } from 'node:stream'

/** Settles when a stream takes more, or nothing any more. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      stream.off('drain', go).off('close', go)
      resolve()
    }
    stream.once('drain', go).once('close', go)
  })
}

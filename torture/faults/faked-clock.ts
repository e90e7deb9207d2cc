import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Set by the scripts that run scenarios, which install it if they can. */
const library = process.env.FAKETIME_LIBRARY

/** Returns what is missing to set clocks. */
export function needsForFakedClock(): string | undefined {
  return library ? undefined : 'needs libfaketime (Debian: apt-get install faketime)'
}

/** Sets the wall clock of a running process. Its monotonic clock is not changed. */
export class FakedClock {
  readonly #file: string
  #offsetSeconds = 0

  constructor(directory: string) {
    this.#file = join(directory, 'clock')
    this.set(0)
  }

  get environment(): Record<string, string> {
    return {
      LD_PRELOAD: library as string,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    }
  }

  set(offsetSeconds: number): void {
    this.#offsetSeconds = offsetSeconds
    writeFileSync(this.#file, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}s\n`)
  }

  now(): number {
    return Date.now() + this.#offsetSeconds * 1000
  }
}

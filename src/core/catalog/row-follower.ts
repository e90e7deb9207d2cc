import type { PlacedRecord } from './catalog-log.ts'

/** Gets the position after the last row, and the last rows if they are known. */
export type RowsListener = (end: number, last: readonly PlacedRecord[]) => Promise<void>

/** Own changes that are held for the listener. It reads more of them from the log. */
const maxWritten = 100

/** Calls a listener for all rows of the catalog, in their order, beside further changes. */
export class RowFollower {
  #listener: RowsListener | undefined
  /** Own changes that the listener has not seen yet. */
  #written: PlacedRecord[] = []
  #isBehind = false
  /** The end of the queue of calls. */
  #last: Promise<void> = Promise.resolve()

  /** Whether the listener failed. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  listen(listener: RowsListener): void {
    this.#listener = listener
  }

  wrote(records: readonly PlacedRecord[]): void {
    if (this.#written.length + records.length > maxWritten) this.#written = []
    if (this.#listener) this.#written.push(...records)
  }

  /** Rows that are written while a call runs share the next one. */
  follow(end: () => number): Promise<void> {
    const run = this.#last.then(async () => {
      const last = this.#written
      this.#written = []
      await this.#listener?.(end(), last)
      this.#isBehind = false
    })
    this.#last = run.catch(() => {
      this.#isBehind = true
    })
    return run
  }

  settled(): Promise<void> {
    return this.#last
  }
}

/** Result of a scenario. It holds if there are no faults. */
export interface Verdict {
  /** Printed in this order. */
  counts: Record<string, number>
  faults: string[]
}

/** A resource that several scenarios use one after the other. */
export interface SharedResource {
  close(): Promise<void>
}

export interface TortureRun {
  seed: number
  /** Numbers from 0 to 1 that depend only on the seed. */
  random: () => number
  /** Returns `long` in the long form and `short` in the short form, which `npm test` runs. */
  size(long: number, short: number): number
  /** Like `size`, unless `--cycles` is set. */
  cycles(long: number, short: number): number
  /** Time limit of a scenario that runs by time; `until` is its end as a `performance.now()`. */
  minutes: number
  until: number
  /** Set by `--match`: a scenario that goes through a list only takes the items that match. */
  match?: RegExp | undefined
  say(line: string): void
  /** Scratch directory of the run, kept if there are faults. */
  directory: string
  /**
   * Opens a resource at its first use; the scenarios of a short form share it. Its directory is kept if there are faults.
   * Scenarios must not close it.
   */
  share<T extends SharedResource>(name: string, open: (directory: string) => Promise<T>): Promise<T>
}

export interface Scenario {
  /** Name on the command line. */
  name: string
  /** What must hold, as a clause. */
  title: string
  /** Returns what is missing if the scenario cannot run here. */
  needs?(): string | undefined
  /** An exception counts as a fault. */
  run(run: TortureRun): Promise<Verdict>
}

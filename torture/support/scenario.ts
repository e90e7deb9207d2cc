/** What a scenario did, and what it found wrong. It holds when there are no faults. */
export interface Verdict {
  /** What was done and seen, in the order in which a reader wants it. */
  counts: Record<string, number>
  faults: string[]
}

/** Something that several scenarios may use, one after the other. */
export interface Shared {
  close(): Promise<void>
}

/** One run of one scenario. */
export interface TortureRun {
  seed: number
  /** From 0 to 1, the same for the same seed. */
  random: () => number
  /** The number for the form that is run: the long one, or the short one of `npm test`. */
  size(long: number, short: number): number
  /** As `size`, for what `--cycles` can set. */
  cycles(long: number, short: number): number
  /** The budget of a scenario that runs by time, and the `performance.now()` at which it is used up. */
  minutes: number
  until: number
  /** Limits a scenario that goes through a list to what matches `--match`. */
  match?: RegExp | undefined
  say(line: string): void
  /** The run's own directory, which stays when there are faults. */
  directory: string
  /**
   * What is opened under this name, which is opened once for all scenarios of a short form. Its directory stays when
   * there are faults. Nobody but the frame closes it.
   */
  share<T extends Shared>(name: string, open: (directory: string) => Promise<T>): Promise<T>
}

export interface Scenario {
  /** Its file in `torture/`, and its name on the command line. */
  name: string
  /** What must hold, as a sentence. */
  title: string
  /** Why it cannot run here, if it cannot. */
  needs?(): string | undefined
  /** Whatever it throws is a fault. */
  run(run: TortureRun): Promise<Verdict>
}

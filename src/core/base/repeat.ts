import type { Timers } from './clock.ts'

interface Repetition {
  time: Pick<Timers, 'after'>
  everyMs: number
  /** Whether it also runs now. */
  atOnce?: boolean
  /** Gets whether it has been stopped, for work of many steps. */
  work: (isStopped: () => boolean) => Promise<void>
  /** Called for the first of several failures in a row. */
  onFailure: (error: unknown) => void
}

/** Runs work in the background, with a pause after each run. Resolves `stop` when it does not run anymore. */
export function repeat({ time, everyMs, atOnce = false, work, onFailure }: Repetition) {
  let isStopped = false
  let isFailing = false
  let cancel = () => {}
  let running = Promise.resolve()
  const later = () => {
    if (!isStopped) cancel = time.after(everyMs, run)
  }
  const run = () => {
    running = work(() => isStopped)
      .then(
        () => {
          isFailing = false
        },
        (error) => {
          if (!isFailing) onFailure(error)
          isFailing = true
        },
      )
      .finally(later)
  }
  if (atOnce) run()
  else later()
  return {
    async stop(): Promise<void> {
      isStopped = true
      cancel()
      await running
    },
  }
}

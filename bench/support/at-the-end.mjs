/** A run that is broken off must not leave gigabytes or a server behind. */
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

/** Registers what has to be done however the run ends, and returns what does it earlier. */
export function atTheEnd(work) {
  process.once('exit', work)
  return () => {
    process.off('exit', work)
    work()
  }
}

/** A run that is broken off must not leave gigabytes or a server behind. */
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const works = new Set()

// What was started last ends first: a directory can be removed when nobody writes to it.
process.once('exit', () => {
  for (const work of [...works].reverse()) {
    try {
      work()
    } catch (error) {
      console.error(error.message)
    }
  }
})

/** Registers what has to be done however the run ends, and returns what does it earlier. */
export function atTheEnd(work) {
  works.add(work)
  return () => {
    works.delete(work)
    work()
  }
}

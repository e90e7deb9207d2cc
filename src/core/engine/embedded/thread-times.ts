import { readFileSync } from 'node:fs'

/** Linux counts processor time in units of this length, on every architecture. */
const tickMs = 10

/** The processor time that each thread of a process has used, by its id. Undefined where the system does not tell. */
export function threadTimes(pid: number, threadIds: readonly string[]): Map<string, number> | undefined {
  const times = new Map<string, number>()
  for (const id of threadIds) {
    try {
      const text = readFileSync(`/proc/${pid}/task/${id}/stat`, 'latin1')
      // The name of the thread, in brackets, can contain anything.
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      times.set(id, (Number(fields[11]) + Number(fields[12])) * tickMs)
    } catch {
      // The thread has ended.
    }
  }
  return times.size > 0 ? times : undefined
}

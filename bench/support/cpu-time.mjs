import { readFileSync } from 'node:fs'

const ticksPerSecond = 100

/** Milliseconds of CPU that a process has used, in steps of ten; undefined where the system does not tell. */
export function cpuMillisOf(pid) {
  try {
    // The name may hold spaces and brackets; what follows its last bracket does not.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
  } catch {
    return undefined
  }
}

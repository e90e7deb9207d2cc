/** What the system's own tables tell of processes. Only Linux has them. */
import { readFileSync } from 'node:fs'

const ticksPerSecond = 100

/** Processor time that all threads of a process have used. */
export function cpuMs(pid) {
  return ticksOf(pid, 11)
}

/** Processor time of all processes that this one started and that have ended. */
export function endedCpuMs() {
  return ticksOf('self', 13)
}

/** User and system time, in two fields of the table. */
function ticksOf(pid, field) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program may have spaces and brackets; what follows its last bracket has not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[field]) + Number(fields[field + 1])) * 1000) / ticksPerSecond
}

/** Memory of a process; what it shares with others is divided among them. */
export function proportionalBytes(pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)[1]) * 1024
}

/** A process and all that it started, and those started. */
export function familyOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/)
  return [pid, ...children.filter(Boolean).flatMap((child) => familyOf(Number(child)))]
}

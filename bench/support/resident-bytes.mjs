import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Memory that a process really has. */
export function residentBytes(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024
  } catch {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString()) * 1024
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isLocked, ownerOf, whenUnlocked } from './directory-lock.ts'

let directory: string
let status: string
let inode: bigint
let device: string

const hex = (value: bigint) => value.toString(16).padStart(2, '0')

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wellhead-lock-'))
  status = join(directory, 'status')
  writeFileSync(status, 'PID: 999999999\n')
  const { ino, dev } = statSync(status, { bigint: true })
  inode = ino
  device = `${hex(dev >> 8n)}:${hex(dev & 0xffn)}`
})
afterEach(() => rmSync(directory, { recursive: true }))

/** The decision if the system lists these locks. */
function isLockedWith(...lines: string[]): boolean {
  const locks = join(directory, 'locks')
  writeFileSync(locks, lines.map((line, i) => `${i + 1}: ${line}\n`).join(''))
  return isLocked(status, locks)
}

const flock = (pid: number, place: string) => `FLOCK  ADVISORY  WRITE ${pid} ${place} 0 EOF`

function withOpenFile<T>(work: () => T): T {
  const file = openSync(status, 'r')
  try {
    return work()
  } finally {
    closeSync(file)
  }
}

describe('a data directory', () => {
  test('is in use if its inode is locked on its device', () => {
    expect(isLockedWith(flock(1, 'ff:7f:12'), flock(1, `${device}:${inode}`))).toBe(true)
  })

  test('is not in use if the same inode is locked on another device', () => {
    expect(isLockedWith(flock(process.pid, `ff:7f:${inode}`))).toBe(false)
    expect(isLockedWith(flock(999_999_999, `ff:7f:${inode}`))).toBe(false)
  })

  test('is in use if the owner of such a lock has its file open, as on btrfs', () => {
    expect(withOpenFile(() => isLockedWith(flock(process.pid, `ff:7f:${inode}`)))).toBe(true)
  })

  test('is in use if the process named in its file has it open, as on overlayfs', async () => {
    const holder = spawn('sh', ['-c', 'exec 3<status; echo open; read wait'], { cwd: directory })
    const ended = once(holder, 'exit')
    await once(holder.stdout, 'data')
    writeFileSync(status, `PID: ${holder.pid}\n`)
    expect(isLockedWith(flock(1, 'ff:7f:12'))).toBe(true)
    holder.stdin.end()
    await ended
    expect(isLockedWith(flock(1, 'ff:7f:12'))).toBe(false)
  })

  test('is not in use if an unrelated process has the number named in its file', () => {
    writeFileSync(status, `PID: ${process.ppid}\n`)
    expect(isLockedWith(flock(1, 'ff:7f:12'))).toBe(false)
  })

  test('is not in use if a process waits for the lock, or if a longer inode number is locked', () => {
    expect(isLockedWith(`-> ${flock(1, `${device}:${inode}`)}`, flock(1, `${device}:1${inode}`))).toBe(false)
    expect(isLocked(join(directory, 'missing'))).toBe(false)
  })

  test('is in use as long as a process holds the lock', async () => {
    expect(isLocked(status)).toBe(false)
    const holder = spawn('flock', ['-n', status, 'sh', '-c', 'echo locked; read wait'])
    const ended = once(holder, 'exit')
    await once(holder.stdout, 'data')
    expect(isLocked(status)).toBe(true)
    const unlocked = whenUnlocked(status, 60_000).then(() => isLocked(status))
    holder.stdin.end()
    await ended
    expect(await unlocked).toBe(false)
    expect(isLocked(status)).toBe(false)
  })

  test('has no owner once the process named in its file was killed, even before that has ended', async () => {
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'])
    const [id] = await once(parent.stdout, 'data')
    writeFileSync(status, `PID: ${id}`)
    // The shell would ask how it ended; what it becomes does not.
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n'))
    process.kill(Number(id), 'SIGKILL')
    await vi.waitFor(() => expect(ownerOf(status)).toBeUndefined())
    // It exists as long as nobody has asked how it ended.
    expect(() => process.kill(Number(id), 0)).not.toThrow()
    parent.kill('SIGKILL')
  })
})

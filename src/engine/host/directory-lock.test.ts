import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isLocked } from './directory-lock.ts'

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

/** What is decided where the system tells of these locks. */
function decide(...lines: string[]): boolean {
  const locks = join(directory, 'locks')
  writeFileSync(locks, lines.map((line, i) => `${i + 1}: ${line}\n`).join(''))
  return isLocked(status, locks)
}

const flock = (pid: number, place: string) => `FLOCK  ADVISORY  WRITE ${pid} ${place} 0 EOF`

/** With the file open in this process. */
function opened<T>(work: () => T): T {
  const file = openSync(status, 'r')
  try {
    return work()
  } finally {
    closeSync(file)
  }
}

describe('a data directory', () => {
  test('is in use when its inode on its device is locked', () => {
    expect(decide(flock(1, 'ff:7f:12'), flock(1, `${device}:${inode}`))).toBe(true)
  })

  test('is not in use when a file with the same inode on another device is locked', () => {
    expect(decide(flock(process.pid, `ff:7f:${inode}`))).toBe(false)
    expect(decide(flock(999_999_999, `ff:7f:${inode}`))).toBe(false)
  })

  test('is in use when the holder of such a lock has its file open, as btrfs shows it', () => {
    expect(opened(() => decide(flock(process.pid, `ff:7f:${inode}`)))).toBe(true)
  })

  test('is in use when the process that it names has its file open, as overlayfs may show it', async () => {
    const holder = spawn('sh', ['-c', 'exec 3<status; echo open; read wait'], { cwd: directory })
    const ended = once(holder, 'exit')
    await once(holder.stdout, 'data')
    writeFileSync(status, `PID: ${holder.pid}\n`)
    expect(decide(flock(1, 'ff:7f:12'))).toBe(true)
    holder.stdin.end()
    await ended
    expect(decide(flock(1, 'ff:7f:12'))).toBe(false)
  })

  test('is not in use because another process got the number that it names', () => {
    writeFileSync(status, `PID: ${process.ppid}\n`)
    expect(decide(flock(1, 'ff:7f:12'))).toBe(false)
  })

  test('is not in use by somebody who waits for the lock, nor by a longer inode number', () => {
    expect(decide(`-> ${flock(1, `${device}:${inode}`)}`, flock(1, `${device}:1${inode}`))).toBe(false)
    expect(isLocked(join(directory, 'missing'))).toBe(false)
  })

  test('is in use as long as a process holds the lock', async () => {
    expect(isLocked(status)).toBe(false)
    const holder = spawn('flock', ['-n', status, 'sh', '-c', 'echo locked; read wait'])
    const ended = once(holder, 'exit')
    await once(holder.stdout, 'data')
    expect(isLocked(status)).toBe(true)
    holder.stdin.end()
    await ended
    expect(isLocked(status)).toBe(false)
  })
})

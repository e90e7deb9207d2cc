import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const versions = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', unlimited: '-1' },
  { root: '/sys/fs/cgroup', limit: 'memory.max', unlimited: 'max' },
] as const

/** Returns what is missing to limit memory. */
export function needsForMemoryGroup(): string | undefined {
  try {
    new MemoryGroup().remove()
    return undefined
  } catch {
    return 'needs root and a writable memory control group'
  }
}

/** A control group: its processes share a memory limit. */
export class MemoryGroup {
  readonly #path: string
  readonly #version: (typeof versions)[number]

  constructor() {
    const version = versions.find(({ root, limit }) =>
      root !== '/sys/fs/cgroup' ? existsSync(join(root, limit)) : hasMemory(root),
    )
    if (!version) throw new Error('No memory control group found.')
    this.#version = version
    this.#path = join(version.root, `wellhead-torture-${process.pid}`)
    mkdirSync(this.#path, { recursive: true })
  }

  limit(bytes: number | undefined): void {
    writeFileSync(
      join(this.#path, this.#version.limit),
      bytes === undefined ? this.#version.unlimited : String(bytes),
    )
  }

  add(pid: number): void {
    writeFileSync(join(this.#path, 'cgroup.procs'), String(pid))
  }

  /** Moves its processes back to the root group. */
  remove(): void {
    this.limit(undefined)
    for (const pid of readFileSync(join(this.#path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)) {
      writeFileSync(join(this.#version.root, 'cgroup.procs'), pid)
    }
    rmdirSync(this.#path)
  }
}

function hasMemory(root: string): boolean {
  const controllers = join(root, 'cgroup.subtree_control')
  return existsSync(controllers) && readFileSync(controllers, 'utf8').split(/\s+/).includes('memory')
}

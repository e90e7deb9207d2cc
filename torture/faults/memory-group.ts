import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const versions = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', unlimited: '-1' },
  { root: '/sys/fs/cgroup', limit: 'memory.max', unlimited: 'max' },
] as const

/** Why memory cannot be limited here. */
export function needsForMemoryGroup(): string | undefined {
  try {
    new MemoryGroup().remove()
    return undefined
  } catch {
    return 'needs root and a control group for memory that can be written'
  }
}

/** Processes whose memory is limited together. */
export class MemoryGroup {
  readonly #path: string
  readonly #version: (typeof versions)[number]

  constructor() {
    const version = versions.find(({ root, limit }) =>
      root !== '/sys/fs/cgroup' ? existsSync(join(root, limit)) : hasMemory(root),
    )
    if (!version) throw new Error('There is no control group for memory.')
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

  /** Its processes go back to where everybody is. */
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

import { spawnSync } from 'node:child_process'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr.trim()}`)
  return stdout
}

/** EXT4_IOC_SHUTDOWN with the flag 2: the journal is not flushed. */
const shutdown = 'my $how = pack("L", 2); ioctl(STDIN, 0x8004587d, $how) or die "EXT4_IOC_SHUTDOWN: $!"'

/** Returns what is missing to mount a disk image. */
export function needsForLoopDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root, to mount a file system'
  for (const command of ['mkfs.ext4', 'losetup', 'perl']) {
    try {
      run('sh', '-c', `command -v ${command}`)
    } catch {
      return `needs ${command}`
    }
  }
  try {
    run('losetup', '-f')
    return undefined
  } catch {
    return 'needs loop devices'
  }
}

/** An ext4 image that can be shut down, filled and made read-only. */
export class LoopDisk {
  readonly path: string
  readonly #image: string
  #mounted = false

  constructor(directory: string, megabytes: number) {
    this.#image = join(directory, 'disk.img')
    this.path = join(directory, 'disk')
    mkdirSync(this.path)
    writeFileSync(this.#image, '')
    truncateSync(this.#image, megabytes * 2 ** 20)
    // Each part of a table has a dozen small files, and an engine that is killed every few seconds removes no merged parts.
    run('mkfs.ext4', '-q', '-F', '-m', '0', '-i', '4096', this.#image)
    this.mount()
  }

  mount(): void {
    run('mount', '-o', 'loop,errors=remount-ro', this.#image, this.path)
    this.#mounted = true
  }

  /** Like a power cut: discards what is not on disk yet, and every later read and write fails. */
  cut(): void {
    run('sh', '-c', `perl -e '${shutdown}' < "${this.path}"`)
  }

  /** No process may have a file open on it. */
  async unmount(): Promise<void> {
    for (let attempt = 1; this.#mounted; attempt++) {
      try {
        run('umount', this.path)
        this.#mounted = false
      } catch (error) {
        if (attempt > 100) throw error
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  /** Throws if a process has a file open for writing. */
  readOnly(): void {
    run('mount', '-o', 'remount,ro', this.path)
  }

  writable(): void {
    run('mount', '-o', 'remount,rw', this.path)
  }

  /** Like a disk error: the file system is read-only until it is repaired. */
  fail(): void {
    run('mount', '-o', 'remount,abort', this.path)
  }

  /** What an operator does after a disk error. No process may have a file open. */
  async repair(): Promise<void> {
    await this.unmount()
    // Exit code 1 means that it repaired something.
    run('sh', '-c', `e2fsck -fy "${this.#image}" >/dev/null 2>&1 || [ $? -eq 1 ]`)
    this.mount()
  }
}

import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { makeDirectory } from '../../core/base/files/data-directory.ts'
import { syncPath } from '../../core/base/files/disk.ts'
import { OperatorError } from '../../core/base/operator-error.ts'

/** Maximum number of concurrent syncs; one at a time would be slow. */
const maxSyncing = 32

/** A directory that is written under a temporary name and renamed when all of it is on disk. */
export class StagedDirectory {
  readonly path: string
  readonly #target: string
  readonly #folders = new Set<string>()
  /** Folders with entries that are not synced yet. */
  readonly #changed = new Set<string>()
  readonly #syncing = new Set<Promise<void>>()
  #failure: unknown

  private constructor(path: string, target: string) {
    this.path = path
    this.#target = target
  }

  /** Throws if the directory exists and is not empty. */
  static async create(directory: string): Promise<StagedDirectory> {
    const target = resolve(directory)
    await checkVacant(target)
    const parent = dirname(target)
    makeDirectory(parent)
    const path = join(parent, `.${basename(target)}.partial-${randomUUID().slice(0, 8)}`)
    await mkdir(path, { mode: 0o700 })
    return new StagedDirectory(path, target)
  }

  /** Writes a file that only its owner can read. */
  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    onBytes: (bytes: number) => void = () => {},
  ): Promise<{ sha256: string; bytes: number }> {
    if (this.#failure !== undefined) throw this.#failure
    const file = join(this.path, path)
    await this.#makeFolder(dirname(file))
    const hash = createHash('sha256')
    let bytes = 0
    const handle = await open(file, 'wx', 0o600)
    this.#changed.add(dirname(file))
    try {
      for await (const chunk of content) {
        hash.update(chunk)
        bytes += chunk.length
        for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten
        onBytes(chunk.length)
      }
    } catch (error) {
      await handle.close()
      throw error
    }
    await this.#sync(handle)
    return { sha256: hash.digest('hex'), bytes }
  }

  /** Resolves when all files are on disk. */
  async flush(): Promise<void> {
    await Promise.all(this.#syncing)
    if (this.#failure !== undefined) throw this.#failure
    for (const folder of this.#changed) await syncPath(folder)
    this.#changed.clear()
  }

  async commit(): Promise<void> {
    await this.flush()
    await syncPath(this.path)
    await checkVacant(this.#target)
    await rename(this.path, this.#target)
    await syncPath(dirname(this.#target))
  }

  async abandon(): Promise<void> {
    await Promise.all(this.#syncing)
    await rm(this.path, { recursive: true, force: true })
  }

  async #makeFolder(folder: string): Promise<void> {
    if (folder === this.path || this.#folders.has(folder)) return
    await this.#makeFolder(dirname(folder))
    await mkdir(folder, { mode: 0o700 })
    this.#folders.add(folder)
    this.#changed.add(dirname(folder))
  }

  async #sync(handle: FileHandle): Promise<void> {
    const syncing = handle
      .sync()
      .finally(() => handle.close())
      .catch((error) => {
        this.#failure ??= error
      })
      .finally(() => this.#syncing.delete(syncing))
    this.#syncing.add(syncing)
    if (this.#syncing.size >= maxSyncing) await Promise.race(this.#syncing)
  }
}

/** Throws unless the target is missing or an empty directory that can be replaced. */
async function checkVacant(target: string): Promise<void> {
  const names = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    if (error.code === 'ENOTDIR')
      throw new OperatorError(`${target} is a file. Choose a new or empty directory.`)
    throw error
  })
  if (names === undefined) return
  if (names.length > 0) {
    throw new OperatorError(`${target} is not empty. Choose a new or empty directory.`)
  }
  // A directory cannot be renamed to a mount point.
  if ((await stat(target)).dev !== (await stat(dirname(target))).dev) {
    throw new OperatorError(
      `${target} is a mount point. Choose a new directory on it, such as ${join(target, 'data')}.`,
    )
  }
}

/** Size of a small file on most disks. Some file systems report a much larger block size than they use. */
const blockBytes = 4096

/** Throws if files of this total size do not fit on the disk of a directory. */
export async function checkSpace(
  directory: string,
  { bytes, files }: { bytes: number; files: number },
): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  const free = bavail * bsize
  const needed = bytes + files * blockBytes
  if (free >= needed) return
  const mebibytes = (count: number) => Math.ceil(count / 2 ** 20)
  throw new OperatorError(
    `The backup needs ${mebibytes(needed)} MiB, but ${directory} has ${Math.floor(free / 2 ** 20)} MiB free. ` +
      `Free ${mebibytes(needed - free)} MiB there, or choose a directory on another disk.`,
  )
}

import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { BackupProblem } from './manifest.ts'

/** So many files may be on their way to the disk at once: one after the other, each would wait for all before it. */
const maxSyncing = 32

/**
 * A directory that is written under another name beside its place, and gets its own when all of it is on disk: what
 * was cut short is never taken for whole.
 */
export class StagedDirectory {
  readonly path: string
  readonly #target: string
  readonly #folders = new Set<string>()
  /** Folders that got an entry since they were last on disk. */
  readonly #changed = new Set<string>()
  readonly #syncing = new Set<Promise<void>>()
  #failure: unknown

  private constructor(path: string, target: string) {
    this.path = path
    this.#target = target
  }

  /** Nothing that is there is ever written over. */
  static async create(directory: string): Promise<StagedDirectory> {
    const target = resolve(directory)
    await checkVacant(target)
    const parent = dirname(target)
    await mkdir(parent, { recursive: true })
    const path = join(parent, `.${basename(target)}.partial-${randomUUID().slice(0, 8)}`)
    await mkdir(path, { mode: 0o700 })
    return new StagedDirectory(path, target)
  }

  /** Writes a file that only its owner may read, and tells what was in it. */
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

  /** Resolves when everything that was written is on disk. */
  async flush(): Promise<void> {
    await Promise.all(this.#syncing)
    if (this.#failure !== undefined) throw this.#failure
    for (const folder of this.#changed) await syncFolder(folder)
    this.#changed.clear()
  }

  /** Gives the directory its name once everything is on disk. */
  async commit(): Promise<void> {
    await this.flush()
    await syncFolder(this.path)
    await checkVacant(this.#target)
    await rename(this.path, this.#target)
    await syncFolder(dirname(this.#target))
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

/** Throws unless nothing is there, or an empty directory that another can take the place of. */
export async function checkVacant(target: string): Promise<void> {
  const names = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    if (error.code === 'ENOTDIR')
      throw new BackupProblem(`${target} is a file. Choose a new or empty directory.`)
    throw error
  })
  if (names === undefined) return
  if (names.length > 0) {
    throw new BackupProblem(
      `${target} is not empty, and nothing in it is overwritten. Choose a new or empty directory.`,
    )
  }
  // What is written beside it would be on another disk, and could not take its place.
  if ((await stat(target)).dev !== (await stat(dirname(target))).dev) {
    throw new BackupProblem(
      `${target} is a mount point. Choose a new directory on it, such as ${join(target, 'data')}.`,
    )
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncPath, unlessMissing } from '../../core/base/files/disk.ts'
import { type Erasure, storedErasureShape } from './erasure.ts'
import { erasureFiles } from './erasure-files.ts'

/** The erasures of a data directory, outside of the engine: whoever restores an old backup takes this file along. */
export class ErasureFile {
  readonly #dataDir: string
  #listed = new Set<string>()

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** Also those that a restore brought along. */
  async read(): Promise<Erasure[]> {
    const [listed, restored] = await readErasureFiles(this.#dataDir)
    this.#listed = new Set(listed.map(({ id }) => id))
    return [...listed, ...restored]
  }

  async add(erasure: Erasure): Promise<void> {
    if (this.#listed.has(erasure.id)) return
    const path = join(this.#dataDir, erasureFiles.own)
    // A line of its own, also after a crash in the middle of another.
    await appendFile(path, `\n${JSON.stringify(erasure)}\n`, { mode: 0o600 })
    await syncPath(path)
    this.#listed.add(erasure.id)
  }
}

export async function readErasureFiles(directory: string): Promise<[listed: Erasure[], restored: Erasure[]]> {
  const read = async (name: string) =>
    erasuresIn((await readFile(join(directory, name), 'utf8').catch(unlessMissing)) ?? '')
  return [await read(erasureFiles.own), await read(erasureFiles.restored)]
}

/** A crash may have left half a line, of an erasure that was not acknowledged. */
export function erasuresIn(text: string): Erasure[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [storedErasureShape.parse(JSON.parse(line))]
    } catch {
      return []
    }
  })
}

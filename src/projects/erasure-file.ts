import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncPath, unlessMissing } from '../base/files/disk.ts'
import { erasuresName, restoredErasuresName } from '../base/files/restored-file.ts'
import { type Erasure, storedErasureShape } from './erasure.ts'

/** The erasures of a data directory, outside of the engine: whoever restores an old backup takes this file along. */
export class ErasureFile {
  readonly #path: string
  readonly #restored: string

  constructor(dataDir: string) {
    this.#path = join(dataDir, erasuresName)
    this.#restored = join(dataDir, restoredErasuresName)
  }

  async read(): Promise<Erasure[]> {
    const texts = [this.#restored, this.#path].map((path) => readFile(path, 'utf8').catch(unlessMissing))
    return erasuresIn((await Promise.all(texts)).join('\n'))
  }

  async add(erasure: Erasure): Promise<void> {
    // A line of its own, also after a crash in the middle of another.
    await appendFile(this.#path, `\n${JSON.stringify(erasure)}\n`, { mode: 0o600 })
    await syncPath(this.#path)
  }
}

/** A crash may have left half a line, of an erasure that was not acknowledged. */
function erasuresIn(text: string): Erasure[] {
  const found = text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [storedErasureShape.parse(JSON.parse(line))]
    } catch {
      return []
    }
  })
  return [...new Map(found.map((erasure) => [erasure.id, erasure])).values()]
}

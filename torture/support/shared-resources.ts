import { scratchDirectory } from '../../test/support/scratch.ts'
import type { SharedResource } from './scenario.ts'

/** Resources that scenarios share: opened at first use, closed after the last scenario. */
export class SharedResources {
  readonly #things = new Map<string, Promise<SharedResource>>()
  readonly #directories: ReturnType<typeof scratchDirectory>[] = []
  #kept = false

  open<T extends SharedResource>(name: string, open: (directory: string) => Promise<T>): Promise<T> {
    const known = this.#things.get(name)
    if (known) return known as Promise<T>
    const directory = scratchDirectory()
    this.#directories.push(directory)
    const thing = open(directory.path)
    this.#things.set(name, thing)
    return thing
  }

  /** Keeps the directories and returns their paths. */
  keep(): string[] {
    this.#kept = true
    return this.#directories.map(({ path }) => path)
  }

  async close(): Promise<void> {
    for (const thing of this.#things.values()) await thing.then((open) => open.close()).catch(() => {})
    this.#things.clear()
    if (!this.#kept) for (const directory of this.#directories) directory.remove()
  }
}

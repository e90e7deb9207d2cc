import type { JsonPaths } from '../base/json/json-paths.ts'
import { valueText } from '../base/json/json-paths.ts'
import { JsonScanner } from '../base/json/json-scanner.ts'
import { foldCase } from '../sql/word.ts'

export type OwnColumn = 'project' | 'id' | 'event_message'

/** Values may contain each other, so that together they are longer than the entry. */
const maxKeptLength = 2 ** 22

/** What searches read of an entry: the values of all their paths are located in one pass, and each is read once. */
export class StoredEntry {
  /** The version of the paths whose values are located. */
  readonly version: number
  readonly #own: (column: OwnColumn) => string
  readonly #metadata: Buffer
  readonly #located: ReturnType<JsonPaths['locate']>
  readonly #kept = new Map<string, string | undefined>()
  #keptLength = 0
  readonly #results = new Map<string, boolean>()

  constructor(own: (column: OwnColumn) => string, metadata: Buffer, paths: JsonPaths) {
    this.version = paths.version
    this.#own = own
    this.#metadata = metadata
    this.#located = paths.locate(new JsonScanner(metadata))
  }

  column(name: OwnColumn): string {
    return this.once(name, () => this.#own(name)) as string
  }

  /** The metadata as it is stored, with a character for each byte. */
  json(): string {
    return this.#metadata.toString('latin1')
  }

  /** The value at a path of metadata, as the engine reads it. Undefined if there is none, or null. */
  at(path: string): string | undefined {
    return this.once(path, () => {
      const span = this.#located.get(path)
      return span && valueText(this.#metadata.toString('utf8', ...span))
    })
  }

  lower(name: string, text: string): string {
    return this.once(`lower ${name}`, () => foldCase(text)) as string
  }

  /** The result of a test, which is the same for all searches. */
  result(test: string, run: () => boolean): boolean {
    const result = this.#results.get(test) ?? run()
    this.#results.set(test, result)
    return result
  }

  /** A text that several searches need, and that is read once. */
  once(name: string, read: () => string | undefined): string | undefined {
    if (this.#kept.has(name)) return this.#kept.get(name)
    const text = read()
    if (this.#keptLength < maxKeptLength) {
      this.#kept.set(name, text)
      this.#keptLength += text?.length ?? 0
    }
    return text
  }
}

/** A condition that is decided test by test. */
export interface EntryMatch {
  paths: readonly (readonly string[])[]
  tests: readonly ((entry: StoredEntry) => boolean)[]
  /** Combines the results of the tests, which are called by their index. */
  decide: (isMet: (test: number) => boolean) => boolean
}

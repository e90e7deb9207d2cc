import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parsePart, tableDirectories } from './insert-log.ts'

/** Written last; without its content nothing in the directory can be believed. */
const sumsFile = 'checksums.txt'

/** Neither merged nor changed since. */
const asInserted = /^[^_]+_(\d+)_\1_0$/

export interface NewParts {
  /** As inserts make them. */
  inserted: string[]
  /** Whether one of them, or one that was merged, has nothing in it. */
  isEmpty: boolean
}

/**
 * On a disk that takes no more bytes the engine was seen to go on as if its writes had succeeded: it put a part in place
 * whose files are all empty, and said that the rows are stored. So whoever inserted looks at what came of it.
 */
export class EmptyParts {
  readonly #maxTables: number
  /** By the directory of a table: the parts that were there, and were not empty. */
  readonly #seen = new Map<string, ReadonlySet<string>>()

  constructor(maxTables: number) {
    this.#maxTables = maxTables
  }

  /** So that what is there already is not new later. */
  async know(table: string): Promise<void> {
    if (!this.#seen.has(table)) await this.look(table)
  }

  /** What is new in the directory of a table since the last look. */
  async look(table: string): Promise<NewParts> {
    const seen = this.#seen.get(table)
    const names = ((await readdir(table).catch(unlessMissing)) ?? []).filter((name) => parsePart(name))
    const added = names.filter((name) => !seen?.has(name))
    const sums = await Promise.all(
      added.map((name) => stat(join(table, name, sumsFile)).catch(unlessMissing)),
    )
    const isEmpty = sums.some((file) => file?.size === 0)
    if (this.#seen.size >= this.#maxTables) this.#seen.clear()
    if (!isEmpty) this.#seen.set(table, new Set(names))
    return { inserted: added.filter((name) => asInserted.test(name)), isEmpty }
  }
}

/**
 * Before the engine opens its directory, parts without content are put aside: their tokens are forgotten then like those
 * of other rows that are not there, and of one that was made by merging the parts it was made from are read again.
 * Returns how many they were.
 */
export function setEmptyPartsAside(storeDirectory: string): number {
  let aside = 0
  for (const table of tableDirectories(storeDirectory)) {
    const empty = readdirSync(table).filter((name) => {
      const sums = join(table, name, sumsFile)
      return parsePart(name) !== undefined && existsSync(sums) && statSync(sums).size === 0
    })
    if (empty.length > 0) mkdirSync(join(table, 'detached'), { recursive: true })
    for (const name of empty) renameSync(join(table, name), join(table, 'detached', `empty_${name}`))
    aside += empty.length
  }
  return aside
}

/** A part may be merged and removed, and a table dropped, at any moment. */
function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

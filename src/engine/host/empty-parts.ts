import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parsePart, tableDirectories } from './insert-log.ts'

/** Written last; without its content nothing in the directory can be believed. */
const sumsFile = 'checksums.txt'

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

  /** Whether a part of this table that is new since the last look is empty. */
  async areNew(table: string): Promise<boolean> {
    const seen = this.#seen.get(table)
    const names = ((await readdir(table).catch(unlessMissing)) ?? []).filter((name) => parsePart(name))
    const sizes = names
      .filter((name) => !seen?.has(name))
      .map((name) => stat(join(table, name, sumsFile)).catch(unlessMissing))
    if ((await Promise.all(sizes)).some((sums) => sums?.size === 0)) return true
    if (this.#seen.size >= this.#maxTables) this.#seen.clear()
    this.#seen.set(table, new Set(names))
    return false
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

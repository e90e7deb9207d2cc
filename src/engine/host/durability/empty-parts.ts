import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parsePart, tableDirectories } from './insert-log.ts'
import { sumsFile } from './insert-witness.ts'

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

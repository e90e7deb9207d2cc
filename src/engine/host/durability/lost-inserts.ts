import { appendFileSync, readdirSync } from 'node:fs'
import { covers, parsePart, readInsertLog, tableDirectories } from './insert-log.ts'

/**
 * The engine writes the token of an insert to disk just before it puts the rows in place. Killed in between, it
 * would take the same insert, tried again, for one that it has, say that it is stored, and drop it. So before
 * it opens its directory, tokens whose rows are not there are forgotten. Returns how many they were.
 */
export function forgetLostInserts(storeDirectory: string): number {
  let forgotten = 0
  for (const table of tableDirectories(storeDirectory)) forgotten += forgetInTable(table)
  return forgotten
}

function forgetInTable(table: string): number {
  const log = readInsertLog(table)
  if (!log) return 0
  const parts = readdirSync(table)
    .map(parsePart)
    .filter((part) => part !== undefined)
  const lost = [...log.remembered].filter(([, name]) => {
    const part = parsePart(name)
    return part !== undefined && !parts.some((other) => covers(other, part))
  })
  if (lost.length > 0)
    appendFileSync(log.newest, lost.map(([token, part]) => `2\t${part}\t${token}\n`).join(''))
  return lost.length
}

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { insertLogFiles, insertLogFolder, parsePart, readInsertLog, tableDirectories } from './insert-log.ts'

const markName = 'insert-logs-are-synced'

/**
 * The engine makes rows survive a power cut, but not the token that they came with: after a cut it has the rows and
 * does not know the insert when it is tried again. This process syncs the token before it answers an insert, so rows
 * whose token is gone are of one that was never answered. Before the engine opens its directory they are put
 * aside, and whoever sent them sends them again. Returns how many parts they were.
 */
export function setUnansweredInsertsAside(storeDirectory: string): number {
  // What was written before tokens were synced may have been answered without one.
  if (!existsSync(join(storeDirectory, markName))) return 0
  let aside = 0
  for (const table of tableDirectories(storeDirectory)) aside += setAsideInTable(table)
  return aside
}

function setAsideInTable(table: string): number {
  const log = readInsertLog(table)
  if (!log) return 0
  // Tokens are written in the order of these numbers, and a cut takes the last of them.
  const known = [...log.named].reduce((most, name) => Math.max(most, parsePart(name)?.last ?? 0), 0)
  const unknown = readdirSync(table).filter((name) => {
    const part = parsePart(name)
    // In a part that was merged, others are that were answered.
    return part !== undefined && part.level === 0 && part.first > known
  })
  if (unknown.length > 0) mkdirSync(join(table, 'detached'), { recursive: true })
  for (const name of unknown) renameSync(join(table, name), join(table, 'detached', `unanswered_${name}`))
  return unknown.length
}

/** From here on every insert is answered after its token is on disk; those before are synced now. */
export function markInsertLogsSynced(storeDirectory: string): void {
  const mark = join(storeDirectory, markName)
  if (existsSync(mark)) return
  for (const table of tableDirectories(storeDirectory)) {
    const directory = join(table, insertLogFolder)
    if (!existsSync(directory)) continue
    for (const name of insertLogFiles(readdirSync(directory))) sync(join(directory, name))
    sync(directory)
  }
  closeSync(openSync(mark, 'a', 0o600))
  sync(mark)
  sync(dirname(mark))
}

function sync(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

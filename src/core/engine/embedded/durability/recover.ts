import { appendFile, open, readdir, readFile, rename, rm, stat, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makePath, syncPath, unlessMissing } from '../../../base/files/disk.ts'
import { type InsertLog, insertLogFiles, insertLogFolder, logPath, readInsertLog } from './insert-log.ts'
import { checksumsFile, isCovered, parsePart } from './part-name.ts'

const wordIndex = 'skp_idx__text.'

/** From the moment this file exists, the log entry of an insert is synced before the insert is confirmed. */
const markName = 'insert-logs-are-synced'

/** Repairs what a crash, a power cut or a full disk left of inserts. Must run before the engine opens the store. */
export async function recover(storeDirectory: string): Promise<void> {
  const mark = join(storeDirectory, markName)
  const isMarked = (await stat(mark).catch(unlessMissing)) !== undefined
  const tables = await tableDirectories(storeDirectory)
  for (const table of tables) {
    await detachEmptyParts(table)
    await removeEmptyIndexes(table)
    await trimLog(table)
    const log = await readInsertLog(table)
    if (log.files.length === 0) continue
    await forgetLostInserts(table, log)
    // Without the mark, inserts may have been confirmed although their log entries were not on disk.
    if (isMarked) await detachUnconfirmedInserts(table, log)
    else await syncLog(table, log)
  }
  if (!isMarked) await createMark(mark)
}

/** `store/<first three digits of the id>/<id>`. */
async function tableDirectories(storeDirectory: string): Promise<string[]> {
  const root = join(storeDirectory, 'store')
  const tables: string[] = []
  for (const prefix of (await readdir(root).catch(unlessMissing)) ?? []) {
    if (!/^[0-9a-f]{3}$/.test(prefix)) continue
    for (const id of await readdir(join(root, prefix))) tables.push(join(root, prefix, id))
  }
  return tables
}

/** On a full disk the engine can leave parts with empty files. Without them it rereads what a merge started from. */
async function detachEmptyParts(table: string): Promise<void> {
  const empty: string[] = []
  for (const name of await readdir(table)) {
    if (parsePart(name) === undefined) continue
    const checksums = await stat(join(table, name, checksumsFile)).catch(unlessMissing)
    if (checksums?.size === 0) empty.push(name)
  }
  await detach(table, empty, 'empty')
}

/**
 * On a full disk the engine can also leave a merged part whose index of words is empty, which it refuses at its next start. Without
 * the index and the checksums, it reads the rows and computes the checksums again.
 */
async function removeEmptyIndexes(table: string): Promise<void> {
  const sizeOf = async (path: string) => (await stat(path).catch(unlessMissing))?.size
  for (const name of await readdir(table)) {
    if (parsePart(name) === undefined) continue
    const path = (file: string) => join(table, name, file)
    if ((await sizeOf(path(`${wordIndex}idx`))) !== 0) continue
    // A part without rows has empty files, too.
    if (!((await sizeOf(path('data.bin'))) ?? (await sizeOf(path('timestamp.bin'))))) continue
    const others = (await readdir(path(''))).filter(
      (file) => file.startsWith(wordIndex) && file !== `${wordIndex}idx`,
    )
    // The file that shows the damage is the last one, so that another start goes on.
    for (const file of [checksumsFile, ...others, `${wordIndex}idx`]) await rm(path(file), { force: true })
  }
}

/** The engine cannot open a table whose log ends in half a line or in zeros, as after a power cut. */
async function trimLog(table: string): Promise<void> {
  const newest = (await insertLogFiles(table)).at(-1)
  if (newest === undefined) return
  const bytes = await readFile(logPath(table, newest))
  const zeros = bytes.indexOf(0)
  const whole = bytes.lastIndexOf(10, zeros < 0 ? bytes.length : zeros) + 1
  if (whole < bytes.length) await truncate(logPath(table, newest), whole)
}

/**
 * The engine logs the token of an insert just before it puts the rows in place. If it is killed in between, it would
 * take a retry for a duplicate: it would report success and drop the rows. So tokens without rows are removed.
 */
async function forgetLostInserts(table: string, { files, tokens }: InsertLog): Promise<void> {
  const parts = (await readdir(table)).flatMap((name) => parsePart(name) ?? [])
  const lost = [...tokens].filter(([, part]) => !isCovered(part, parts))
  const removals = lost.map(([token, part]) => `2\t${part}\t${token}\n`)
  if (lost.length > 0) await appendFile(logPath(table, files.at(-1) as string), removals.join(''))
}

/**
 * The engine syncs rows, but not their tokens, so a power cut can leave rows whose retry would be stored twice. The host
 * syncs the token before it confirms an insert, so rows without a token were never confirmed, and the sender retries.
 */
async function detachUnconfirmedInserts(table: string, log: InsertLog): Promise<void> {
  // Tokens are logged in the order of these numbers, and a power cut takes the last ones.
  const newest = [...log.parts].reduce((most, name) => Math.max(most, parsePart(name)?.last ?? 0), 0)
  while (await undoMerge(table, newest)) {}
  const unconfirmed = (await readdir(table)).filter((name) => {
    const part = parsePart(name)
    // A merged part whose sources are gone also holds confirmed inserts.
    return part !== undefined && part.level === 0 && part.first > newest
  })
  await detach(table, unconfirmed, 'unanswered')
}

/**
 * An insert can be merged with confirmed ones before its token is on disk. The engine keeps what it merged for some minutes,
 * so the parts from before the merge take the place of the merged one. Returns whether there was such a merge.
 */
async function undoMerge(table: string, newest: number): Promise<boolean> {
  const parts = (await readdir(table)).flatMap((name) => {
    const part = parsePart(name)
    return part ? [{ name, ...part }] : []
  })
  for (const merged of parts.filter(({ level, last }) => level > 0 && last > newest)) {
    const inside = parts.filter(
      (part) => part !== merged && part.level < merged.level && isCovered(part.name, [merged]),
    )
    const sources = inside.filter(({ name }) => {
      const others = inside.filter((other) => other.name !== name)
      return !isCovered(name, others)
    })
    const rows = await Promise.all(sources.map(({ name }) => rowsOf(table, name)))
    const sum = rows.reduce((total, count) => total + count, 0)
    if (sources.length === 0 || sum !== (await rowsOf(table, merged.name))) continue
    await detach(table, [merged.name], 'undone')
    return true
  }
  return false
}

async function rowsOf(table: string, part: string): Promise<number> {
  const text = await readFile(join(table, part, 'count.txt'), 'utf8').catch(unlessMissing)
  return text ? Number(text) : Number.NaN
}

async function detach(table: string, parts: readonly string[], reason: string): Promise<void> {
  if (parts.length > 0) await makePath(join(table, 'detached'))
  for (const name of parts) await rename(join(table, name), join(table, 'detached', `${reason}_${name}`))
}

async function syncLog(table: string, { files }: InsertLog): Promise<void> {
  for (const name of files) await syncPath(logPath(table, name))
  await syncPath(join(table, insertLogFolder))
}

async function createMark(mark: string): Promise<void> {
  await makePath(dirname(mark), 0o700)
  await (await open(mark, 'a', 0o600)).close()
  await syncPath(mark)
  await syncPath(dirname(mark))
}

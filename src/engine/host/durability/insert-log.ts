import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** Where a table remembers which inserts it has: a token and the name of a part on each line. */
export const insertLogFolder = 'deduplication_logs'

const fileName = /^deduplication_log_(\d+)\.txt$/

/** Files of a table's log, the oldest first. */
export function insertLogFiles(names: readonly string[]): string[] {
  const numberOf = (name: string) => Number(fileName.exec(name)?.[1])
  return names.filter((name) => fileName.test(name)).sort((one, other) => numberOf(one) - numberOf(other))
}

export interface InsertLog {
  /** To which more can be added. */
  newest: string
  /** Parts by token, as the engine would read them: 1 adds a line, 2 takes it back. */
  remembered: Map<string, string>
  /** Every part that any line names. */
  named: Set<string>
}

/** Undefined where the table has no log. What a power cut left of a line at its end is removed. */
export function readInsertLog(table: string): InsertLog | undefined {
  const directory = join(table, insertLogFolder)
  if (!existsSync(directory)) return undefined
  const files = insertLogFiles(readdirSync(directory)).map((name) => join(directory, name))
  const newest = files.at(-1)
  if (newest === undefined) return undefined
  trim(newest)
  const log: InsertLog = { newest, remembered: new Map(), named: new Set() }
  for (const file of files) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const [operation, part, token] = line.split('\t')
      if (part === undefined || token === undefined) continue
      log.named.add(part)
      if (operation === '1') log.remembered.set(token, part)
      else log.remembered.delete(token)
    }
  }
  return log
}

/** The engine cannot open a table whose log ends within a line, or in zeros. */
function trim(file: string): void {
  const bytes = readFileSync(file)
  const zeros = bytes.indexOf(0)
  const whole = bytes.lastIndexOf(10, zeros < 0 ? bytes.length : zeros) + 1
  if (whole < bytes.length) truncateSync(file, whole)
}

/** Tables lie two levels down: three digits of their id, then the whole of it. */
export function tableDirectories(storeDirectory: string): string[] {
  const root = join(storeDirectory, 'store')
  if (!existsSync(root)) return []
  return readdirSync(root)
    .filter((prefix) => /^[0-9a-f]{3}$/.test(prefix))
    .flatMap((prefix) => readdirSync(join(root, prefix)).map((id) => join(root, prefix, id)))
}

export interface Part {
  partition: string
  first: number
  last: number
  /** How often it was merged. */
  level: number
}

export function parsePart(name: string): Part | undefined {
  const [, partition, first, last, level] = /^([^_]+)_(\d+)_(\d+)_(\d+)(?:_\d+)?$/.exec(name) ?? []
  if (partition === undefined) return undefined
  return { partition, first: Number(first), last: Number(last), level: Number(level) }
}

/** A part that was merged lives on in a larger one. */
export function covers(larger: Part, part: Part): boolean {
  return larger.partition === part.partition && larger.first <= part.first && larger.last >= part.last
}

/** The parts that these lines of a log name and do not take back. */
export function partsIn(lines: string): string[] {
  const parts = new Map<string, string>()
  for (const line of lines.split('\n')) {
    const [operation, part, token] = line.split('\t')
    if (part === undefined || token === undefined) continue
    if (operation === '1') parts.set(token, part)
    else parts.delete(token)
  }
  return [...parts.values()]
}

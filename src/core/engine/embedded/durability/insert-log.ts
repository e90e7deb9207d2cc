import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../../../base/files/disk.ts'

/** Folder of a table in which the engine logs its inserts, with an operation, a part and a token on each line. */
export const insertLogFolder = 'deduplication_logs'

export interface LogPosition {
  file: string
  bytes: number
}

export interface InsertLog {
  /** Names of the files that were read, oldest first. */
  files: string[]
  /** The part of each token that the engine still knows: operation 1 adds a token, 2 removes it. */
  tokens: Map<string, string>
  parts: Set<string>
}

/** Reads a table's log from a position on, or all of it. */
export async function readInsertLog(
  table: string,
  { since, sync = false }: { since?: LogPosition | undefined; sync?: boolean } = {},
): Promise<InsertLog> {
  const all = await insertLogFiles(table)
  const log: InsertLog = {
    files: all.slice(Math.max(0, all.indexOf(since?.file ?? ''))),
    tokens: new Map(),
    parts: new Set(),
  }
  for (const name of log.files) {
    const text = await readFrom(logPath(table, name), name === since?.file ? since.bytes : 0, sync)
    for (const line of text.split('\n')) {
      const [operation, part, token] = line.split('\t')
      if (part === undefined || token === undefined) continue
      log.parts.add(part)
      if (operation === '1') log.tokens.set(token, part)
      else log.tokens.delete(token)
    }
  }
  return log
}

export async function insertLogFiles(table: string): Promise<string[]> {
  const names = (await readdir(join(table, insertLogFolder)).catch(unlessMissing)) ?? []
  const numberOf = (name: string) => Number(/^deduplication_log_(\d+)\.txt$/.exec(name)?.[1])
  return names.filter((name) => numberOf(name) >= 0).sort((a, b) => numberOf(a) - numberOf(b))
}

export function logPath(table: string, name: string): string {
  return join(table, insertLogFolder, name)
}

/** Empty for a missing file: the engine removes its oldest log files, and a table can be dropped at any time. */
async function readFrom(path: string, start: number, sync: boolean): Promise<string> {
  const file = await open(path, 'r').catch(unlessMissing)
  if (file === undefined) return ''
  try {
    const { size } = await file.stat()
    const bytes = Buffer.alloc(Math.max(0, size - start))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
    if (sync) await file.datasync()
    return bytes.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

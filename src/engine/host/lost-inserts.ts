import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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

/** Tables lie two levels down: three digits of their id, then the whole of it. */
function tableDirectories(storeDirectory: string): string[] {
  const root = join(storeDirectory, 'store')
  if (!existsSync(root)) return []
  return readdirSync(root)
    .filter((prefix) => /^[0-9a-f]{3}$/.test(prefix))
    .flatMap((prefix) => readdirSync(join(root, prefix)).map((id) => join(root, prefix, id)))
}

const logName = /^deduplication_log_(\d+)\.txt$/

function forgetInTable(table: string): number {
  const directory = join(table, 'deduplication_logs')
  if (!existsSync(directory)) return 0
  const logs = readdirSync(directory)
    .filter((name) => logName.test(name))
    .sort((one, other) => numberOf(one) - numberOf(other))
    .map((name) => join(directory, name))
  const newest = logs.at(-1)
  if (newest === undefined) return 0
  const parts = readdirSync(table)
    .map(parsePart)
    .filter((part) => part !== undefined)
  const lost = [...rememberedIn(logs)].filter(([, name]) => {
    const part = parsePart(name)
    return part !== undefined && !parts.some((other) => covers(other, part))
  })
  if (lost.length === 0) return 0
  // A log that was cut in the middle of a line goes on in the next.
  const start = readFileSync(newest, 'utf8').endsWith('\n') ? '' : '\n'
  appendFileSync(newest, start + lost.map(([token, part]) => `2\t${part}\t${token}\n`).join(''))
  return lost.length
}

function numberOf(log: string): number {
  return Number(logName.exec(log)?.[1])
}

/** Parts by token, as the engine would read them: 1 adds a line, 2 takes it back. */
function rememberedIn(logs: string[]): Map<string, string> {
  const remembered = new Map<string, string>()
  for (const log of logs) {
    for (const line of readFileSync(log, 'utf8').split('\n')) {
      const [operation, part, token] = line.split('\t')
      if (part === undefined || token === undefined) continue
      if (operation === '1') remembered.set(token, part)
      else remembered.delete(token)
    }
  }
  return remembered
}

interface Part {
  partition: string
  first: number
  last: number
}

function parsePart(name: string): Part | undefined {
  const [, partition, first, last] = /^([^_]+)_(\d+)_(\d+)_\d+(?:_\d+)?$/.exec(name) ?? []
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) }
}

/** A part that was merged lives on in a larger one. */
function covers(larger: Part, part: Part): boolean {
  return larger.partition === part.partition && larger.first <= part.first && larger.last >= part.last
}

import { setImmediate } from 'node:timers/promises'
import type { ResultRows } from './row-difference.ts'

/** Other requests are served after this many characters. */
const charactersAtOnce = 2 ** 18

/** Reads rows of the format NDJSON in parts, because a large result would block the service for too long. */
export async function readResultRows(body: Buffer): Promise<ResultRows> {
  let columns: string[] = []
  const rows: string[][] = []
  let read = 0
  for (const line of body.toString().split('\n')) {
    if (line === '') continue
    const members = membersOf(line)
    if (rows.length === 0) columns = members.map(([name]) => name)
    rows.push(members.map(([, text]) => withoutNoise(text)))
    read += line.length
    if (read < charactersAtOnce) continue
    read = 0
    await setImmediate()
  }
  return { columns, rows }
}

const stringOrMark = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\],]/g

/** Names and texts of the members of a JSON object. Parsing would round long numbers. */
function membersOf(line: string): [name: string, text: string][] {
  const members: [string, string][] = []
  let depth = 0
  let name: string | undefined
  let start = 0
  for (const { 0: token, index } of line.matchAll(stringOrMark)) {
    if (token.startsWith('"')) {
      if (depth !== 1 || name !== undefined) continue
      name = JSON.parse(token) as string
      start = index + token.length + ':'.length
      continue
    }
    if (depth === 1 && name !== undefined && (token === ',' || token === '}')) {
      members.push([name, line.slice(start, index)])
      name = undefined
    }
    if (token === '{' || token === '[') depth++
    else if (token !== ',') depth--
  }
  return members
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The last digits of a sum of floating-point numbers depend on the order in which threads add them. */
const significantDigits = 14

function withoutNoise(text: string): string {
  return text.replace(stringOrNumber, (token) =>
    token.startsWith('"') || !/[.eE]/.test(token)
      ? token
      : String(Number(Number(token).toPrecision(significantDigits))),
  )
}

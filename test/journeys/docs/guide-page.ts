import { readFileSync } from 'node:fs'
import { expect } from 'vitest'

/** A fenced block of a page: ```language note. */
export interface Block {
  language: string
  note: string
  text: string
  /** Where it is, for messages. */
  at: string
}

const dayMs = 86_400_000
/** The day and time at which the guides are written. */
const writtenDay = Date.UTC(2026, 0, 31)
const writtenHourMs = 12 * 3_600_000

/** The guides take place yesterday, because entries of a fixed day would be too old for their source one day. */
const shiftMs = Math.floor(Date.now() / dayMs) * dayMs - dayMs - writtenDay
export const guideTimeMs = writtenDay + shiftMs + writtenHourMs

/** The blocks of a guide, with its days moved to the present: 2026-01-31, and microseconds of that time. */
export function readGuide(name: string): { page: string; blocks: Block[] } {
  const file = `docs/guides/${name}`
  const page = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    .replace(/2026-01-\d\d/g, (day) => new Date(Date.parse(day) + shiftMs).toISOString().slice(0, 10))
    .replace(/\b1769\d{12}\b/g, (micros) => String(Number(micros) + shiftMs * 1000))
  const blocks = [...page.matchAll(/^```(\w+)(?: (.*))?\n([\s\S]*?)^```$/gm)].map((match) => {
    const [, language = '', note = '', text = ''] = match
    const line = page.slice(0, match.index).split('\n').length
    return { language, note, text, at: `${file}:${line}` }
  })
  return { page, blocks }
}

const cellsOf = (row: string) =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

/** The cells of the rows below these titles. */
export function tableRows(page: string, ...titles: string[]): string[][] {
  const lines = page.split('\n')
  const start = lines.findIndex((line) => cellsOf(line).join('|') === titles.join('|'))
  if (start < 0) throw new Error(`The page has no table ${titles.join(', ')}.`)
  const rows = lines.slice(start + 2)
  return rows.slice(0, rows.indexOf('')).map(cellsOf)
}

export const codeIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string)

/** Compares rows with a block that shows one per line. A line … stands for more rows, a text … for any text. */
export function expectRows(rows: unknown, { text, at }: Block): void {
  const lines = text.trimEnd().split('\n')
  const cut = lines.at(-1) === '…'
  const shown = (cut ? lines.slice(0, -1) : lines).map((line) =>
    JSON.parse(line, (_, value) => (value === '…' ? expect.any(String) : value)),
  )
  const actual = Array.isArray(rows) ? rows : [rows]
  expect(cut ? actual.slice(0, shown.length) : actual, at).toEqual(shown)
  if (cut) expect(actual.length, at).toBeGreaterThan(shown.length)
}

/** Reads a request as it is written in a block: method and path, headers, an empty line, the body. */
export function readRequest({ text }: Block): { path: string; init: RequestInit } {
  const [head = '', ...rest] = text.trimEnd().split('\n\n')
  const [first = '', ...headers] = head.split('\n')
  const [method = '', path = ''] = first.split(' ')
  const body = rest.join('\n\n')
  const pairs = headers.map((header) => header.split(/: (.*)/s).slice(0, 2) as [string, string])
  return { path, init: { method, headers: Object.fromEntries(pairs), ...(body !== '' && { body }) } }
}

import { isDeepStrictEqual } from 'node:util'
import { createTwoFilesPatch } from 'diff'
import type { Expected } from './test-file.ts'
import type { BenchAnswer } from './workbench.ts'

type Row = Readonly<Record<string, unknown>>

/** What is not as expected, in words and as a diff; undefined where everything is. */
export function compareAnswer(expected: Expected, { status, body }: BenchAnswer): string | undefined {
  const code: string | undefined = body.error?.code
  const wantsError = expected.code !== undefined || (expected.status ?? 200) !== 200
  if (status !== 200 || wantsError) {
    const asked = [expected.status ?? (wantsError ? undefined : 200), expected.code].filter(Boolean).join(' ')
    const right =
      wantsError &&
      (expected.status ?? status) === status &&
      (expected.code ?? code) === code &&
      status >= 400
    if (right) return undefined
    const got = status === 200 ? `200 with ${counted(body.result.length)}` : `${status} ${code}`
    return `Expected ${asked}, got ${got}${status === 200 ? '' : `: ${body.error.message}`}`
  }
  const rows: Row[] = body.result
  if (expected.rowCount !== undefined) {
    return rows.length === expected.rowCount
      ? undefined
      : `Expected ${counted(expected.rowCount)}, got ${rows.length}`
  }
  if (expected.rows === undefined) {
    return expected.status === 200
      ? undefined
      : `It expects nothing, and got ${counted(rows.length)}. wellhead test --update writes them down`
  }
  return isDeepStrictEqual(plain(expected.rows), plain(rows)) ? undefined : differenceOf(expected.rows, rows)
}

function counted(rows: number): string {
  return `${rows} row${rows === 1 ? '' : 's'}`
}

/** Whatever is the same in JSON is the same. */
function plain(rows: readonly Row[]): unknown {
  return JSON.parse(JSON.stringify(rows))
}

const maxShownLines = 200

function differenceOf(expected: readonly Row[], rows: readonly Row[]): string {
  const patch = createTwoFilesPatch('expected', 'got', textOf(expected, rows), textOf(rows, rows), '', '', {
    context: 2,
  })
  const lines = patch.split('\n').filter((line) => !/^(=====|\\ No newline)/.test(line))
  const shown = lines.slice(0, maxShownLines)
  if (lines.length > shown.length) shown.push(`… and ${lines.length - shown.length} more lines`)
  return `The rows differ\n${shown.join('\n').trimEnd()}`
}

const maxRowWidth = 160

/** A row a line where it fits; the columns in the order of the answer, so that only values differ. */
function textOf(rows: readonly Row[], like: readonly Row[]): string {
  const order = Object.keys(like[0] ?? {})
  return rows.map((row) => `${rowText(ordered(row, order))}\n`).join('')
}

function rowText(row: Row): string {
  const text = JSON.stringify(row)
  return text.length > maxRowWidth ? JSON.stringify(row, null, 2) : text
}

function ordered(row: Row, order: readonly string[]): Row {
  const known = order.filter((column) => Object.hasOwn(row, column))
  const others = Object.keys(row).filter((column) => !order.includes(column))
  return Object.fromEntries([...known, ...others].map((column) => [column, row[column]]))
}

import stringWidth from 'string-width'
import type { CommandOutput } from '../command-io.ts'
import { visible } from './format.ts'

const gap = '  '
const minColumnWidth = 8

/** Aligned columns; on a terminal, lines are at most as long as the terminal is wide. */
export function formatTable(
  columns: readonly { title: string; align?: 'left' | 'right' }[],
  rows: readonly (readonly string[])[],
  { isTerminal, columns: width, colors }: Pick<CommandOutput, 'isTerminal' | 'columns' | 'colors'>,
): string {
  if (columns.length === 0) return ''
  const titles = columns.map(({ title }) => visible(title))
  const shown = rows.map((row) => columns.map((_, i) => visible(row[i] ?? '')))
  const wanted = titles.map((title, i) =>
    shown.reduce((most, row) => Math.max(most, stringWidth(row[i] as string)), stringWidth(title)),
  )
  const widths = isTerminal ? fitWidths(wanted, width - gap.length * (columns.length - 1)) : wanted
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => pad(cell, widths[i] as number, columns[i]?.align ?? 'left'))
      .join(gap)
      .trimEnd()
  const head = colors.bold(line(titles))
  return `${[head, ...shown.map(line)].join('\n')}\n`
}

function fitWidths(wanted: readonly number[], available: number): number[] {
  let most = Math.max(...wanted)
  const total = (limit: number) => wanted.reduce((sum, width) => sum + Math.min(width, limit), 0)
  while (most > minColumnWidth && total(most) > available) most--
  return wanted.map((width) => Math.min(width, most))
}

function pad(cell: string, width: number, align: 'left' | 'right'): string {
  const cut = cutToWidth(cell, width)
  const space = ' '.repeat(Math.max(0, width - stringWidth(cut)))
  return align === 'left' ? cut + space : space + cut
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

export function cutToWidth(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  if (width <= 0) return ''
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** Longer values are truncated before they are measured, which is slow. */
const maxCellLength = 2_000

/** Rows of a result. Request them with `_timestamps=iso`: the service knows which numbers are timestamps. */
export function formatRows(rows: readonly Record<string, unknown>[], output: CommandOutput): string {
  const names = Object.keys(rows[0] ?? {})
  const columns = names.map((name) => ({
    title: name,
    align: rows.every((row) => typeof row[name] === 'number' || row[name] === null) ? 'right' : 'left',
  })) satisfies { title: string; align: 'left' | 'right' }[]
  return formatTable(
    columns,
    rows.map((row) => names.map((name) => cell(row[name]))),
    output,
  )
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text
}

/** How much of a long line is shown before the position. */
const leadingCharacters = 40

/** The line of SQL with a mark under the column. Lines and columns count from 1. */
export function sqlExcerpt(
  sql: string,
  { line, column }: { line: number; column: number },
  width: number,
): string | undefined {
  const text = sql.split('\n')[line - 1]
  if (text === undefined) return undefined
  const number = `${line} | `
  const before = shown(text.slice(0, column - 1))
  const after = shown(text.slice(column - 1).trimEnd())
  const available = width - number.length
  const isLong = stringWidth(before) + stringWidth(after) > available
  const head = isLong && before.length > leadingCharacters ? `…${before.slice(-leadingCharacters)}` : before
  const margin = `${' '.repeat(number.length - 2)}| `
  return `${number}${cutToWidth(head + after, available)}\n${margin}${' '.repeat(stringWidth(head))}^`
}

/** One column per tab, so that the mark stays below its character. */
function shown(text: string): string {
  return visible(text.replaceAll('\t', ' '))
}

import stringWidth from 'string-width'
import type { CommandOutput } from '../command-io.ts'
import { visible } from './format.ts'

const gap = '  '
const minColumnWidth = 8
/** Longer values are truncated before they are measured, which is slow. */
const maxCellLength = 2_000

/** Aligned columns, numbers to the right; on a terminal, lines are at most as long as the terminal is wide. */
export function formatTable(
  titles: readonly string[],
  rows: readonly (readonly unknown[])[],
  textOf: (value: unknown) => string,
  { isTerminal, columns: available, colors }: Pick<CommandOutput, 'isTerminal' | 'columns' | 'colors'>,
): string {
  if (titles.length === 0) return ''
  const columns = titles.map((title, i) => {
    const values = rows.map((row) => row[i])
    const cells = [title, ...values.map(textOf)].map(cellText)
    const width = cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), 0)
    return { cells, width, isNumeric: values.every((value) => typeof value === 'number' || value === null) }
  })
  let most = Math.max(...columns.map(({ width }) => width))
  const total = () =>
    columns.reduce((sum, { width }) => sum + Math.min(width, most) + gap.length, -gap.length)
  while (isTerminal && most > minColumnWidth && total() > available) most--
  const [head = '', ...lines] = Array.from({ length: rows.length + 1 }, (_, i) => {
    const cells = columns.map((column) => {
      const width = Math.min(column.width, most)
      const text = cutToWidth(column.cells[i] as string, width)
      const space = ' '.repeat(width - stringWidth(text))
      return column.isNumeric ? space + text : text + space
    })
    return cells.join(gap).trimEnd()
  })
  return `${[colors.bold(head), ...lines].join('\n')}\n`
}

function cellText(text: string): string {
  return visible(text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text)
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

function cutToWidth(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

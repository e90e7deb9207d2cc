import type { CommandOutput } from '../command-io.ts'
import { cutToWidth, textWidth, visible } from './text-width.ts'

export interface TableColumn {
  title: string
  align?: 'left' | 'right'
}

const gap = '  '
/** Narrower than this, a column is of no use to anybody. */
const minColumn = 8

/** Lines of aligned columns; on a terminal no longer than it is wide. */
export function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  { isTerminal, columns: width, colors }: Pick<CommandOutput, 'isTerminal' | 'columns' | 'colors'>,
): string {
  if (columns.length === 0) return ''
  const shown = rows.map((row) => columns.map((_, i) => visible(row[i] ?? '')))
  const wanted = columns.map(({ title }, i) =>
    shown.reduce((most, row) => Math.max(most, textWidth(row[i] as string)), textWidth(title)),
  )
  const widths = isTerminal ? fitWidths(wanted, width - gap.length * (columns.length - 1)) : wanted
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => pad(cell, widths[i] as number, columns[i]?.align ?? 'left'))
      .join(gap)
      .trimEnd()
  const head = colors.bold(line(columns.map(({ title }) => title)))
  return `${[head, ...shown.map(line)].join('\n')}\n`
}

/** The widest columns give way first. */
function fitWidths(wanted: readonly number[], available: number): number[] {
  let most = Math.max(...wanted)
  const total = (limit: number) => wanted.reduce((sum, width) => sum + Math.min(width, limit), 0)
  while (most > minColumn && total(most) > available) most--
  return wanted.map((width) => Math.min(width, most))
}

function pad(cell: string, width: number, align: 'left' | 'right'): string {
  const cut = cutToWidth(cell, width)
  const space = ' '.repeat(Math.max(0, width - textWidth(cut)))
  return align === 'left' ? cut + space : space + cut
}

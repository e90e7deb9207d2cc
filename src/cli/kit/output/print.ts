import type { CommandIo, CommandOutput } from '../command-io.ts'
import { visible } from './format.ts'

export function printJson(io: CommandIo, value: unknown): Promise<void> {
  return io.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** A field of the rows, or a value made from one. */
export type ListColumn<T> = (keyof T & string) | { title: string; of: (row: T) => unknown }

export async function printList<T>(
  io: CommandIo,
  columns: readonly ListColumn<T>[],
  rows: readonly T[],
  emptyMessage: string,
): Promise<void> {
  if (rows.length === 0) return io.stderr.write(`${emptyMessage}\n`)
  const titles = columns.map((column) =>
    typeof column === 'string' ? column.replaceAll('_', ' ').toUpperCase() : column.title,
  )
  const values = rows.map((row) =>
    columns.map((column) => (typeof column === 'string' ? row[column] : column.of(row))),
  )
  // It measures text with tables of Unicode, which help and completion do not need.
  const { formatTable } = await import('./table.ts')
  return io.stdout.write(formatTable(titles, values, valueText, io.stdout))
}

export function printFields(
  output: CommandOutput,
  fields: readonly (readonly [name: string, value: unknown])[],
): Promise<void> {
  const width = Math.max(...fields.map(([name]) => name.length))
  const lines = fields.map(
    ([name, value]) => `${output.colors.bold(name.padEnd(width))}  ${visible(valueText(value))}\n`,
  )
  return output.write(lines.join(''))
}

/** A value of a response for people: "-" for nothing, words for a list, pairs for an object. */
function valueText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(valueText).join(' ') || '-'
  if (typeof value !== 'object') return shortTime(String(value ?? '')) || '-'
  const pairs = Object.entries(value ?? {}).map(([name, one]) => `${name}=${valueText(one)}`)
  return pairs.join(' ') || '-'
}

export function shortTime(iso: string | null): string | null {
  return iso?.replace(/(T[\d:]{8})\.\d+Z$/, '$1Z') ?? null
}

/** The lines of a patch, with colors for what is removed and added. */
export function coloredPatch(patch: string, colors: CommandOutput['colors']): string {
  const lines = patch.split('\n').map((line) => {
    if (/^(---|\+\+\+)/.test(line)) return colors.bold(visible(line))
    if (line.startsWith('-')) return colors.red(visible(line))
    return line.startsWith('+') ? colors.green(visible(line)) : visible(line)
  })
  return lines.join('\n')
}

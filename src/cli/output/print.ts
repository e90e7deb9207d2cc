import type { CommandIo, CommandOutput } from '../command-io.ts'
import { formatTable, type TableColumn } from './table.ts'
import { visible } from './text-width.ts'

/** Data for programs. */
export function printJson(io: CommandIo, value: unknown): Promise<void> {
  return io.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

export interface ListColumn<T> extends TableColumn {
  of: (row: T) => string | number | null | undefined
}

/** A list for people; words where it is empty. */
export function printList<T>(
  io: CommandIo,
  columns: readonly ListColumn<T>[],
  rows: readonly T[],
  emptyWords: string,
): Promise<void> {
  if (rows.length === 0) return io.stderr.write(`${emptyWords}\n`)
  const cells = rows.map((row) => columns.map(({ of }) => String(of(row) ?? '-')))
  return io.stdout.write(formatTable(columns, cells, io.stdout))
}

/** One thing with its fields, one a line. */
export function printFields(
  output: CommandOutput,
  fields: readonly (readonly [name: string, value: string | number | null | undefined])[],
): Promise<void> {
  const width = Math.max(...fields.map(([name]) => name.length))
  const lines = fields.map(
    ([name, value]) => `${output.colors.bold(name.padEnd(width))}  ${visible(String(value ?? '-'))}`,
  )
  return output.write(`${lines.map((line) => line.trimEnd()).join('\n')}\n`)
}

/** An instant to the second, as people compare them. */
export function shortTime(iso: string | null): string | null {
  return iso === null ? null : iso.replace(/\.\d+Z$/, 'Z')
}

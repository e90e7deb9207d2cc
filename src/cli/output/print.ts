import type { CommandIo, CommandOutput } from '../command-io.ts'
import type { TableColumn } from './table.ts'
import { visible } from './visible.ts'

export function printJson(io: CommandIo, value: unknown): Promise<void> {
  return io.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

export interface ListColumn<T> extends TableColumn {
  of: (row: T) => string | number | null | undefined
}

/** Prints a table, or a message if there are no rows. */
export async function printList<T>(
  io: CommandIo,
  columns: readonly ListColumn<T>[],
  rows: readonly T[],
  emptyMessage: string,
): Promise<void> {
  if (rows.length === 0) return io.stderr.write(`${emptyMessage}\n`)
  const cells = rows.map((row) => columns.map(({ of }) => String(of(row) ?? '-')))
  // It measures text with tables of Unicode, which help and completion do not need.
  const { formatTable } = await import('./table.ts')
  return io.stdout.write(formatTable(columns, cells, io.stdout))
}

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

export function shortTime(iso: string | null): string | null {
  return iso === null ? null : iso.replace(/\.\d+Z$/, 'Z')
}

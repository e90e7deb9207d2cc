import type { CommandOutput } from '../command-io.ts'
import { formatTable } from './table.ts'

/** Longer values are truncated before they are measured, which is slow. */
const maxCellLength = 2_000

export function formatRows(rows: readonly Record<string, unknown>[], output: CommandOutput): string {
  const names = Object.keys(rows[0] ?? {})
  const columns = names.map((name) => ({
    title: name,
    align: rows.every((row) => typeof row[name] === 'number' || row[name] === null) ? 'right' : 'left',
  })) satisfies { title: string; align: 'left' | 'right' }[]
  return formatTable(
    columns,
    rows.map((row) => names.map((name) => cell(name, row[name]))),
    output,
  )
}

function cell(name: string, value: unknown): string {
  if (value === null || value === undefined) return ''
  // Timestamps are in microseconds.
  if (name === 'timestamp' && Number.isSafeInteger(value)) return isoMicros(value as number)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text
}

const maxDateMs = 8.64e15

function isoMicros(micros: number): string {
  const ms = Math.floor(micros / 1000)
  if (Math.abs(ms) > maxDateMs) return String(micros)
  const rest = String(micros - ms * 1000).padStart(3, '0')
  return new Date(ms).toISOString().replace('Z', `${rest}Z`)
}

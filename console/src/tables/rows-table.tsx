import type { LookupTable, Row } from '../api/shapes.ts'
import { ResultTable } from '../query/result/result-table.tsx'

interface RowsTableProps {
  columns: LookupTable['columns']
  rows: readonly Row[]
}

/** Rows below names and types. Times are shown as those of results. */
export function RowsTable({ columns, rows }: RowsTableProps) {
  const labels = Object.fromEntries(columns.map(({ name, type }) => [name, `${name} (${type})`]))
  const typed = columns.map(({ name, type }) => ({
    name,
    type: type === 'timestamp' ? 'DateTime64(6)' : type,
  }))
  return <ResultTable rows={rows} columns={typed} labels={labels} />
}

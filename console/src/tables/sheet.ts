import { columnName, type TableColumn, TypeTeller, type Value } from '../../../src/shared/column-types.ts'
import { type CsvField, csvLine, csvTable } from '../../../src/shared/csv.ts'
import type { Row } from '../api/shapes.ts'

/** Rows as the service would store them. */
export interface Sheet {
  /** With the types that are declared, or else told from the rows that were read. */
  columns: TableColumn[]
  first: Row[]
  /** Number of rows that were read. */
  read: number
  /** Whether these are all. */
  isWhole: boolean
  csv: () => Blob
}

const maxShown = 50
/** The page stays quick. The service reads all of them. */
const maxRead = 100_000

/** Reads CSV, or what was copied from a spreadsheet. Throws if it is neither. */
export function readSheet(text: string, declared: readonly TableColumn[] = []): Sheet {
  const separator = separatorOf(text)
  const table = csvTable(text, separator)
  const names = table.names.map(nameOf)
  const teller = new TypeTeller(names)
  const shown: CsvField[][] = []
  let isWhole = true
  for (const row of table.rows()) {
    if (teller.rows === maxRead) {
      isWhole = false
      break
    }
    teller.add(row)
    if (shown.length < maxShown) shown.push(row)
  }
  const columns = teller.columns.map((column) => declared.find(({ name }) => name === column.name) ?? column)
  return {
    columns,
    first: shown.map((row) =>
      Object.fromEntries(columns.map(({ name, type }, at) => [name, shownValue(type, row[at] ?? null)])),
    ),
    read: teller.rows,
    isWhole,
    csv() {
      const isCsv = separator === ',' && names.every((name, at) => name === table.names[at])
      const lines = function* () {
        yield `${csvLine(names)}\n`
        for (const row of table.rows()) yield `${csvLine(row)}\n`
      }
      return new Blob(isCsv ? [text] : [...lines()], { type: 'text/csv' })
    },
  }
}

/** Spreadsheets copy tabs, and save semicolons where a comma is a decimal separator. */
function separatorOf(text: string): string {
  const first = text.slice(0, 10_000).split('\n')[0] ?? ''
  return first.includes('\t') ? '\t' : first.includes(';') && !first.includes(',') ? ';' : ','
}

/** `Customer ID` becomes `customer_id`, which SQL can read. */
function nameOf(title: string): string {
  if (columnName.test(title)) return title
  const letters = title.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const name = letters.replace(/[^a-z0-9]+/g, '_').replace(/^_|_$/g, '')
  return columnName.test(name) ? name : title
}

function shownValue(type: TableColumn['type'], field: CsvField): Value {
  if (field === null || type === 'text' || type === 'timestamp') return field
  const value = type === 'number' ? Number(field) : field.toLowerCase() === 'true'
  return Number.isNaN(value) ? field : value
}

import { sqlText } from '../sql/names.ts'
import type { Engine, Limits, Statement } from './engine.ts'

/** The rows of a result in the format JSONEachRow. */
export function readJsonRows<Row>(body: Buffer): Row[] {
  return body
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row)
}

/** Runs a query and returns its rows. */
export async function queryRows<Row>(
  engine: Engine,
  statement: Omit<Statement, 'format'>,
  limits: Limits,
): Promise<Row[]> {
  const { body } = await engine.query({ ...statement, format: 'JSONEachRow' }, limits)
  return readJsonRows<Row>(body)
}

/** Rows to insert in the same format. */
export function writeJsonRows(rows: readonly object[]): Buffer {
  return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

export interface RowMember {
  name: string
  /** Expression of its value. */
  sql: string
  /** Whether the value is text that holds JSON, and stands in the row as it is. */
  isJson?: boolean
}

/**
 * A row as the text of a JSON object, written by the engine: the only way in which JSON text that is stored comes back to
 * the byte. A value that is no JSON becomes a JSON string.
 */
export function jsonRowSql(members: readonly RowMember[]): string {
  const parts = members.map(({ name, sql, isJson }, index) => {
    const key = sqlText(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)
    return `${key}, ifNull(${isJson ? jsonText(sql) : `toJSONString(${sql})`}, 'null')`
  })
  return `concat(${parts.join(', ')}, '}') AS r`
}

/**
 * A line break outside of strings means nothing in JSON, but it would end the row. The engine takes text with a byte order mark
 * for JSON, and other readers do not.
 */
function jsonText(sql: string): string {
  return `if(isValidJSON(${sql}) AND NOT startsWith(${sql}, unhex('EFBBBF')), translate(${sql}, '\\n\\r', '  '), toJSONString(${sql}))`
}

const asTheyAre = { format_custom_escaping_rule: 'Raw', format_custom_row_after_delimiter: '' } as const

/** Output of rows that are one column of text: lines, or what `JSONEachRow` writes as an array. */
export const textRows = {
  format: 'CustomSeparated',
  lines: { ...asTheyAre, format_custom_row_after_delimiter: '\n' },
  array: {
    ...asTheyAre,
    format_custom_result_before_delimiter: '[\n',
    format_custom_row_between_delimiter: ',\n',
    format_custom_result_after_delimiter: '\n]\n',
  },
} as const

/** How values are written in JSON that leaves the service. */
export const outwardJson = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_escape_forward_slashes: 0,
  output_format_json_quote_denormals: 0,
} as const

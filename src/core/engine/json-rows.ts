import { sqlName, sqlText } from '../sql/names.ts'
import type { Engine, Limits, Statement } from './engine.ts'

export function readJsonRows<Row>(body: Buffer): Row[] {
  return body
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row)
}

export async function queryRows<Row>(
  engine: Pick<Engine, 'query'>,
  statement: Omit<Statement, 'format'>,
  limits: Limits,
): Promise<Row[]> {
  const { body } = await engine.query({ ...statement, format: 'JSONEachRow' }, limits)
  return readJsonRows<Row>(body)
}

/** Runs a query and returns its result as text, without quotes or escapes. */
export async function queryText(
  engine: Pick<Engine, 'query'>,
  statement: Omit<Statement, 'format'>,
  limits: Limits,
): Promise<string> {
  const { body } = await engine.query({ ...statement, format: 'TabSeparatedRaw' }, limits)
  return body.toString().trim()
}

export function writeJsonRows(rows: readonly object[]): Buffer {
  return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

interface RowMember {
  name: string
  sql: string
  /** The value is JSON text, which becomes part of the row unchanged. */
  isJson?: boolean
  /** Whether its texts are certainly UTF-8, as stored ones are. */
  isCertain?: boolean
}

/** A value with the size that it has in the output: the engine counts a constant, or a dictionary's text, only once. */
export function written(sql: string, type?: string): string {
  return `materialize(${type === undefined ? sql : `CAST(${sql}, ${sqlText(type)})`})`
}

export const rowTooLarge = 'This row is larger than a result may be'

/** Condition that stops a query at a row with more bytes, before the row is written. */
export function withinBytes(columns: readonly string[], maxBytes: number): string {
  return `NOT throwIf(byteSize(${columns.join(', ')}) > ${maxBytes}, ${sqlText(rowTooLarge)})`
}

/** Expression for a row as JSON text, which keeps stored JSON byte for byte. Invalid JSON becomes a JSON string. */
export function jsonRowSql(members: readonly RowMember[]): string {
  const parts = members.map((member, index) => {
    const key = sqlText(`${index === 0 ? '{' : ','}${JSON.stringify(member.name)}:`)
    return `${key}, ${jsonValueSql(member)}`
  })
  return `${written(`concat(${parts.join(', ')}, '}')`, 'String')} AS r`
}

/** Expression for a value as JSON text. */
export function jsonValueSql({ sql, isJson, isCertain = true }: Omit<RowMember, 'name'>): string {
  const json = `ifNull(${isJson ? jsonText(sql) : `toJSONString(${sql})`}, 'null')`
  return isCertain ? json : validText(json)
}

/** Text with U+FFFD in place of bytes that are not UTF-8. */
export function validText(sql: string): string {
  return `toValidUTF8(${sql})`
}

/** JSON text for a row, or other text as a JSON string. A byte order mark is JSON for the engine, but for no other parser. */
export function jsonText(sql: string): string {
  return `if(isValidJSON(${sql}) AND NOT startsWith(${sql}, unhex('EFBBBF')), translate(${sql}, '\\n\\r', '  '), toJSONString(${sql}))`
}

/** Settings for rows as JSON objects in which some columns are JSON already. */
export function templateRows(columns: readonly { name: string; isJson: boolean }[], isArray: boolean) {
  const members = columns.map(({ name, isJson }) => {
    return `${JSON.stringify(name).replaceAll('$', '$$$$')}:\${${sqlName(name)}:${isJson ? 'Raw' : 'JSON'}}`
  })
  return {
    format_template_row_format: `{${members.join(',')}}${isArray ? '' : '\n'}`,
    format_template_rows_between_delimiter: isArray ? ',\n' : '',
    format_template_resultset_format: isArray ? `[\n\${data}\n]\n` : `\${data}`,
  }
}

const unescaped = { format_custom_escaping_rule: 'Raw', format_custom_row_after_delimiter: '' } as const

/** Formats for rows that are a single column of text: as lines, or as an array. */
export const textRows = {
  format: 'CustomSeparated',
  lines: { ...unescaped, format_custom_row_after_delimiter: '\n' },
  array: {
    ...unescaped,
    format_custom_result_before_delimiter: '[\n',
    format_custom_row_between_delimiter: ',\n',
    format_custom_result_after_delimiter: '\n]\n',
  },
} as const

export const outputJson = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_escape_forward_slashes: 0,
  output_format_json_quote_denormals: 0,
} as const

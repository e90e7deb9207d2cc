/** Unlike the binding, this format reports what was read: lines of progress between the rows, and the columns first. */
export const measuredFormat = 'JSONEachRowWithProgress'

export const foreignOutput = 'The session has output of another query.'

const newline = 0x0a
const closing = 0x7d
const columnsOpen = Buffer.from('{"meta":')
const rowOpen = Buffer.from('{"row":')
const rowClose = '}'.length
const progressOpen = Buffer.from('{"progress":')
const exceptionOpen = Buffer.from('{"exception":')
const totalsOpen = Buffer.from('{"totals":')

export interface RowForm {
  before: string
  between: string
  behind: string
  after: string
  /** For each column, whether its text is written as it is; undefined if none is. */
  raw?: readonly boolean[]
  /** Rows consist of the text of their only column. */
  isText?: true
}

export const rowLines: RowForm = { before: '', between: '', behind: '\n', after: '' }
export const rowArray: RowForm = { before: '[\n', between: ',\n', behind: '', after: '\n]\n' }

/** Longer separators would not fit into the space of the `{"row":…}` around each row. */
const maxBetween = 8

/** The requested form of the rows. Undefined if it cannot be produced from the measured format. */
export function rowFormOf(sql: string, settings: ReadonlyMap<string, string>): RowForm | undefined {
  if (sql.endsWith('\nFORMAT JSONEachRow')) {
    return settings.get('output_format_json_array_of_rows') === '1' ? rowArray : rowLines
  }
  if (sql.endsWith('\nFORMAT Template')) return templateForm(settings)
  if (!sql.endsWith('\nFORMAT CustomSeparated')) return undefined
  const custom = (name: string) => settings.get(`format_custom_${name}_delimiter`) ?? ''
  const form = {
    before: custom('result_before'),
    between: custom('row_between'),
    behind: custom('row_after'),
    after: custom('result_after'),
    isText: true as const,
  }
  const isRaw = settings.get('format_custom_escaping_rule') === 'Raw'
  return isRaw && form.between.length + form.behind.length <= maxBetween ? form : undefined
}

/** Where the rows are in a template of the result. */
const templateData = `\${data}`

const member = /[{,]"(?:[^"\\]|\\.)*":\$\{`(?:[^`\\]|\\.)*`:(JSON|Raw)\}/y

/** A template of JSON objects, as the service writes it. */
function templateForm(settings: ReadonlyMap<string, string>): RowForm | undefined {
  const row = settings.get('format_template_row_format') ?? ''
  const [before, after] = settings.get('format_template_resultset_format')?.split(templateData) ?? []
  const between = settings.get('format_template_rows_between_delimiter') ?? '\n'
  const raw: boolean[] = []
  let end = 0
  member.lastIndex = 0
  for (let found = member.exec(row); found; found = member.exec(row)) {
    raw.push(found[1] === 'Raw')
    end = member.lastIndex
  }
  const isObject = row.startsWith('{') && (row.slice(end) === '}' || row.slice(end) === '}\n')
  if (before === undefined || after === undefined || raw.length === 0 || !isObject) return undefined
  const behind = row.slice(end + 1)
  return between.length + behind.length > maxBetween ? undefined : { before, between, behind, after, raw }
}

/** Converts rows of the measured format. Throws if there is anything else: that is output of another query. */
export function measuredRows(output: Uint8Array, form: RowForm) {
  const lines = Buffer.from(output.buffer, output.byteOffset, output.byteLength)
  const bytes = Buffer.allocUnsafe(
    lines.length + Buffer.byteLength(form.before) + Buffer.byteLength(form.after),
  )
  let length = bytes.write(form.before)
  let rows = 0
  let started = false
  let progress: Buffer | undefined
  for (let start = 0; start < lines.length; ) {
    const found = lines.indexOf(newline, start)
    const end = found < 0 ? lines.length : found
    if (started && begins(lines, start, rowOpen)) {
      // The line of a row ends in two braces; a line that was cut short continues with another one's beginning.
      if (lines[end - 1] !== closing || lines[end - 2] !== closing) throw new Error(foreignOutput)
      if (rows > 0 && form.between !== '') length += bytes.write(form.between, length)
      const row = lines.subarray(start + rowOpen.length, end - rowClose)
      if (form.isText) length = writeOnly(row, bytes, length)
      else if (form.raw) length = writeMembers(row, form.raw, bytes, length)
      else length += row.copy(bytes, length)
      if (form.behind !== '') length += bytes.write(form.behind, length)
      rows++
    } else if (begins(lines, start, progressOpen)) progress = lines.subarray(start, end)
    // Totals of no rows stand before the columns.
    else if (!begins(lines, start, totalsOpen)) {
      if (begins(lines, start, columnsOpen) === started) throw new Error(foreignOutput)
      if (begins(lines, start, exceptionOpen)) throw new Error(lines.toString('utf8', start, end))
      started = true
    }
    start = end + 1
  }
  length += bytes.write(form.after, length)
  return { bytes: bytes.subarray(0, length), read: readFrom(progress) }
}

const openObject = 0x7b
const openArray = 0x5b
const closeArray = 0x5d
const comma = 0x2c
const quote = 0x22
const backslash = 0x5c
const letterU = 0x75
const escapes = new Map(
  Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(([letter, meant]) => [
    letter.charCodeAt(0),
    meant.charCodeAt(0),
  ]),
)

/** Writes the text of a row's only column and returns the length of the output. */
function writeOnly(row: Buffer, bytes: Buffer, length: number): number {
  const value = stringEnd(row, 1) + 1
  return row[value] === quote ? writeText(row, value, bytes, length) : length
}

/** Writes an object whose raw members are JSON text in strings. */
function writeMembers(row: Buffer, raw: readonly boolean[], bytes: Buffer, start: number): number {
  let length = start
  let copied = 0
  let at = 1
  for (const isRaw of raw) {
    const value = stringEnd(row, at) + 1
    const end = valueEnd(row, value)
    if (isRaw && row[value] === quote) {
      length += row.copy(bytes, length, copied, value)
      length = writeText(row, value, bytes, length)
      copied = end
    }
    at = end + 1
  }
  return length + row.copy(bytes, length, copied)
}

/** The index after a string. */
function stringEnd(row: Buffer, start: number): number {
  for (let at = row.indexOf(quote, start + 1); at >= 0; at = row.indexOf(quote, at + 1)) {
    let escapes = 0
    while (row[at - 1 - escapes] === backslash) escapes++
    if (escapes % 2 === 0) return at + 1
  }
  return row.length
}

/** The index after a value of a member. */
function valueEnd(row: Buffer, start: number): number {
  if (row[start] === quote) return stringEnd(row, start)
  let depth = 0
  for (let at = start; at < row.length; at++) {
    const byte = row[at]
    if (byte === quote) at = stringEnd(row, at) - 1
    else if (byte === openObject || byte === openArray) depth++
    else if (depth === 0 && (byte === comma || byte === closing)) return at
    else if (byte === closing || byte === closeArray) depth--
  }
  return row.length
}

/** Writes the unescaped text of a string and returns the length of the output. Several times faster than JSON.parse. */
function writeText(row: Buffer, start: number, bytes: Buffer, written: number): number {
  let length = written
  for (let at = start + 1; row[at] !== quote; at++) {
    const byte = row[at] as number
    if (byte !== backslash) bytes[length++] = byte
    else if (row[++at] !== letterU) bytes[length++] = escapes.get(row[at] as number) ?? (row[at] as number)
    else {
      // The engine writes only control characters in this form, so there are no surrogate pairs.
      length += bytes.write(
        String.fromCharCode(Number.parseInt(row.toString('latin1', at + 1, at + 5), 16)),
        length,
      )
      at += 4
    }
  }
  return length
}

/** Progress is cumulative, so the last line has the totals. */
function readFrom(line: Buffer | undefined) {
  if (line === undefined) return { read_rows: '0', read_bytes: '0' }
  const { progress } = JSON.parse(line.toString()) as { progress: Record<string, string> }
  return { read_rows: progress.read_rows ?? '0', read_bytes: progress.read_bytes ?? '0' }
}

function begins(lines: Buffer, at: number, opening: Buffer): boolean {
  for (let i = 0; i < opening.length; i++) if (lines[at + i] !== opening[i]) return false
  return true
}

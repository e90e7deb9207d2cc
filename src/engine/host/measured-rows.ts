/**
 * The binding reports how many rows a result has, and not how many were read for it. The format JSONEachRowWithProgress
 * does: it writes lines with the progress so far between the rows, and one with the columns before them.
 */
export interface MeasuredRows {
  bytes: Buffer
  readRows: number
  readBytes: number
}

export const measuredFormat = 'JSONEachRowWithProgress'

export const strangeOutput = 'A session held the output of another query.'

const newline = 0x0a
const closing = 0x7d
const columnsOpen = Buffer.from('{"meta":')
const rowOpen = Buffer.from('{"row":')
const rowClose = '}'.length
const progressOpen = Buffer.from('{"progress":')
const exceptionOpen = Buffer.from('{"exception":')

/** What stands around rows. */
export interface RowForm {
  before: string
  between: string
  /** Behind each row. */
  behind: string
  after: string
  /** Whether a row is the text of its only column. */
  isText: boolean
}

export const rowLines: RowForm = { before: '', between: '', behind: '\n', after: '', isText: false }
export const rowArray: RowForm = { before: '[\n', between: ',\n', behind: '', after: '\n]\n', isText: false }

/** More than this between two rows would not fit into the place of what is left out around them. */
const maxBetween = 8

/**
 * The form that a statement's rows are given in, if they can be taken out of the format that has the figures: objects of JSON,
 * or texts with separators. Undefined for a statement that ends in another format.
 */
export function rowFormOf(sql: string, settings: ReadonlyMap<string, string>): RowForm | undefined {
  if (sql.endsWith('\nFORMAT JSONEachRow')) {
    return settings.get('output_format_json_array_of_rows') === '1' ? rowArray : rowLines
  }
  if (!sql.endsWith('\nFORMAT CustomSeparated')) return undefined
  const custom = (name: string) => settings.get(`format_custom_${name}_delimiter`) ?? ''
  const form = {
    before: custom('result_before'),
    between: custom('row_between'),
    behind: custom('row_after'),
    after: custom('result_after'),
    isText: true,
  }
  const isRaw = settings.get('format_custom_escaping_rule') === 'Raw'
  return isRaw && form.between.length + form.behind.length <= maxBetween ? form : undefined
}

/**
 * Takes the rows out of it and puts them into another form. The line of columns comes before the rows and is the only one:
 * where it is elsewhere, another query left something behind before it.
 */
export function measuredRows(given: Uint8Array, form: RowForm): MeasuredRows {
  const lines = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
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
      // A row is an object within one; a line that broke off has another's beginning behind it.
      if (lines[end - 1] !== closing || lines[end - 2] !== closing) throw new Error(strangeOutput)
      if (rows > 0 && form.between !== '') length += bytes.write(form.between, length)
      const row = lines.subarray(start + rowOpen.length, end - rowClose)
      if (form.isText) length = writeText(row, bytes, length)
      else length += row.copy(bytes, length)
      if (form.behind !== '') length += bytes.write(form.behind, length)
      rows++
    } else if (begins(lines, start, progressOpen)) progress = lines.subarray(start, end)
    else if (begins(lines, start, columnsOpen) === started) throw new Error(strangeOutput)
    else if (begins(lines, start, exceptionOpen)) throw new Error(lines.toString('utf8', start, end))
    else started = true
    start = end + 1
  }
  length += bytes.write(form.after, length)
  return { bytes: bytes.subarray(0, length), ...readFrom(progress) }
}

const quote = 0x22
const backslash = 0x5c
const letterU = 0x75
const escapes = new Map(
  Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(([letter, meant]) => [
    letter.charCodeAt(0),
    meant.charCodeAt(0),
  ]),
)

/**
 * Writes the text of a row's only column without its escapes; returns where it ends. Byte by byte, since the result never gets
 * longer that way, whatever the text holds, and a long one is read in a fraction of the time that parsing takes.
 */
function writeText(row: Buffer, bytes: Buffer, length: number): number {
  let at = 2
  while (row[at] !== quote) at += row[at] === backslash ? 2 : 1
  // Behind the name: its quote, a colon, and the quote of the text.
  at += 2
  if (row[at] !== quote) return length
  for (at++; row[at] !== quote; at++) {
    const byte = row[at] as number
    if (byte !== backslash) bytes[length++] = byte
    else if (row[++at] !== letterU) bytes[length++] = escapes.get(row[at] as number) ?? (row[at] as number)
    else {
      // Only what has no other escape is written so, and none of it is a half of a pair.
      length += bytes.write(
        String.fromCharCode(Number.parseInt(row.toString('latin1', at + 1, at + 5), 16)),
        length,
      )
      at += 4
    }
  }
  return length
}

/** Each line of progress counts from the beginning, so the last one has it all. */
function readFrom(line: Buffer | undefined): { readRows: number; readBytes: number } {
  if (line === undefined) return { readRows: 0, readBytes: 0 }
  const { progress } = JSON.parse(line.toString()) as { progress: Record<string, string> }
  return { readRows: Number(progress.read_rows ?? 0), readBytes: Number(progress.read_bytes ?? 0) }
}

function begins(lines: Buffer, at: number, opening: Buffer): boolean {
  for (let i = 0; i < opening.length; i++) if (lines[at + i] !== opening[i]) return false
  return true
}

/**
 * The binding reports how many rows a result has, and not how many were read for it. The format JSONEachRowWithProgress
 * does: it writes lines with the progress so far between the rows, and one with the columns before them.
 */
export interface MeasuredRows {
  bytes: Buffer
  readRows: number
  readBytes: number
}

export const strangeOutput = 'A session held the output of another query.'

const newline = 0x0a
const closing = 0x7d
const columnsOpen = Buffer.from('{"meta":')
const rowOpen = Buffer.from('{"row":')
const rowClose = '}'.length
const progressOpen = Buffer.from('{"progress":')
const exceptionOpen = Buffer.from('{"exception":')
const betweenRows = Buffer.from(',\n')
const arrayOpen = Buffer.from('[\n')
const arrayClose = Buffer.from('\n]\n')

/**
 * Makes of it what JSONEachRow would have given, to the byte: lines, or an array of them. The line of columns comes
 * before the rows and is the only one: where it is elsewhere, another query left something behind before it.
 */
export function measuredRows(given: Uint8Array, asArray: boolean): MeasuredRows {
  const lines = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  const bytes = Buffer.allocUnsafe(lines.length + arrayOpen.length + arrayClose.length)
  let length = 0
  const add = (part: Buffer) => {
    length += part.copy(bytes, length)
  }
  let rows = 0
  let started = false
  let progress: Buffer | undefined
  if (asArray) add(arrayOpen)
  for (let start = 0; start < lines.length; ) {
    const found = lines.indexOf(newline, start)
    const end = found < 0 ? lines.length : found
    if (started && begins(lines, start, rowOpen)) {
      // A row is an object within one; a line that broke off has another's beginning behind it.
      if (lines[end - 1] !== closing || lines[end - 2] !== closing) throw new Error(strangeOutput)
      if (asArray && rows > 0) add(betweenRows)
      add(lines.subarray(start + rowOpen.length, end - rowClose))
      if (!asArray) bytes[length++] = newline
      rows++
    } else if (begins(lines, start, progressOpen)) progress = lines.subarray(start, end)
    else if (begins(lines, start, columnsOpen) === started) throw new Error(strangeOutput)
    else if (begins(lines, start, exceptionOpen)) throw new Error(lines.toString('utf8', start, end))
    else started = true
    start = end + 1
  }
  if (asArray) add(arrayClose)
  return { bytes: bytes.subarray(0, length), ...readFrom(progress) }
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

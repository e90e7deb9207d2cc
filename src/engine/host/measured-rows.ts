/**
 * The binding tells how many rows a result has, and not how many were read for it. One format of the engine does: it
 * writes lines with the progress so far between the rows. Asked for that one, the engine gives both. Gives nothing for
 * a statement that ends in another format.
 */
export function measuredStatement(sql: string): string | undefined {
  return sql.endsWith(plainFormat) ? `${sql}WithProgress` : undefined
}

const plainFormat = '\nFORMAT JSONEachRow'

export interface MeasuredRows {
  bytes: Buffer
  readRows: number
  readBytes: number
}

const newline = 0x0a
const rowOpen = Buffer.from('{"row":')
const rowClose = '}'.length
const progressOpen = Buffer.from('{"progress":')
const exceptionOpen = Buffer.from('{"exception":')
const betweenRows = Buffer.from(',\n')
const arrayOpen = Buffer.from('[\n')
const arrayClose = Buffer.from('\n]\n')

/** Makes of it what JSONEachRow would have given, to the byte: lines, or an array of them. */
export function measuredRows(given: Uint8Array, asArray: boolean): MeasuredRows {
  const lines = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  const bytes = Buffer.allocUnsafe(lines.length + arrayOpen.length + arrayClose.length)
  let length = 0
  const add = (part: Buffer) => {
    length += part.copy(bytes, length)
  }
  let rows = 0
  let progress: Buffer | undefined
  if (asArray) add(arrayOpen)
  for (let start = 0; start < lines.length; ) {
    const found = lines.indexOf(newline, start)
    const end = found < 0 ? lines.length : found
    if (begins(lines, start, rowOpen)) {
      if (asArray && rows > 0) add(betweenRows)
      add(lines.subarray(start + rowOpen.length, end - rowClose))
      if (!asArray) bytes[length++] = newline
      rows++
    } else if (begins(lines, start, progressOpen)) progress = lines.subarray(start, end)
    else if (begins(lines, start, exceptionOpen)) throw new Error(lines.toString('utf8', start, end))
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
  return lines.compare(opening, 0, opening.length, at, Math.min(at + opening.length, lines.length)) === 0
}

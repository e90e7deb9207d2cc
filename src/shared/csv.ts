/** Null: an empty field without quotes. */
export type CsvField = string | null

/** What is wrong with a text, as the end of a sentence. Rows are counted from 1, the header included. */
export class CsvProblem extends Error {}

const [quote, newline, carriageReturn] = [0x22, 0x0a, 0x0d]

/** Limits of a record. Reading stops at the first that is exceeded. */
export interface CsvLimits {
  maxFields: number
  maxFieldLength: number
}

const noLimits: CsvLimits = { maxFields: Number.POSITIVE_INFINITY, maxFieldLength: Number.POSITIVE_INFINITY }

/** Reads CSV record by record, in time linear in the length. A byte order mark is skipped. */
export function* csvRecords(
  text: string,
  separator = ',',
  blankLines: 'skipped' | 'read' = 'skipped',
  limits = noLimits,
): Generator<CsvField[]> {
  const between = separator.charCodeAt(0)
  let at = text.startsWith('\ufeff') ? 1 : 0
  let hasRecord = false
  for (let row = 1; at < text.length; row++) {
    // Without a record for each, because there may be millions. Before the first record, none is a row.
    if (blankLines === 'skipped' || !hasRecord) {
      for (; endsLine(text, at); row++) at += text.charCodeAt(at) === carriageReturn ? 2 : 1
      if (at >= text.length) return
    }
    hasRecord = true
    const fields: CsvField[] = []
    for (;;) {
      if (fields.length === limits.maxFields) {
        throw new CsvProblem(`Row ${row} has more than ${limits.maxFields} fields.`)
      }
      const start = at
      if (text.charCodeAt(at) === quote) {
        at = closingQuote(text, start, limits.maxFieldLength) + 1
        if (at === 0) throw new CsvProblem(`Row ${row} has a quote that is not closed.`)
        fields.push(text.slice(start + 1, at - 1).replaceAll('""', '"'))
      } else {
        while (at < text.length && text.charCodeAt(at) !== between && !endsLine(text, at)) at++
        fields.push(at === start ? null : text.slice(start, at))
      }
      if (at - start > limits.maxFieldLength) {
        throw new CsvProblem(`Row ${row} has a value of more than ${limits.maxFieldLength} characters.`)
      }
      if (at >= text.length || endsLine(text, at)) break
      if (text.charCodeAt(at) !== between) throw new CsvProblem(`Row ${row} has text after a closing quote.`)
      at++
    }
    at += text.charCodeAt(at) === carriageReturn ? 2 : 1
    if (blankLines === 'read' || !isBlank(fields)) yield fields
  }
}

/** Where a quoted field ends, whose quotes are doubled; or somewhere beyond its limit. -1 if it does not end. */
function closingQuote(text: string, start: number, maxLength: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at < 0 || text.charCodeAt(at + 1) !== quote || at - start > maxLength) return at
  }
}

/** The names in the first record, and the other records, which must have as many fields. */
export function csvTable(text: string, separator?: string, limits?: CsvLimits) {
  const [header] = csvRecords(text, separator, 'skipped', limits)
  if (!header) throw new CsvProblem('The body is empty. Send a header with the names of the columns.')
  return {
    names: header.map((name) => name ?? ''),
    *rows() {
      // The null of a table with one column is a blank line.
      const blankLines = header.length === 1 ? 'read' : 'skipped'
      let row = 0
      for (const record of csvRecords(text, separator, blankLines, limits)) {
        if (row++ === 0) continue
        if (record.length !== header.length) {
          const is = `has ${record.length} fields, and the header ${header.length}`
          throw new CsvProblem(`Row ${row} ${is}. Put values with commas into quotes.`)
        }
        yield record
      }
    },
  }
}

function isBlank(fields: readonly CsvField[]): boolean {
  return fields.length === 1 && fields[0] === null
}

function endsLine(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code === newline || (code === carriageReturn && text.charCodeAt(at + 1) === newline)
}

/** One line, without its end. Empty text is in quotes, null is an empty field. */
export function csvLine(fields: readonly CsvField[]): string {
  const texts = fields.map((field) =>
    field === null ? '' : field === '' || /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
  )
  return texts.join(',')
}

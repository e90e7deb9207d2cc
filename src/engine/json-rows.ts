/** The rows of a result in the format JSONEachRow. */
export function readJsonRows<Row>(body: Buffer): Row[] {
  return body
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row)
}

/** Rows to insert in the same format. */
export function writeJsonRows(rows: readonly object[]): Buffer {
  return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

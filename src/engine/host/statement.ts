import { sqlTokens } from '../../base/sql-tokens.ts'

/** What the host must know of a statement before it lets the engine have it. */
export interface Statement {
  /** First keyword, in capitals. */
  verb: string
  /** Text after the first statement's end: the HTTP interface runs one statement a request. */
  several: boolean
  /** INTO OUTFILE: the one way to a file that no grant governs. */
  writesFile: boolean
}

export function inspectStatement(sql: string): Statement {
  let verb = ''
  let ended = false
  let several = false
  let writesFile = false
  let previous = ''
  for (const token of sqlTokens(sql)) {
    if (token.kind === 'space' || token.kind === 'comment') continue
    const text = sql.slice(token.start, token.end).toUpperCase()
    if (ended) several = true
    if (token.kind === 'symbol' && text === ';') ended = true
    if (token.kind === 'word' && verb === '') verb = text
    if (token.kind === 'word' && text === 'OUTFILE' && previous === 'INTO') writesFile = true
    previous = text
  }
  return { verb, several, writesFile }
}

const readingVerbs = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS'])

export function onlyReads(statement: Statement): boolean {
  return readingVerbs.has(statement.verb)
}

export interface InsertTarget {
  table: string
  columns: string[] | undefined
  format: string
}

const insertForm = /^\s*INSERT\s+INTO\s+([\w.]+)\s*(?:\(([\w\s,.]+)\)\s*)?FORMAT\s+(\w+)\s*$/i

/** Reads the one form of INSERT whose rows come as the request's body. */
export function parseInsert(sql: string): InsertTarget | undefined {
  const match = insertForm.exec(sql)
  if (!match) return undefined
  const [, table, columns, format] = match as unknown as [string, string, string | undefined, string]
  return { table, columns: columns?.split(',').map((column) => column.trim()), format }
}

/** A value as a string literal. The engine reads it back to the very same characters. */
export function quote(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')}'`
}

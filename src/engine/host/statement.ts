import { sqlTokens } from '../../base/sql-tokens.ts'

/** What the host must know of a statement before it lets the engine have it. */
export interface Statement {
  /** First keyword, in capitals. */
  verb: string
  /** Text after the first statement's end: the HTTP interface runs one statement a request. */
  several: boolean
  /** INTO OUTFILE, FROM INFILE and file(): the ways to a file that no grant governs. */
  touchesFile: boolean
  /** Something in it writes, whatever it begins with. */
  writes: boolean
  /** Names of the parameters that it needs, as in {name:Type}. */
  placeholders: Set<string>
}

const readingVerbs = new Set(['SELECT', 'WITH', 'FROM', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS'])

const readsFiles = /^[`"]?(?:file|executable)[`"]?$/i

export function inspectStatement(sql: string): Statement {
  const statement: Statement = {
    verb: '',
    several: false,
    touchesFile: false,
    writes: false,
    placeholders: new Set(),
  }
  let ended = false
  let previous = { kind: 'space', text: '' }
  let beforePrevious = previous
  for (const token of sqlTokens(sql)) {
    if (token.kind === 'space' || token.kind === 'comment') continue
    const text = sql.slice(token.start, token.end)
    if (ended) statement.several = true
    // "\\G" ends a statement as a semicolon does, and a backslash means nothing else outside of quotes.
    if (token.kind === 'symbol' && (text === ';' || text === '\\')) ended = true
    if (token.kind === 'word') {
      if (statement.verb === '') statement.verb = text.toUpperCase()
      const pair = `${previous.text} ${text}`.toUpperCase()
      if (pair === 'INTO OUTFILE' || pair === 'FROM INFILE') statement.touchesFile = true
      if (pair === 'INSERT INTO' || pair === 'PARALLEL WITH') statement.writes = true
    }
    // The function of this name reads files without needing a grant.
    if (text === '(' && readsFiles.test(previous.text)) statement.touchesFile = true
    if (readsFiles.test(text) && [previous.text, beforePrevious.text].some((word) => /^apply$/i.test(word))) {
      statement.touchesFile = true
    }
    if (text === ':' && previous.kind === 'word' && beforePrevious.text === '{') {
      statement.placeholders.add(previous.text)
    }
    beforePrevious = previous
    previous = { kind: token.kind, text }
  }
  if (!readingVerbs.has(statement.verb)) statement.writes = true
  return statement
}

export interface InsertTarget {
  table: string
  columns: string[] | undefined
  format: string
}

const insertForm = /^\s*INSERT\s+INTO\s+([\w.]+)(?:\s*\(([\w\s,.]+)\))?\s+FORMAT\s+(\w+)\s*$/i

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

import { type SqlTokenKind, sqlTokens } from '../../sql/tokens.ts'

export interface Statement {
  verb: string
  /** Whether there is text after the end of the first statement. */
  several: boolean
  /** INTO OUTFILE, FROM INFILE, file() and executable() need no grant, so the host refuses them. */
  touchesFile: boolean
  writes: boolean
  /** Parameters in the form {name:Type}. */
  placeholders: Placeholder[]
  /** Position of the semicolon, or the end of the text. */
  end: number
  /** Whether it ends in a FORMAT clause, or in FORMAT and SETTINGS. */
  tail: 'format' | 'settings' | 'other'
  /** Whether it inserts the rows of a SELECT that has no settings. */
  insertsSelection: boolean
  hasSettings: boolean
}

export interface Placeholder {
  name: string
  type: string
  start: number
  end: number
}

const readingVerbs = new Set(['SELECT', 'WITH', 'FROM', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS'])

const readsFiles = /^[`"]?(?:file|executable)[`"]?$/i

export function inspectStatement(sql: string): Statement {
  const statement: Statement = {
    verb: '',
    several: false,
    touchesFile: false,
    writes: false,
    placeholders: [],
    end: sql.length,
    tail: 'other',
    insertsSelection: false,
    hasSettings: false,
  }
  let ended = false
  let previous = { kind: 'space', text: '', start: 0 }
  let beforePrevious = previous
  let open: Placeholder | undefined
  let depth = 0
  // The statement outside of brackets, reduced to what tells FORMAT and SETTINGS from names.
  let shape = ''
  const words = new Set<string>()
  for (const token of sqlTokens(sql)) {
    if (token.kind === 'space' || token.kind === 'comment') continue
    const text = sql.slice(token.start, token.end)
    if (ended) statement.several = true
    // `\G` ends a statement like a semicolon, and a backslash has no other meaning outside of quotes.
    if (token.kind === 'symbol' && (text === ';' || text === '\\')) {
      if (!ended) statement.end = token.start
      ended = true
      continue
    }
    if (/^[)\]}]$/.test(text)) depth--
    else if (depth === 0) shape += ` ${shapeOf(token.kind, text)}`
    if (/^[([{]$/.test(text)) depth++
    if (token.kind === 'word') {
      if (statement.verb === '') statement.verb = text.toUpperCase()
      if (text.length <= 8) words.add(text.toUpperCase())
      const pair = `${previous.text} ${text}`.toUpperCase()
      if (pair === 'INTO OUTFILE' || pair === 'FROM INFILE') statement.touchesFile = true
      if (pair === 'INSERT INTO' || pair === 'PARALLEL WITH') statement.writes = true
    }
    if (text === '(' && readsFiles.test(previous.text)) statement.touchesFile = true
    if (readsFiles.test(text) && [previous.text, beforePrevious.text].some((word) => /^apply$/i.test(word))) {
      statement.touchesFile = true
    }
    if (text === ':' && previous.kind === 'word' && beforePrevious.text === '{') {
      open = { name: previous.text, type: '', start: beforePrevious.start, end: token.end }
    }
    if (text === '}' && open) {
      statement.placeholders.push({ ...open, type: sql.slice(open.end, token.start).trim(), end: token.end })
      open = undefined
    }
    beforePrevious = previous
    previous = { kind: token.kind, text, start: token.start }
  }
  if (!readingVerbs.has(statement.verb)) statement.writes = true
  if (formatTail.test(shape)) statement.tail = 'format'
  else if (settingsTail.test(shape)) statement.tail = 'settings'
  statement.hasSettings = words.has('SETTINGS')
  statement.insertsSelection =
    words.has('SELECT') && !statement.hasSettings && !words.has('VALUES') && !words.has('FORMAT')
  return statement
}

const formatTail = / FORMAT name$/
const settingsTail =
  / FORMAT name SETTINGS name(?: = -? ?(?:name|value))?(?: , name(?: = -? ?(?:name|value))?)*$/

/** FORMAT and SETTINGS can also be names, so they count as clauses only at the end of a statement. */
function shapeOf(kind: SqlTokenKind, text: string): string {
  if (kind === 'word') return /^(?:format|settings)$/i.test(text) ? text.toUpperCase() : 'name'
  if (kind === 'quoted-identifier') return 'name'
  return kind === 'symbol' && !/^[([{]$/.test(text) ? text : 'value'
}

export interface InsertTarget {
  table: string
  columns: string[] | undefined
  format: string
}

const insertForm = /^\s*INSERT\s+INTO\s+([\w.]+)(?:\s*\(([\w\s,.]+)\))?\s+FORMAT\s+(\w+)\s*$/i

export function parseInsert(sql: string): InsertTarget | undefined {
  const match = insertForm.exec(sql)
  if (!match) return undefined
  const [, table, columns, format] = match as unknown as [string, string, string | undefined, string]
  return { table, columns: columns?.split(',').map((column) => column.trim()), format }
}

/** A string literal on a single line. */
export function quote(value: string): string {
  return `'${value.replace(/[\\'\0\n]/g, (character) => quoted[character] as string)}'`
}

const quoted: Record<string, string> = { '\\': '\\\\', "'": "\\'", '\0': '\\0', '\n': '\\n' }

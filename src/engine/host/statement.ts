import { type SqlTokenKind, sqlTokens } from '../../sql/tokens.ts'

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
  /** Where values go, as in {name:Type}. */
  placeholders: Placeholder[]
  /** Where the statement ends: at its end mark, or with the text. */
  end: number
  /** What it ends in: FORMAT and a name, these and settings, or anything else. */
  tail: 'format' | 'settings' | 'other'
  /** Whether an INSERT takes its rows from a SELECT without settings of its own. */
  insertsSelection: boolean
  /** Whether it has settings of its own somewhere. */
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
  // Only as much of the text outside of brackets as tells what the statement ends in.
  let shape = ''
  const words = new Set<string>()
  for (const token of sqlTokens(sql)) {
    if (token.kind === 'space' || token.kind === 'comment') continue
    const text = sql.slice(token.start, token.end)
    if (ended) statement.several = true
    // "\\G" ends a statement as a semicolon does, and a backslash means nothing else outside of quotes.
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
    // The function of this name reads files without needing a grant.
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

/** Both words are also names of columns, so they count as clauses only where nothing but these follows. */
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

/** Reads the one form of INSERT whose rows come as the request's body. */
export function parseInsert(sql: string): InsertTarget | undefined {
  const match = insertForm.exec(sql)
  if (!match) return undefined
  const [, table, columns, format] = match as unknown as [string, string, string | undefined, string]
  return { table, columns: columns?.split(',').map((column) => column.trim()), format }
}

/** A value as a string literal of one line. The engine reads it back to the very same characters. */
export function quote(value: string): string {
  return `'${value.replace(/[\\'\0\n]/g, (character) => quoted[character] as string)}'`
}

const quoted: Record<string, string> = { '\\': '\\\\', "'": "\\'", '\0': '\\0', '\n': '\\n' }

import { invalidQuery, WellheadError } from '../base/errors.ts'

export interface SqlPosition {
  line: number
  column: number
}

export interface AuthorPosition extends SqlPosition {
  /** Whether it is behind all that the author wrote. */
  isEnd?: boolean
}

export function positionOf(text: string, offset: number): SqlPosition {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/**
 * What the engine said of a statement, told of the part that somebody wrote: without the rest of the statement, which
 * is not theirs, and with their lines and columns. An error of another kind stays as it is.
 */
export function retold(error: unknown, place: (at: SqlPosition) => AuthorPosition | undefined): unknown {
  if (!invalidQuery.is(error)) return error
  const { line, column } = error.details
  const at = line !== undefined && column !== undefined ? place({ line, column }) : undefined
  const words = ownWords(error.message, at?.isEnd ?? false)
  const details = at === undefined ? {} : { line: at.line, column: at.column }
  return new WellheadError(invalidQuery, words, { details, cause: error.cause })
}

const maxMessage = 500

/** The engine names all that it can imagine there; of a long list nobody learns anything. */
const maxExpected = 90

function ownWords(message: string, isEnd: boolean): string {
  const [, token] = /failed at position \d+ \(([\s\S]*?)\) \(line \d+, col \d+\)/.exec(message) ?? []
  if (message.includes('failed at position')) {
    const [expected] = /Expected [\s\S]*$/.exec(message) ?? ['']
    // The word behind the end is one of the statement around it, which the author has not written.
    const where = isEnd ? ' at the end of the query' : token === undefined ? '' : ` at "${short(token)}"`
    return `Syntax error${where}. ${expected.length > maxExpected ? '' : expected}`.trim()
  }
  // A scope is the text of the whole statement, and what follows the cause is how the engine names its own steps.
  return short(
    message
      .replace(/: [Ww]hile executing [\s\S]*$/, '')
      .replace(/ ?:? ?(?:While processing|[Ii]n scope) [\s\S]*?(?=\. Maybe you meant|$)/, '')
      .replace(/([^.])$/, '$1.'),
  )
}

function short(text: string): string {
  return text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text
}

/**
 * A place in compiled SQL as one in the text it was compiled from. The two differ only where an @name has become
 * {name:Type}, which has no line breaks in it. The engine counts columns in bytes.
 */
export function authorPosition(query: string, compiled: string, at: SqlPosition): AuthorPosition {
  const own = query.split('\n')[at.line - 1]
  const theirs = compiled.split('\n')[at.line - 1]
  if (own === undefined || theirs === undefined) {
    return { ...positionOf(query, query.trimEnd().length), isEnd: true }
  }
  const before = Buffer.from(theirs)
    .subarray(0, at.column - 1)
    .toString().length
  let column = 0
  for (let i = 0; i < before; ) {
    if (own[column] === '@' && theirs[i] === '{') {
      column += /^@\w+/.exec(own.slice(column))?.[0].length ?? 1
      i = theirs.indexOf('}', i) + 1
    } else {
      column++
      i++
    }
  }
  return { line: at.line, column: column + 1 }
}

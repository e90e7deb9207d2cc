import { invalidQuery, WellheadError } from '../base/errors.ts'
import { type EditedSql, sourceOffset } from './edits.ts'

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

/** A place in edited SQL as one in the text that its author wrote. The engine counts columns in bytes. */
export function authorPosition({ source, text, edits }: EditedSql, at: SqlPosition): AuthorPosition {
  const lines = text.split('\n')
  const line = lines[at.line - 1]
  if (line === undefined) return { ...positionOf(source, source.trimEnd().length), isEnd: true }
  const before = Buffer.from(line)
    .subarray(0, at.column - 1)
    .toString().length
  const lineStart = lines.slice(0, at.line - 1).reduce((sum, { length }) => sum + length + 1, 0)
  return positionOf(source, sourceOffset(edits, lineStart + before))
}

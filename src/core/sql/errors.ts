import { invalidQuery, WellheadError } from '../base/errors.ts'
import {
  type EditedSql,
  editAt,
  positionOf,
  type SqlEdit,
  type SqlPosition,
  sourceOffset,
  within,
} from './edits.ts'
import { type Query, queryOf } from './query.ts'
import { withWrittenNames } from './subquery-names.ts'

interface AuthorPosition extends SqlPosition {
  /** Whether it is after everything that the author wrote. */
  isEnd?: boolean
  /** The endpoint that the query reads, and whose query has the error. */
  inner?: { name: string; line: number } | undefined
}

/** The engine's error in terms of what its author wrote. Returns errors of other kinds unchanged. */
export function authorError(error: unknown, place: (at: SqlPosition) => AuthorPosition | undefined): unknown {
  if (!invalidQuery.is(error)) return error
  const { line, column } = error.details
  const at = line !== undefined && column !== undefined ? place({ line, column }) : undefined
  const { inner } = at ?? {}
  const where = inner ? ` This is in ${inner.name}, line ${inner.line}.` : ''
  const message = withWrittenNames(authorMessage(error.message, at?.isEnd ?? false)) + where
  const details = at === undefined ? {} : { line: at.line, column: at.column }
  return new WellheadError(invalidQuery, message, { details, cause: error.cause })
}

const maxMessage = 500

/** The engine lists every token that could follow; a long list does not help anybody. */
const maxExpected = 90

/** A token that the engine cannot read extends to the end of the statement. */
const maxToken = 100

function authorMessage(message: string, isEnd: boolean): string {
  const [, refused] = message.split('failed at position ', 2)
  if (refused !== undefined) {
    const [, token] = /^\d{1,9} \(([\s\S]*?)\) \(line \d{1,9}, col \d{1,9}\)/.exec(refused) ?? []
    const [expected] = /Expected [\s\S]*/.exec(message) ?? ['']
    // After the end comes the statement around it, which the author has not written.
    const [own = ''] = token?.slice(0, maxToken).split('\n') ?? []
    const where = isEnd ? ' at the end of the query' : own === '' ? '' : ` at "${own}"`
    return `Syntax error${where}. ${expected.length > maxExpected ? '' : expected}`.trim()
  }
  // The scope quotes the whole statement, and "while executing" names internal steps of the engine.
  const whole = message.replace(/: [Ww]hile executing [\s\S]*/, '').replace(/\.? In query [\s\S]*/, '')
  const scope = whole.search(/ ?:? ?(?:While processing|[Ii]n scope) /)
  const meant = scope < 0 ? 0 : whole.indexOf('. Maybe you meant', scope)
  const own = scope < 0 ? whole : whole.slice(0, scope) + (meant < 0 ? '' : whole.slice(meant))
  const sentence = own.replace(/\. Maybe you meant: \['(\w+)'\]/, withoutSameName).replace(/([^.?])$/, '$1.')
  return sentence.length > maxMessage ? `${sentence.slice(0, maxMessage)}…` : sentence
}

/** A column of a subquery is not there, and the statement around it names it: the engine suggests the name that was written. */
function withoutSameName(hint: string, name: string, at: number, message: string): string {
  const before = message.slice(0, at).replace(/`$/, '')
  const isSame = before.endsWith(name) && !/\w/.test(before.charAt(before.length - name.length - 1))
  return isSame ? '' : hint
}

/** Maps a position of edited SQL to the author's text. The engine counts columns in bytes. */
export function authorPosition({ source, text, edits }: EditedSql, at: SqlPosition): AuthorPosition {
  const lines = text.split('\n')
  const line = lines[at.line - 1]
  if (line === undefined) return { ...positionOf(source, source.trimEnd().length), isEnd: true }
  const before = Buffer.from(line)
    .subarray(0, at.column - 1)
    .toString().length
  const lineStart = lines.slice(0, at.line - 1).reduce((sum, { length }) => sum + length + 1, 0)
  const offset = lineStart + before
  return { ...positionOf(source, sourceOffset(edits, offset)), inner: innerPlace(edits, offset) }
}

/** The innermost endpoint whose query contains an offset. */
function innerPlace(edits: readonly SqlEdit[], offset: number): AuthorPosition['inner'] {
  const { edit, at = 0 } = editAt(edits, offset) ?? {}
  if (!edit?.inner) return undefined
  const { name, edited } = edit.inner
  const own = at - edit.inner.at
  const { line } = positionOf(edited.source, sourceOffset(edited.edits, own))
  return innerPlace(edited.edits, own) ?? { name, line }
}

/** The same error with its position in the text as it was typed, with the white space before the query. */
export function errorInTypedText(error: unknown, typed: string): unknown {
  const own = authorError(error, (at) => at)
  if (!invalidQuery.is(own)) return error
  const { line, column } = own.details
  const at =
    line !== undefined && column !== undefined
      ? within(positionOf(typed, typed.length - typed.trimStart().length), { line, column })
      : positionOfName(own.message, queryOf(typed))
  return new WellheadError(invalidQuery, own.message, { details: { ...at }, cause: own.cause })
}

/** Where the message only names what is wrong: the first use of one of its names. */
export function positionOfName(message: string, { sql, tokens }: Query) {
  const quoted = [...message.matchAll(/[`"']([^`"'\n]{1,200})[`"']/g)].map(([, name = '']) => name)
  const plain = [...message.matchAll(/\b(?:function|column) ([A-Za-z_][\w.]*)/gi)].map(
    ([, name = '']) => name,
  )
  const first = new Map<string, number>()
  for (const { text, start } of tokens) {
    const name = text.replace(/^[`"](.*)[`"]$/, '$1').toLowerCase()
    if (!first.has(name)) first.set(name, start)
  }
  for (const name of [...quoted, ...plain]) {
    const start = first.get(name.toLowerCase()) ?? first.get(name.split('.').at(-1)?.toLowerCase() ?? '')
    if (start !== undefined) return positionOf(sql, start)
  }
  return undefined
}

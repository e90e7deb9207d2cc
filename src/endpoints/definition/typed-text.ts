import { invalidQuery, WellheadError } from '../../base/errors.ts'
import { positionOf, retold, type SqlPosition } from '../../sql/errors.ts'
import { sqlTokens } from '../../sql/tokens.ts'

/**
 * The same error at its place in the text as it was typed: white space before the query is no part of what is compiled,
 * and where the engine only names what it does not know, the name is looked for.
 */
export function inTypedText(error: unknown, typed: string): unknown {
  const told = retold(error, (at) => at)
  if (!invalidQuery.is(told)) return error
  const { line, column } = told.details
  const at =
    line !== undefined && column !== undefined
      ? shifted(typed, { line, column })
      : placeOfName(told.message, typed)
  return new WellheadError(invalidQuery, told.message, { details: { ...at }, cause: told.cause })
}

function shifted(typed: string, { line, column }: SqlPosition): SqlPosition {
  const start = positionOf(typed, typed.length - typed.trimStart().length)
  return { line: line + start.line - 1, column: line === 1 ? column + start.column - 1 : column }
}

function placeOfName(message: string, typed: string): SqlPosition | undefined {
  const [, quoted, plain] =
    /[`"']([^`"'\n]{1,200})[`"']|(?:function|column) ([A-Za-z_][\w.]*)/i.exec(message) ?? []
  const name = (quoted ?? plain)?.split('.').at(-1)?.toLowerCase()
  if (!name) return undefined
  for (const { kind, start, end } of sqlTokens(typed)) {
    if (kind === 'space' || kind === 'comment') continue
    const word = typed.slice(start, end).replace(/^[`"](.*)[`"]$/, '$1')
    if (word.toLowerCase() === name) return positionOf(typed, start)
  }
  return undefined
}

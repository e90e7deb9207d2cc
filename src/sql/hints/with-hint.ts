import { invalidQuery, WellheadError } from '../../base/errors.ts'
import { authorError, offsetOf, positionOf, positionOfName } from '../errors.ts'
import { codeTokens } from '../tokens.ts'
import { engineHint } from './engine-hints.ts'
import type { Hint, RefusedSql } from './sql-words.ts'
import { mistypedKeyword, syntaxHint } from './syntax-hints.ts'

interface HintOptions {
  /** Sources or views that the author can read. */
  tables: Iterable<string>
  aliased?: RefusedSql['aliased']
  isSandbox?: boolean
}

/** Longer SQL is not written by hand, and is not searched for mistakes. */
const maxHintedLength = 100_000

/** The same error in words that say what to write here, at the mistake in the author's text. */
export function withHint(error: unknown, sql: string, options: HintOptions): unknown {
  const { tables, aliased, isSandbox = false } = options
  const own = authorError(error, (at) => at)
  if (!invalidQuery.is(own) || sql.length > maxHintedLength) return error
  const text: RefusedSql = { sql, tokens: codeTokens(sql), tables: [...tables], aliased, isSandbox }
  const { line, column } = own.details
  const at = line !== undefined && column !== undefined ? { line, column } : undefined
  const hint = hintFor(own.message, text, at && offsetOf(sql, at))
  const start = hint?.at === undefined ? undefined : text.tokens[hint.at]?.start
  const position = start === undefined ? (at ?? positionOfName(own.message, sql)) : positionOf(sql, start)
  const message = hint?.message ?? own.message
  // SQL of callers cannot use parameters.
  return new WellheadError(invalidQuery, isSandbox ? message.replaceAll('@now', 'now()') : message, {
    details: { ...position },
    cause: own.cause,
  })
}

function hintFor(message: string, text: RefusedSql, offset: number | undefined): Hint | undefined {
  // The engine reads metadata->'a' as a lambda.
  if (!/^(?:Syntax error|Lambda )/.test(message)) return engineHint(message, text)
  const found = syntaxHint(text)
  if (found || offset === undefined) return found
  const stopped = text.tokens.findIndex(({ end }) => end > offset)
  return mistypedKeyword(text, stopped < 0 ? text.tokens.length : stopped)
}

import { invalidQuery, WellheadError } from '../../base/errors.ts'
import { authorError, offsetOf, positionOf, positionOfName } from '../errors.ts'
import { codeTokens, possibleSources } from '../tokens.ts'
import type { SampledSources } from '../warnings/path-warnings.ts'
import { engineHint } from './engine-hints.ts'
import type { Hint, RefusedSql } from './sql-words.ts'
import { mistypedKeyword, syntaxHint } from './syntax-hints.ts'

interface HintOptions {
  /** Sources or views that the author can read. */
  tables: Iterable<string>
  aliased?: RefusedSql['aliased']
  isSandbox?: boolean
  sampled?: Pick<SampledSources, 'sample'> | undefined
}

/** Longer SQL is not written by hand, and is not searched for mistakes. */
const maxHintedLength = 20_000

/** The same error in words that say what to write here, at the mistake in the author's text. */
export async function withHint(error: unknown, sql: string, options: HintOptions): Promise<unknown> {
  const { aliased, isSandbox = false, sampled } = options
  const tables = [...options.tables]
  const own = authorError(error, (at) => at)
  if (!invalidQuery.is(own) || sql.length > maxHintedLength) return error
  const tokens = codeTokens(sql)
  const words = possibleSources(sql, tokens)
  const read = sampled && /\bidentifier\b/i.test(own.message) ? tables.filter((name) => words.has(name)) : []
  const samples = await Promise.all(read.map((source) => sampled?.sample(source)))
  const paths = new Map(samples.flatMap((sample) => [...(sample?.paths ?? [])]))
  const text: RefusedSql = { sql, tokens, tables, aliased, paths, isSandbox }
  const { line, column } = own.details
  const at = line !== undefined && column !== undefined ? { line, column } : undefined
  const hint = hintFor(own.message, text, at && offsetOf(sql, at))
  const start = hint?.at === undefined ? undefined : text.tokens[hint.at]?.start
  const position =
    start === undefined ? (at ?? positionOfName(own.message, sql, tokens)) : positionOf(sql, start)
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

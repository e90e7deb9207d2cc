import { type CodeToken, closingOf, identifierOf, isSymbol, listItems, type TokenRange } from '../tokens.ts'
import type { PathTypes } from '../warnings/path-warnings.ts'

export interface RefusedSql {
  readonly sql: string
  readonly tokens: readonly CodeToken[]
  /** Sources or views that it can read. */
  readonly tables: readonly string[]
  /** The source that senders know by this name. */
  readonly aliased?: ((name: string) => string | undefined) | undefined
  /** Paths of metadata in recent entries of the sources that it reads. */
  readonly paths?: PathTypes | undefined
  /** Whether it is a caller's SQL, which has no parameters. */
  readonly isSandbox: boolean
}

export interface Hint {
  message: string
  /** Index of the token that is the mistake; -1 if that is not known. */
  at: number
}

/** A sentence as it is shown: backticks only mark SQL. */
export const shown = (sentence: string) => sentence.replaceAll('`', '')

/** The name that starts at a token, with dots, and the index after it. */
export function dottedName(
  tokens: readonly CodeToken[],
  at: number,
): { name: string; end: number } | undefined {
  const first = identifierOf(tokens[at])
  if (first === undefined || isSymbol(tokens[at - 1], '.')) return undefined
  const parts = [first]
  let end = at + 1
  while (isSymbol(tokens[end], '.') && identifierOf(tokens[end + 1]) !== undefined) {
    parts.push(identifierOf(tokens[end + 1]) as string)
    end += 2
  }
  return { name: parts.join('.'), end }
}

/** Index of the first call of a function, or -1. */
export function callOf(tokens: readonly CodeToken[], name: string): number {
  const lower = name.toLowerCase()
  return tokens.findIndex((_, at) => {
    const dotted = dottedName(tokens, at)
    return dotted?.name.toLowerCase() === lower && isSymbol(tokens[dotted.end], '(')
  })
}

/** The arguments of the call whose bracket is at this index. */
export function argumentsOf(tokens: readonly CodeToken[], open: number): TokenRange[] {
  const depth = (tokens[open]?.depth ?? 0) + 1
  return listItems(tokens, open + 1, closingOf(tokens, open), depth).filter(({ first, end }) => first < end)
}

export function textBetween({ sql, tokens }: RefusedSql, first: number, end: number): string {
  return sql.slice(tokens[first]?.start, tokens[end - 1]?.end)
}

export function textOf(token: CodeToken | undefined): string | undefined {
  return token?.kind === 'string' && token.text.startsWith("'") ? token.text.slice(1, -1) : undefined
}

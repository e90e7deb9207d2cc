import { invalidQuery } from '../base/errors.ts'
import type { SqlEdit } from './edits.ts'
import { sqlText } from './names.ts'
import type { Query } from './query.ts'
import type { SelectScope } from './scopes.ts'
import { type CodeToken, closingOf, identifierOf, isSymbol, listItems } from './tokens.ts'
import { type SearchedWord, wordSql } from './word.ts'

/** Each of them becomes about 500 characters of SQL. */
const maxCalls = 50

/** Replaces matches('word') and matches(table, 'word') by the condition of a search for the word. */
export function matchesEdits(
  query: Query,
  /** What the engine gets for a parameter. */
  placeholder: (parameter: string) => string = (parameter) => parameter,
): SqlEdit[] {
  const { sql, tokens } = query
  if (!/\bmatches\b/i.test(sql)) return []
  const { of, tableTokens } = query.scopes
  const calls = tokens.flatMap((_, at) => (isCall(tokens, at) && !tableTokens.has(at) ? [at] : []))
  return calls.map((at, index) => {
    const { start, depth } = tokens[at] as CodeToken
    const refuse = (message: string) => invalidQuery(message, query.positionAt(at))
    if (index === maxCalls) throw refuse(`matches can be used at most ${maxCalls} times in a query.`)
    const close = closingOf(tokens, at + 1)
    const args = listItems(tokens, at + 2, close, depth + 1)
    const [word, name] = args
      .map(({ first, end }) => (end === first + 1 ? tokens[first] : undefined))
      .reverse()
    if (args.length > 2 || (args.length === 2 && identifierOf(name) === undefined) || !isWord(word))
      throw refuse("matches needs a word as text or as a parameter: matches('timeout').")
    const scope = of[at]
    const table = tableOf(scope, identifierOf(name))
    if (!table) {
      const call = `matches(${scope?.tables[0]?.alias ?? 'edge_logs'}, ${word.text})`
      throw refuse(`matches searches one table of FROM. Write its name before the word: ${call}.`)
    }
    const qualifier = table.qualifier === undefined ? '' : `${table.qualifier}.`
    const text = `(${wordSql(wordOf(word, placeholder), qualifier)})`
    // A bracket that is not closed is refused elsewhere.
    const end = tokens[close]?.end ?? sql.length
    // Without a name, a column of the result would have the name of the whole condition.
    const isColumn = scope?.items.some((item) => item.first === at && item.end === close + 1)
    return { start, end, text: isColumn ? `${text} AS matches` : text }
  })
}

function isCall(tokens: readonly CodeToken[], at: number): boolean {
  const isName = tokens[at]?.kind === 'word' && tokens[at]?.text.toLowerCase() === 'matches'
  return isName && isSymbol(tokens[at + 1], '(') && !isSymbol(tokens[at - 1], '.')
}

function isWord(token: CodeToken | undefined): token is CodeToken {
  return token?.kind === 'parameter' || (token?.kind === 'string' && token.text.length > 2)
}

/** Text with other escapes, or in other quotes, is left to the engine. */
const plainText = /^'((?:[^'\\]|''|\\[\\'0])*)'$/

function wordOf({ kind, text }: CodeToken, placeholder: (parameter: string) => string): SearchedWord {
  if (kind === 'parameter') return { sql: placeholder(text) }
  const [, plain] = plainText.exec(text) ?? []
  if (plain === undefined) return { sql: text }
  const value = plain.replace(/''|\\(.)/g, (_, escaped = "'") => (escaped === '0' ? '\0' : escaped))
  return { value, bind: sqlText }
}

/** The table whose entries are searched: the only one of the SELECT, or the one that is named. */
function tableOf(scope: SelectScope | undefined, name: string | undefined) {
  if (name !== undefined) return scope?.tables.find(({ alias }) => alias === name)
  return scope?.certain && scope.tables.length === 1 ? scope.tables[0] : undefined
}

import { keysOf } from '../../../shared/path-text.ts'
import { invalidQuery, WellheadError } from '../../base/errors.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import { offsetOf } from '../edits.ts'
import { authorError, positionOfName } from '../errors.ts'
import { metadata, pathAt, typeFor } from '../metadata-path.ts'
import { pathSql, sqlText } from '../names.ts'
import { type Query, queryOf } from '../query.ts'
import { type CodeToken, identifierOf, isKeyword, isSymbol } from '../tokens.ts'
import { closestPath, lastKey, type SampledSources } from '../warnings/path-warnings.ts'
import { messageHints, typeHints, types, valueHints } from './dialect-hints.ts'
import { filled, firstExpression, unknownFunction } from './name-hints.ts'
import { type Hint, type RefusedSql, shown } from './refused-sql.ts'
import { mistypedKeyword, parameterHint, syntaxHint } from './syntax-hints.ts'

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
  const query = queryOf(sql)
  const isUnknown = /\bidentifier\b/i.test(own.message)
  const read = sampled && isUnknown ? tables.filter((name) => query.possibleSources.has(name)) : []
  const samples = await Promise.all(read.map((source) => sampled?.sample(source)))
  const paths = new Map(samples.flatMap((sample) => [...(sample?.paths ?? [])]))
  const text: RefusedSql = { query, tables, aliased, paths, isSandbox }
  const { line, column } = own.details
  const at = line !== undefined && column !== undefined ? { line, column } : undefined
  const hint = hintFor(own.message, text, at && offsetOf(sql, at))
  const position = query.positionAt(hint?.at ?? -1) ?? at ?? positionOfName(own.message, query)
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
  const { tokens } = text.query
  const stopped = tokens.findIndex(({ end }) => end > offset)
  return mistypedKeyword(text, stopped < 0 ? tokens.length : stopped)
}

type Explain = (match: RegExpExecArray, text: RefusedSql) => Hint | undefined

/** The engine's words for SQL that it can parse but not use. */
const explanations: readonly (readonly [says: RegExp, explain: Explain])[] = [
  [/^Unknown expression(?: or function)? identifier `(.+?)`/, unknownName],
  [/^Identifier '(.+?)' cannot be resolved/, unknownName],
  [/^Function with name `(.+?)` does not exist/, missingFunction],
  [/^Unknown aggregate function (\w+)/, missingFunction],
  [/^Unknown data type family: (\w+)/, unknownType],
  [
    /^Data types Variant\/Dynamic are not allowed in (\w+) BY keys/,
    ([, by], text) => untyped(text, 'Nullable(String)', by),
  ],
  [
    /^Illegal type Dynamic of argument (?:of|for) aggregate function/,
    (_, text) => untyped(text, 'Nullable(Float64)'),
  ],
  [/^ARRAY JOIN[\s\S]*with Array or Map type/, (_, text) => untyped(text, 'Array(String)')],
  [/^ARRAY JOIN requires array argument/, (_, text) => untyped(text, 'Array(String)')],
  [/converting '(?:\{\{ ?(\w{1,99}) ?\}\}|\$\{(\w{1,99})\}|[@:](\w{1,99}))' to/, quotedParameter],
  [/^First argument for function 'arrayElement' must be array, got 'String'/, indexedText],
  [/^Column '?(.+?)'? is not under aggregate function/, notGrouped],
]

/** What the engine's error means, for errors that are not about syntax. */
function engineHint(message: string, text: RefusedSql): Hint | undefined {
  const { query } = text
  for (const { says, words, hint } of messageHints) {
    if (!says.every((part) => message.includes(part))) continue
    const list = words.split(' ')
    const at = query.tokens.findIndex(
      ({ kind, text: word }) => (kind === 'word' || kind === 'symbol') && list.includes(word.toLowerCase()),
    )
    const isCall = isSymbol(query.tokens[at + 1], '(')
    if (at >= 0) return { message: shown(filled(hint, isCall ? firstExpression(query, at) : undefined)), at }
  }
  for (const [says, explain] of explanations) {
    const match = says.exec(message)
    const hint = match && explain(match, text)
    if (hint) return hint
  }
  return undefined
}

const searchedColumns = /(?:^|\.)(?:event_message|metadata)$/
const units = /^(?:micro|milli)?(?:second|minute|hour|day|week|month|quarter|year)s?$/i
const longUnits: Readonly<Record<string, string>> = { s: 'SECOND', m: 'MINUTE', h: 'HOUR', d: 'DAY' }

function unknownName({ 1: name = '', input }: RegExpExecArray, text: RefusedSql): Hint {
  const { query } = text
  const { tokens } = query
  const at = placeOf(query, name)
  const token = tokens[at]
  const search = at < 0 && searchedColumns.test(name) ? query.callOf('matches') : -1
  if (search >= 0)
    return {
      message: `matches reads event_message and metadata. ${name} does not exist; select both columns in the subquery.`,
      at: search,
    }
  const value = valueHints.get(name.toLowerCase())
  if (value) return { message: shown(value), at }
  if (units.test(name) && at >= 0) return bareUnit(name, query, at)
  if (/^\$\w+$/.test(name)) {
    const own = /^\$[A-Za-z]/.test(name) ? name.slice(1) : undefined
    return { message: parameterHint(name, own, text.isSandbox), at }
  }
  const [, amount, unit = ''] = /^(\d{1,9})([smhd])$/.exec(name) ?? []
  if (amount !== undefined)
    return { message: `Write INTERVAL ${amount} ${longUnits[unit]} instead of ${name}.`, at }
  if (token?.kind === 'quoted-identifier' && /^["“]/.test(token.text)) {
    const write = sqlText(name.replace(/^"(.*)"$/, '$1'))
    return { message: `Text needs single quotes. Write ${write} instead of ${token.text}.`, at }
  }
  const [, closest] = /Maybe you meant: \['(.{1,200}?)'/.exec(input) ?? []
  const mayBeText = closest === undefined && at >= 0 && isCompared(tokens, at)
  const path = knownPath(name, text, at)
  if (path?.isSame || (path && closest === undefined && !mayBeText)) {
    return { message: `There is no column ${name}.${didYouMean(path.sql)}`, at }
  }
  if (closest === undefined && name.includes('.') && input.startsWith('Unknown')) {
    return { message: `There is no column ${name}. ${pathOf(name)}`, at }
  }
  const quoted = mayBeText ? ` If it is text, write ${sqlText(name)}.` : ''
  return { message: `There is no column ${name}.${didYouMean(closest)}${quoted}`, at }
}

/** route and s.route for a path of the entries. */
function knownPath(name: string, { query, paths = new Map() }: RefusedSql, at: number) {
  const { tokens } = query
  const [first = '', ...rest] = name.split('.')
  if (closestName(first, [metadata]) !== undefined) return undefined
  const isTable = tokens.some((token, index) => identifierOf(token) === first && !isPartAt(tokens, index))
  const keys = rest.length > 0 && isTable ? rest : [first, ...rest]
  const found = closestPath(keys.join('.'), paths.keys())
  if (found === undefined) return undefined
  const type = typeFor(paths.get(found) ?? [])
  const { end = at } = query.nameAt(at) ?? {}
  const cast = isSymbol(tokens[end], ':') ? '' : type === undefined ? '[]' : `::${type}`
  const column = keys === rest ? `${first}.${metadata}` : metadata
  return { sql: pathSql(column, keysOf(found), cast), isSame: lastKey(found) === keys.at(-1) }
}

const isPartAt = (tokens: readonly CodeToken[], at: number) =>
  isSymbol(tokens[at - 1], '.') || isSymbol(tokens[at + 1], '.')

/** metdata.request.path and request.path */
function pathOf(name: string): string {
  const [first = '', ...rest] = name.split('.')
  const isMistyped = closestName(first, [metadata]) !== undefined
  return isMistyped
    ? `Did you mean ${[metadata, ...rest].join('.')}?`
    : `To read it from metadata, write ${pathSql(metadata, [first, ...rest])}.`
}

/** '{{start}}' and '@start' */
function quotedParameter(match: RegExpExecArray, { query: { tokens }, isSandbox }: RefusedSql): Hint {
  const name = match[1] ?? match[2] ?? match[3]
  const at = tokens.findIndex((token) => match[0].includes(`converting ${token.text} to`))
  const written = tokens[at]?.text ?? 'this text'
  return { message: parameterHint(written, name, isSandbox), at }
}

/** Index of the first token of a name, or of its last part if the engine has added the rest. */
function placeOf(query: Query, name: string): number {
  const { tokens } = query
  const last = name.split('.').at(-1)
  const found = [
    tokens.findIndex((_, at) => query.nameAt(at)?.name === name),
    tokens.findIndex((token) => identifierOf(token) === name || identifierOf(token) === last),
    // A name that starts with a digit is two tokens here.
    tokens.findIndex((token, at) => token.kind === 'number' && token.text + tokens[at + 1]?.text === name),
  ]
  return found.find((at) => at >= 0) ?? -1
}

/** Whether it stands where a text would: after a comparison, or in a list. */
function isCompared(tokens: readonly CodeToken[], at: number): boolean {
  const before = tokens[at - 1]
  if (isKeyword(before, 'LIKE', 'ILIKE')) return true
  return isSymbol(before, '=') || isSymbol(before, '>') || isSymbol(before, '<')
}

/** DATE_TRUNC(timestamp, HOUR) and TIMESTAMP_DIFF(a, b, HOUR) */
function bareUnit(name: string, query: Query, at: number): Hint {
  const { tokens } = query
  const unit = name.toLowerCase().replace(/s$/, '')
  let open = at - 1
  while (open >= 0 && (tokens[open]?.depth ?? 0) >= (tokens[at]?.depth ?? 0)) open--
  const others = query.argumentsOf(open).filter(({ first }) => first !== at)
  const [first = 'timestamp', second] = others.map((range) => query.text(range))
  const isDifference = /diff/i.test(tokens[open - 1]?.text ?? '')
  // The earlier time comes last there, and first here.
  const write = isDifference
    ? `dateDiff('${unit}', ${second ?? 'timestamp'}, ${first})`
    : `date_trunc('${unit}', ${first})`
  const call = identifierOf(tokens[open - 1]) === undefined ? at : open - 1
  return { message: `Units are text here. Write ${write}.`, at: call }
}

function missingFunction({ 1: name = '' }: RegExpExecArray, { query }: RefusedSql): Hint {
  const at = query.callOf(name)
  return { message: unknownFunction(name, query, at), at }
}

function unknownType({ 1: name = '' }: RegExpExecArray, { query: { tokens } }: RefusedSql): Hint | undefined {
  const lower = name.toLowerCase()
  const type = Object.hasOwn(types, lower) ? types[lower] : undefined
  const hint = typeHints.get(lower) ?? (type && `Write ${type}.`)
  const at = tokens.findIndex((token) => identifierOf(token)?.toLowerCase() === lower)
  return hint === undefined ? undefined : { message: `There is no type ${name}. ${shown(hint)}`, at }
}

/** A path without a type, in the clause that needs one. */
function untyped({ query }: RefusedSql, type: string, by?: string): Hint | undefined {
  const { sql, tokens } = query
  const paths = tokens.flatMap((_, at) => {
    if (isSymbol(tokens[at - 1], '.')) return []
    const path = pathAt(sql, tokens, at, false)
    return !path || path.written ? [] : [path]
  })
  const clause = by ? tokens.findLastIndex((token) => isKeyword(token, by, 'PARTITION')) : -1
  const path = paths.find(({ first }) => first > clause) ?? paths[0]
  if (!path) return undefined
  const written = query.text(path)
  return {
    message: `${written} can have values of any type. Give it a type: ${written}::${type}.`,
    at: path.first,
  }
}

/** What follows in metadata[0].a.b and metadata['a']['b']. */
const indexes = /^\[\d+\]\.([\w.]+)|^(?:\['[^']+'\])+/

function indexedText(_: RegExpExecArray, { query: { sql, tokens } }: RefusedSql): Hint | undefined {
  const column = tokens.findIndex(({ text }, n) => text === 'metadata' && isSymbol(tokens[n + 1], '['))
  const found = indexes.exec(sql.slice(tokens[column]?.end))
  if (!found) return undefined
  const [list, path] = found
  const keys = path?.split('.') ?? [...list.matchAll(/'([^']*)'/g)].map(([, key = '']) => key)
  const at = isSymbol(tokens[column - 1], '.') ? column - 2 : column
  const written = tokens.slice(at, column + 1).map(({ text }) => text)
  return { message: `Write ${pathSql(written.join(''), keys.slice(0, 20))}.`, at }
}

function notGrouped({ 1: column = '' }: RegExpExecArray, { query }: RefusedSql): Hint {
  const name = column.split('.').at(-1) ?? column
  return {
    message:
      `The column ${name} is neither in GROUP BY nor in an aggregate function. ` +
      `Add it to GROUP BY, or write any(${name}).`,
    at: placeOf(query, name),
  }
}

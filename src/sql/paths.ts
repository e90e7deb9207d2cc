import type { SqlEdit } from './edits.ts'
import { sqlName, sqlText } from './names.ts'
import { type SelectScope, type SqlScopes, scopesOf } from './scopes.ts'
import { subqueryNames } from './with.ts'
import { beginsQuery, closingOf, identifierOf, isSymbol, isWord, type SqlWord, wordsOf } from './words.ts'

/** The typed column of a source that holds the text at a path of metadata, if there is one. */
export type TextColumnOf = (source: string, path: string) => string | undefined

const metadata = 'metadata'

/**
 * Types that JSONExtract gives as a cast of a path of the engine's JSON type does, and fails for no value. Other casts go
 * by way of Dynamic, which keeps the type that was sent.
 */
const typedCast =
  /^(?:(?:Nullable\()?(?:String|Float(?:32|64)|U?Int(?:8|16|32|64))\)?|LowCardinality\((?:String|Nullable\(String\))\)|Array\(String\))$/

interface Path {
  /** Index of its first word, and of the one behind its last. */
  first: number
  end: number
  /** As the author wrote what stands before it: e., or nothing. */
  qualifier: string
  column: string
  /** Keys of objects; an array stands between the lists. */
  steps: string[][]
  /** Behind .: or .^ */
  element: string | undefined
  isObject: boolean
}

/** A path that the engine reads from the JSON text of each entry of a source. */
export interface JsonPath {
  source: string
  /** With dots between the levels. */
  path: string
  /** The type that the SQL casts it to; null: none that the engine reads directly. */
  cast: string | null
}

interface FoundPath {
  path: Path
  scope: SelectScope | undefined
  cast: ReturnType<typeof castOf>
  /** Whether a subquery below selects it, so that it is a column here. */
  isColumn: boolean
  /** Set where a typed column could hold the same value for certain. */
  place: { source: string; path: string; qualifier: string } | undefined
}

/**
 * Paths of metadata as the functions that read them: metadata is a text, and metadata.request.path is a way to write
 * JSONExtract(metadata, 'request', 'path', …). A selected path keeps the name that it was written with.
 */
export function pathEdits(sql: string, columnOf: TextColumnOf = () => undefined): SqlEdit[] {
  const words = wordsOf(sql)
  const given = new Map<SelectScope | undefined, Map<string, string>>()
  return findPaths(sql, words).map((found) => {
    const { path, scope, cast } = found
    if (found.isColumn) {
      const { start } = words[path.first] as SqlWord
      const { end } = words[path.end - 1] as SqlWord
      return { start, end, text: path.qualifier + sqlName(nameOf(path, undefined, undefined)) }
    }
    const text = sourceColumn(found, columnOf) ?? expression(path, cast?.type)
    const name = nameOf(path, scope, cast?.type)
    const [first, end] = cast ? [cast.first, cast.end] : [path.first, path.end]
    const names = given.get(scope) ?? new Map<string, string>()
    given.set(scope, names)
    const isNamed = isSelectedWithoutName(words, scope, first) && (names.get(name) ?? text) === text
    if (isNamed) names.set(name, text)
    return {
      start: (words[first] as SqlWord).start,
      end: (words[end - 1] as SqlWord).end,
      text: isNamed ? `(${text} AS ${sqlName(name)})` : text,
    }
  })
}

/** Paths that pathEdits makes no column of, each once, as far as the SQL tells which table they belong to. */
export function jsonPaths(sql: string, columnOf: TextColumnOf = () => undefined): JsonPath[] {
  const paths = new Map<string, JsonPath>()
  for (const found of findPaths(sql, wordsOf(sql))) {
    const { place, path: read, cast } = found
    if (!place || found.isColumn || read.steps.length > 1 || read.isObject) continue
    if (sourceColumn(found, columnOf)) continue
    const { source, path } = place
    const key = `${source}.${path}`
    if (!paths.has(key)) paths.set(key, { source, path, cast: cast?.type ?? null })
  }
  return [...paths.values()]
}

function findPaths(sql: string, words: readonly SqlWord[]): FoundPath[] {
  if (!sql.includes(metadata)) return []
  const scopes = scopesOf(words)
  const lambdas = lambdasOf(words)
  const isParameter = (at: number) =>
    lambdas.some(
      ({ parameters, first, end }) =>
        at >= first && at < end && parameters.has(identifierOf(words[at]) ?? ''),
    )
  const subqueries = subqueryNames(sql)
  const isSelectedBelow = selectedBelow(sql, words, scopes)
  const found: FoundPath[] = []
  for (let at = 0; at < words.length; at++) {
    if (identifierOf(words[at]) === undefined || isSymbol(words[at - 1], '.')) continue
    if (scopes.tableWords.has(at) || isParameter(at)) continue
    const scope = scopes.of[at]
    const path = pathAt(sql, words, at, isTableName(metadata, scope))
    if (!path) continue
    at = path.end - 1
    const isColumn = isSelectedBelow(path)
    found.push({ path, scope, isColumn, cast: castOf(words, path), place: placeOf(path, scope, subqueries) })
  }
  return found
}

function pathAt(
  sql: string,
  words: readonly SqlWord[],
  first: number,
  /** Whether a table is called metadata, too. */
  isTable: boolean,
): Path | undefined {
  const isPart = (at: number) => isSymbol(words[at], '.') && identifierOf(words[at + 1]) !== undefined
  // The column is the first part that has this name, behind a database and a table at most.
  let column = isTable && identifierOf(words[first]) === metadata && isPart(first + 1) ? first + 2 : first
  while (identifierOf(words[column]) !== metadata) {
    if (!isPart(column + 1) || column >= first + 4) return undefined
    column += 2
  }
  const steps: string[][] = [[]]
  let [element, isObject]: [string | undefined, boolean] = [undefined, false]
  let at = column + 1
  if (isSymbol(words[at], '.') && isSymbol(words[at + 1], '^') && identifierOf(words[at + 2]) !== undefined) {
    isObject = true
    steps[0]?.push(identifierOf(words[at + 2]) as string)
    at += 3
  }
  for (;;) {
    if (isPart(at)) {
      steps.at(-1)?.push(identifierOf(words[at + 1]) as string)
      at += 2
    } else if (!isObject && steps[0]?.length && isSymbol(words[at], '[') && isSymbol(words[at + 1], ']')) {
      steps.push([])
      at += 2
    } else break
  }
  if (steps[0]?.length === 0 || isSymbol(words[at], '(')) return undefined
  if (!isObject && isSymbol(words[at], '.') && isSymbol(words[at + 1], ':')) {
    const type = typeAt(words, at + 2)
    if (type) [element, at] = [type.text.replace(/^[`"](.*)[`"]$/, '$1'), type.end]
  }
  const text = (from: number, to: number) =>
    from < to ? sql.slice(words[from]?.start, words[to - 1]?.end) : ''
  return {
    first,
    end: at,
    qualifier: text(first, column),
    column: text(first, column + 1),
    steps,
    element,
    isObject,
  }
}

/** The name of a type, with what it has in brackets. */
function typeAt(words: readonly SqlWord[], at: number): { text: string; end: number } | undefined {
  if (identifierOf(words[at]) === undefined) return undefined
  const end = isSymbol(words[at + 1], '(') ? closingOf(words, at + 1) + 1 : at + 1
  const text = words.slice(at, end).map((word) => word.text)
  return { text: text.join(''), end }
}

/** The cast around a path, or behind it, where the value can be read with that type at once. */
function castOf(
  words: readonly SqlWord[],
  { first, end, steps, element, isObject }: Path,
): { type: string; first: number; end: number } | undefined {
  if (steps.length > 1 || element !== undefined || isObject) return undefined
  const typed = (type: string | undefined) => type !== undefined && typedCast.test(type) && hasBalance(type)
  if (isSymbol(words[end], ':') && isSymbol(words[end + 1], ':')) {
    const type = typeAt(words, end + 2)
    return type && typed(type.text) ? { type: type.text, first, end: type.end } : undefined
  }
  if (!isWord(words[first - 2], 'CAST') || !isSymbol(words[first - 1], '(')) return undefined
  if (isSymbol(words[first - 3], '.')) return undefined
  const name = isSymbol(words[end], ',') && words[end + 1]?.kind === 'string' ? words[end + 1] : undefined
  const type = name
    ? { text: name.text.slice(1, -1), end: end + 2 }
    : isWord(words[end], 'AS')
      ? typeAt(words, end + 1)
      : undefined
  if (!type || !typed(type.text) || !isSymbol(words[type.end], ')')) return undefined
  return { type: type.text, first: first - 2, end: type.end + 1 }
}

function hasBalance(type: string): boolean {
  return type.split('(').length === type.split(')').length
}

function expression({ column, steps, element, isObject }: Path, cast: string | undefined): string {
  const last = (from: string, keys: readonly string[]) => {
    if (isObject) return extract(from, keys, 'JSON')
    if (element !== undefined) return `dynamicElement(${extract(from, keys, 'Dynamic')}, ${sqlText(element)})`
    return extract(from, keys, cast ?? 'Dynamic')
  }
  const read = (from: string, level: number): string => {
    const keys = steps[level] as string[]
    if (level === steps.length - 1) return last(from, keys)
    // What the array holds is not asked for any further.
    if (steps[level + 1]?.length === 0 && level === steps.length - 2 && element === undefined) {
      return extract(from, keys, 'Array(JSON)')
    }
    const item = `metadata_item_${level + 1}`
    return `arrayMap(${item} -> ${read(item, level + 1)}, JSONExtractArrayRaw(${[from, ...keys.map(sqlText)].join(', ')}))`
  }
  return read(column, 0)
}

function extract(from: string, keys: readonly string[], type: string): string {
  return `JSONExtract(${[from, ...keys.map(sqlText), sqlText(type)].join(', ')})`
}

/** As the engine names a column of a result. A table is part of the name only behind another one of a join. */
function nameOf(
  { steps, element, isObject, qualifier }: Path,
  scope: SelectScope | undefined,
  cast: string | undefined,
): string {
  const table = qualifier.replace(/\.$/, '')
  const isFirst = !scope || scope.tables.length < 2 || scope.tables[0]?.qualifier === table
  const [keys = [], ...arrays] = steps
  const parts = [
    `${isFirst ? '' : qualifier}${metadata}`,
    ...(isObject ? [`^\`${keys[0]}\``, ...keys.slice(1)] : keys),
    ...arrays.flatMap((inner) => [':`Array(JSON)`', ...inner]),
    ...(element === undefined ? [] : [`:\`${element}\``]),
  ]
  const name = parts.join('.')
  return cast === undefined ? name : `CAST(${name}, '${cast}')`
}

/** The source and the path in it, where the table is a source and nothing else could be meant. */
function placeOf(
  { qualifier, steps }: Path,
  scope: SelectScope | undefined,
  subqueries: ReadonlySet<string>,
): FoundPath['place'] {
  const [keys = []] = steps
  if (!scope?.certain || keys.some((key) => key.includes('.'))) return undefined
  const named = qualifier.replace(/\s*\.$/, '')
  const tables = scope.tables.filter((table) => named === '' || table.qualifier === named)
  const [table] = tables
  if (!table?.name || tables.length !== 1 || (named === '' && scope.tables.length !== 1)) return undefined
  if (subqueries.has(table.name)) return undefined
  return { source: table.name, path: keys.join('.'), qualifier: table.qualifier ?? table.name }
}

/** A column that certainly holds the same text. */
function sourceColumn({ cast, place }: FoundPath, columnOf: TextColumnOf): string | undefined {
  if (cast?.type !== 'String' || !place) return undefined
  const column = columnOf(place.source, place.path)
  return column && `${place.qualifier}.${sqlName(column)}`
}

/**
 * Tells whether a path is a column of the one subquery that it can belong to: selected there without a name, and with nothing
 * that could bring metadata itself. Looks at each subquery once, however many paths there are.
 */
function selectedBelow(sql: string, words: readonly SqlWord[], scopes: SqlScopes): (path: Path) => boolean {
  const subqueries = subqueriesByName(words)
  const known = new Map<number, ReadonlySet<string>>()
  const namesIn = (open: number): ReadonlySet<string> => {
    const names = known.get(open) ?? selectedPaths(sql, words, scopes, open)
    known.set(open, names)
    return names
  }
  return (path) => {
    const scope = scopes.of[path.first]
    if (!scope?.certain) return false
    const named = path.qualifier.replace(/\s*\.\s*$/, '')
    const tables = scope.tables.filter(({ qualifier }) => named === '' || qualifier === named)
    const [table] = tables
    if (!table || tables.length !== 1 || (named === '' && scope.tables.length !== 1)) return false
    const { name = '', at } = table
    const isSubquery = isSymbol(words[at], '(')
    const open = isSubquery ? at : isSymbol(words[at - 1], '.') ? undefined : subqueries.get(name)
    return open !== undefined && namesIn(open).has(nameOf(path, undefined, undefined))
  }
}

/** Names of paths that a subquery selects; none where it selects metadata, too. */
function selectedPaths(
  sql: string,
  words: readonly SqlWord[],
  { of }: SqlScopes,
  open: number,
): ReadonlySet<string> {
  const scope = of[open + 1]
  const names = new Set<string>()
  // With UNION, each SELECT is another scope.
  if (!scope || !beginsQuery(words, open + 1) || scope !== of[closingOf(words, open) - 1]) return names
  const isTable = isTableName(metadata, scope)
  for (const { first, end } of scope.items) {
    const isAll = words.slice(first, end).some((word, index, item) => {
      return isWord(word, 'COLUMNS') || (isSymbol(word, '.') && isSymbol(item[index + 1], '*'))
    })
    if (isAll || isSymbol(words[first], '*') || identifierOf(words[end - 1]) === metadata) return new Set()
    const path = pathAt(sql, words, first, isTable)
    if (path?.end === end) names.add(nameOf(path, scope, undefined))
  }
  return names
}

/** Index of the bracket that opens each subquery with a name: name AS (SELECT …). Undefined where there are several. */
function subqueriesByName(words: readonly SqlWord[]): Map<string, number | undefined> {
  const opens = new Map<string, number | undefined>()
  for (const [index, word] of words.entries()) {
    if (!isSymbol(word, '(')) continue
    const as = isWord(words[index - 1], 'MATERIALIZED') ? index - 2 : index - 1
    const name = isWord(words[as], 'AS') ? identifierOf(words[as - 1]) : undefined
    if (name !== undefined && beginsQuery(words, index + 1))
      opens.set(name, opens.has(name) ? undefined : index)
  }
  return opens
}

function isTableName(name: string, scope: SelectScope | undefined): boolean {
  for (let each = scope; each; each = each.parent) {
    if (each.tables.some(({ alias }) => alias === name)) return true
  }
  return false
}

function isSelectedWithoutName(
  words: readonly SqlWord[],
  scope: SelectScope | undefined,
  at: number,
): boolean {
  const item = scope?.items.find(({ first, end }) => at >= first && at < end)
  return item !== undefined && !isWord(words[item.end - 2], 'AS')
}

interface Lambda {
  parameters: Set<string>
  /** Indexes of the words of its body. */
  first: number
  end: number
}

function lambdasOf(words: readonly SqlWord[]): Lambda[] {
  return words.flatMap((word, index) => {
    if (!isSymbol(word, '-') || !isSymbol(words[index + 1], '>')) return []
    const isList = isSymbol(words[index - 1], ')')
    const parameters = new Set<string>()
    for (let at = isList ? index - 2 : index - 1; at >= 0; at--) {
      const name = identifierOf(words[at])
      if (name === undefined && !isSymbol(words[at], ',')) break
      if (name !== undefined) parameters.add(name)
      if (!isList) break
    }
    // The body goes on to the next argument or to the bracket that closes the call.
    let end = index + 2
    const isOutside = ({ depth, text }: SqlWord) =>
      depth < word.depth || (depth === word.depth && text === ',')
    while (end < words.length && !isOutside(words[end] as SqlWord)) end++
    return [{ parameters, first: index + 2, end }]
  })
}

import { z } from 'zod'
import { pathOf } from '../../shared/path-text.ts'
import type { SqlEdit } from './edits.ts'
import {
  columnNameOf,
  columnRead,
  type MetadataPath,
  metadata,
  pathAt,
  pathExpression,
  tableNameOf,
} from './metadata-path.ts'
import { sqlName } from './names.ts'
import { clauseOf, type ReadTable, type SelectScope, type SqlScopes } from './scopes.ts'
import { type CodeToken, closingOf, identifierOf, isAlias, isKeyword, isSymbol } from './tokens.ts'

export interface SourceColumn {
  readonly name: string
  /** In metadata, with dots between the levels. */
  readonly path: string
  readonly type: 'text' | 'number'
}

/** Typed columns of a source, or undefined if there is no such source. */
export type ColumnsOf = (source: string) => readonly SourceColumn[] | undefined

/** A path that the engine reads from the JSON text of each entry of a source. */
export const jsonPathShape = z.object({
  source: z.string().describe('Source that the path is read from.'),
  path: z.string().describe('Path in `metadata`, with dots between the levels.'),
  cast: z.string().nullable().describe('Engine type that the SQL casts the value to. Null: no cast.'),
})

export type JsonPath = z.output<typeof jsonPathShape>

export type FoundPath = ReturnType<typeof findPaths>[number]

/** The parts of a query that its paths are found by. */
interface PathText {
  readonly sql: string
  readonly tokens: readonly CodeToken[]
  readonly scopes: SqlScopes
  readonly subqueriesBy: ReadonlyMap<string, unknown>
  subqueryNamed(name: string): { readonly open: number } | undefined
}

interface ReadPaths extends PathText {
  readonly paths: readonly FoundPath[]
}

/** Replaces paths of metadata, which is text, by functions that read them. A selected path keeps its name. */
export function pathEdits({ tokens, paths }: ReadPaths, columnsOf: ColumnsOf = () => undefined): SqlEdit[] {
  const aliases = new Map<SelectScope | undefined, Map<string, string>>()
  const edit = (first: number, end: number, text: string) => ({
    start: (tokens[first] as CodeToken).start,
    end: (tokens[end - 1] as CodeToken).end,
    text,
  })
  return paths.map((found) => {
    const { path, scope } = found
    if (found.isColumn) return edit(path.first, path.end, path.qualifier + sqlName(columnNameOf(path)))
    const text = sourceColumn(found, columnsOf) ?? pathExpression(path)
    const plainName = columnNameOf(path, scope)
    const name = path.cast ? `CAST(${plainName}, '${path.cast.type}')` : plainName
    const { first, end } = path.cast ?? path
    const names = aliases.get(scope) ?? new Map<string, string>()
    aliases.set(scope, names)
    // One name can stand for one expression only.
    const isNamed = isSelectedWithoutName(tokens, scope, first) && (names.get(name) ?? text) === text
    if (isNamed) names.set(name, text)
    return edit(first, end, isNamed ? `(${text} AS ${sqlName(name)})` : text)
  })
}

/** Paths that pathEdits replaces by functions, each once, if the SQL tells which source they belong to. */
export function jsonPaths(query: ReadPaths, columnsOf: ColumnsOf = () => undefined): JsonPath[] {
  const paths = new Map<string, JsonPath>()
  for (const found of query.paths) {
    const { place, path: read } = found
    if (!place || found.isColumn || read.steps.length > 1) continue
    if (sourceColumn(found, columnsOf)) continue
    const { source, path } = place
    const key = `${source}.${path}`
    if (!paths.has(key)) paths.set(key, { source, path, cast: read.cast?.type ?? null })
  }
  return [...paths.values()]
}

/** Paths of metadata, in the order of the text. */
export function findPaths(query: PathText) {
  if (!query.sql.includes(metadata)) return []
  const { sql, tokens, scopes, subqueriesBy } = query
  const lambdas = lambdaParameters(tokens)
  const isTable = new Map<SelectScope | undefined, boolean>()
  const isMetadataTable = (scope: SelectScope | undefined) => {
    const is = isTable.get(scope) ?? isTableName(metadata, scope)
    isTable.set(scope, is)
    return is
  }
  // Each subquery is read once, however many paths there are.
  const selected = new Map<number, ReadonlySet<string>>()
  const isSelectedIn = (path: MetadataPath, { name = '', at }: ReadTable) => {
    const isQualified = isSymbol(tokens[at - 1], '.')
    const open = isSymbol(tokens[at], '(') ? at : isQualified ? undefined : query.subqueryNamed(name)?.open
    if (open === undefined) return false
    const names = selected.get(open) ?? selectedPaths(query, open)
    selected.set(open, names)
    return names.has(columnNameOf(path))
  }
  // The engine prefers aliases to columns and tables, and a WITH clause is that of all SELECTs of a UNION.
  const aliases = new Set<string>()
  const inSet = (scope: SelectScope | undefined, name: string) => `${scope?.open} ${name}`
  const groupedByMetadata = new Set<SelectScope>()
  const found: { path: MetadataPath; scope: SelectScope | undefined; table: ReadTable | undefined }[] = []
  for (let at = 0; at < tokens.length; at++) {
    const name = identifierOf(tokens[at])
    if (name === undefined || scopes.tableTokens.has(at)) continue
    const scope = scopes.of[at]
    if (isAlias(tokens, at) || lambdas.definitions.has(at)) aliases.add(inSet(scope, name))
    const isStart = !isSymbol(tokens[at - 1], '.') && !lambdas.uses.has(at)
    const path = isStart ? pathAt(sql, tokens, at, isMetadataTable(scope)) : undefined
    const table = path && tableOf(path, scope)
    if (path) {
      at = path.end - 1
      found.push({ path, scope, table })
    }
    if (!table && (path || name === metadata) && scope && clauseOf(scope, 'GROUP'))
      groupedByMetadata.add(scope)
  }
  for (const scope of new Set(scopes.of)) {
    for (const { name, alias } of scope?.tables ?? []) {
      if (alias && alias !== name) aliases.add(inSet(scope, `FROM ${alias}`))
    }
  }
  /** Whether a typed column can replace the path: it is certainly read from the column of the table. */
  const isOfTable = (scope: SelectScope | undefined, { name = '', alias = '' }: ReadTable) =>
    !subqueriesBy.has(name) &&
    !aliases.has(inSet(scope, `FROM ${name}`)) &&
    !aliases.has(inSet(scope, alias)) &&
    !aliases.has(inSet(scope, metadata)) &&
    // Each group has one value of a path if metadata, or the path in another form, may be a key of GROUP BY.
    !(scope && groupedByMetadata.has(scope))
  return found.map(({ path, scope, table }) => ({
    path,
    scope,
    /** Whether it names a column that a subquery selects. */
    isColumn: table !== undefined && isSelectedIn(path, table),
    /** Set if a typed column could certainly hold the same value. */
    place: table && isOfTable(scope, table) ? placeOf(path, table) : undefined,
  }))
}

/** The table that a path belongs to, if only one is possible. */
function tableOf(path: MetadataPath, scope: SelectScope | undefined): ReadTable | undefined {
  if (!scope?.certain) return undefined
  const name = tableNameOf(path)
  const tables = name === '' ? scope.tables : scope.tables.filter(({ qualifier }) => qualifier === name)
  return tables.length === 1 ? tables[0] : undefined
}

function placeOf({ steps }: MetadataPath, { name, alias = '', qualifier }: ReadTable) {
  const [keys = []] = steps
  if (!name) return undefined
  // Only a name that begins with a letter can qualify a column: the others are reserved.
  if (!/^\p{L}[\p{L}\p{N}_]*$/u.test(alias)) return undefined
  return { source: name, path: pathOf(keys), qualifier: qualifier ?? name }
}

/** The same value, read from a typed column. */
function sourceColumn({ path: { cast }, place }: FoundPath, columnsOf: ColumnsOf): string | undefined {
  if (!cast || !place) return undefined
  const columns = columnsOf(place.source)?.filter(({ path }) => path === place.path) ?? []
  const named = (name: string) => `${place.qualifier}.${sqlName(name)}`
  const reads = columns.map(({ name, type }) =>
    columnRead(type, named(name), named(restName(name)), cast.type),
  )
  return reads.find((read) => read !== undefined)
}

/** The column with what a typed column does not tell: whether a text is present, or a number that is not in it. */
export const restName = (column: string) => `_rest_${column}`

/** Names of the paths that a subquery selects without an alias; none if it selects metadata as well. */
function selectedPaths({ sql, tokens, scopes: { of } }: PathText, open: number): ReadonlySet<string> {
  const scope = of[open + 1]
  const names = new Set<string>()
  // In a UNION, each SELECT is a scope of its own.
  if (scope?.open !== open || scope !== of[closingOf(tokens, open) - 1]) return names
  const isTable = isTableName(metadata, scope)
  for (const { first, end } of scope.items) {
    const isAll = tokens.slice(first, end).some((token, index, item) => {
      return isKeyword(token, 'COLUMNS') || (isSymbol(token, '.') && isSymbol(item[index + 1], '*'))
    })
    if (isAll || isSymbol(tokens[first], '*') || identifierOf(tokens[end - 1]) === metadata) return new Set()
    const path = pathAt(sql, tokens, first, isTable)
    if (path?.end === end) names.add(columnNameOf(path, scope))
  }
  return names
}

function isTableName(name: string, scope: SelectScope | undefined): boolean {
  for (let each = scope; each; each = each.parent) {
    if (each.tables.some(({ alias }) => alias === name)) return true
  }
  return false
}

function isSelectedWithoutName(
  tokens: readonly CodeToken[],
  scope: SelectScope | undefined,
  at: number,
): boolean {
  const item = scope?.items.find(({ first, end }) => at >= first && at < end)
  return item !== undefined && !isKeyword(tokens[item.end - 2], 'AS')
}

/** Indexes of the tokens that define parameters of lambdas, and of those in their bodies that name one. */
function lambdaParameters(tokens: readonly CodeToken[]) {
  const definitions = new Set<number>()
  const uses = new Set<number>()
  const open: { depth: number; parameters: readonly string[] }[] = []
  // How many of the open lambdas have a parameter of this name.
  const counts = new Map<string, number>()
  const count = (names: readonly string[], by: 1 | -1) => {
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + by)
  }
  for (const [at, token] of tokens.entries()) {
    // The body ends at the next argument or at the bracket that closes the function.
    for (let last = open.at(-1); last && isAfter(token, last.depth); last = open.at(-1)) {
      count(last.parameters, -1)
      open.pop()
    }
    const name = identifierOf(token)
    if (name !== undefined && (counts.get(name) ?? 0) > 0) uses.add(at)
    if (!isSymbol(token, '>') || !isSymbol(tokens[at - 1], '-')) continue
    const defined = parametersBefore(tokens, at - 1)
    const parameters = defined.map((index) => identifierOf(tokens[index]) as string)
    open.push({ depth: token.depth, parameters })
    count(parameters, 1)
    for (const index of defined) definitions.add(index)
  }
  return { definitions, uses }
}

function isAfter({ depth, text }: CodeToken, lambda: number): boolean {
  return depth < lambda || (depth === lambda && text === ',')
}

/** The index of x in "x -> …", those of x and y in "(x, y) -> …". */
function parametersBefore(tokens: readonly CodeToken[], arrow: number): number[] {
  const isList = isSymbol(tokens[arrow - 1], ')')
  const found: number[] = []
  for (let at = isList ? arrow - 2 : arrow - 1; at >= 0; at--) {
    const isName = identifierOf(tokens[at]) !== undefined
    if (!isName && !isSymbol(tokens[at], ',')) break
    if (isName) found.push(at)
    if (!isList) break
  }
  return found
}

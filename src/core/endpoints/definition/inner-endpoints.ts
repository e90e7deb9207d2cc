import { invalidQuery, WellheadError } from '../../base/errors.ts'
import { closestName, didYouMean } from '../../base/text/closest-name.ts'
import type { SqlEdit } from '../../sql/edits.ts'
import { positionOf } from '../../sql/edits.ts'
import { sqlName } from '../../sql/names.ts'
import { type Query, queryOf } from '../../sql/query.ts'
import { type CodeToken, isSymbol } from '../../sql/tokens.ts'
import type { EndpointDefinition } from './definition.ts'
import type { CompiledQuery } from './parameters.ts'

export type InnerDefinition = Pick<EndpointDefinition, 'name' | 'query' | 'parameters'>

/** What an endpoint may read besides sources. */
export interface KnownEndpoints {
  /** Undefined if other endpoints cannot read it. */
  named(name: string): InnerDefinition | undefined
  names(): readonly string[]
}

/** What all parts of one statement share: how many endpoints were expanded, and the names of their subqueries. */
interface Expanded {
  count: number
  readonly subqueries: Set<string>
}

export function nothingExpanded(): Expanded {
  return { count: 0, subqueries: new Set() }
}

/** Where a query is expanded: the endpoints around it, and how many have been expanded in all. */
export interface Nesting {
  readonly path: readonly string[]
  readonly expanded: Expanded
  /** Whether parameters must have the types of those that they are handed to. Those of an ad-hoc query have no types of their own. */
  readonly comparesTypes?: boolean
}

const maxLevels = 5
const maxExpanded = 100

/** Tables whose names are in backticks, and that no subquery of the query has: sources, or other endpoints. */
function quotedTables(query: Query) {
  const { tokens, selects, subqueriesBy } = query
  return selects.flatMap(({ tables }) =>
    tables.flatMap(({ name, isAliased, at }) => {
      const token = tokens[at] as CodeToken
      const isQuoted = token.text.startsWith('`') && !isSymbol(tokens[at - 1], '.')
      if (name === undefined || !isQuoted || subqueriesBy.has(name)) return []
      return [{ name, isAliased, token }]
    }),
  )
}

/** Names that may be those of other endpoints. */
export function possibleEndpoints(query: string): string[] {
  if (!query.includes('`')) return []
  return [...new Set(quotedTables(queryOf(query)).map(({ name }) => name))]
}

/** The definitions that a query reads, also through others. */
export function innerDefinitions(
  query: string,
  endpoints: KnownEndpoints | undefined,
  found = new Map<string, InnerDefinition>(),
): ReadonlyMap<string, InnerDefinition> {
  for (const name of endpoints ? possibleEndpoints(query) : []) {
    const definition = found.has(name) ? undefined : endpoints?.named(name)
    if (definition) innerDefinitions(definition.query, endpoints, found.set(name, definition))
  }
  return found
}

interface Expansion {
  edit: SqlEdit
  inner: InnerDefinition
  compiled: CompiledQuery
}

/** Replaces the names of other endpoints by their queries. */
export function expansions(
  query: Query,
  { path, expanded }: Nesting,
  endpoints: KnownEndpoints,
  isSource: (name: string) => boolean,
  bind: (inner: InnerDefinition, nesting: Nesting) => CompiledQuery,
): Expansion[] {
  if (!query.sql.includes('`')) return []
  return quotedTables(query).flatMap(({ name, isAliased, token: { start, end } }) => {
    if (isSource(name)) return []
    const refuse = (message: string): never => {
      throw invalidQuery(message, positionOf(query.sql, start))
    }
    const inner = endpoints.named(name)
    if (path.includes(name)) {
      refuse(`Endpoints cannot read each other in a circle: ${[...path, name].join(' → ')}.`)
    }
    if (!inner) {
      const closest = closestName(name, endpoints.names())
      // The error about an unknown source names what else could be meant.
      if (closest === undefined) return []
      const known = 'No endpoint that other endpoints can read is called'
      return refuse(`${known} ${sqlName(name)}.${didYouMean(closest)}`)
    }
    if (path.length >= maxLevels) refuse(`Endpoints can read others over at most ${maxLevels} levels.`)
    expanded.count++
    if (expanded.count > maxExpanded) refuse(`A query can read other endpoints at most ${maxExpanded} times.`)
    const compiled = bound(name, refuse, () => bind(inner, { path: [...path, name], expanded }))
    const hidden = [...compiled.tables].find((table) => query.subqueriesBy.has(table))
    if (hidden !== undefined) {
      refuse(`${name} reads the source ${hidden}, and a subquery here has that name. Rename the subquery.`)
    }
    const text = `(\n${compiled.sql}\n)${isAliased ? '' : ` AS ${sqlName(name)}`}`
    return { edit: { start, end, text, inner: { name, edited: compiled.edited, at: 2 } }, inner, compiled }
  })
}

/** Errors of the inner query say where they are, and are shown where it is read. */
function bound(name: string, refuse: (message: string) => never, bind: () => CompiledQuery): CompiledQuery {
  try {
    return bind()
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    const { line } = error.details
    return refuse(`${error.message} This is in ${name}${line === undefined ? '' : `, line ${line}`}.`)
  }
}

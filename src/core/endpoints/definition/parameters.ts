import { listValues } from '../../../shared/list-text.ts'
import { reservedName } from '../../../shared/sql-tokens.ts'
import { formatMicros } from '../../../shared/timestamps.ts'
import { invalidParameter, invalidQuery, missingParameter, WellheadError } from '../../base/errors.ts'
import { certainColumns } from '../../sql/certain-columns.ts'
import type { SourceNames } from '../../sql/check.ts'
import { type EditedSql, editSql, positionOf, type SqlEdit } from '../../sql/edits.ts'
import { matchesEdits } from '../../sql/matches.ts'
import { type ColumnsOf, pathEdits } from '../../sql/paths.ts'
import { type Query, queryOf } from '../../sql/query.ts'
import { subqueryEdits } from '../../sql/subquery-names.ts'
import type { CodeToken } from '../../sql/tokens.ts'
import {
  expansions,
  type InnerDefinition,
  type KnownEndpoints,
  type Nesting,
  nothingExpanded,
} from './inner-endpoints.ts'
import {
  declarationOf,
  isAllowed,
  type JsonValue,
  maxListValues,
  type ParameterDeclaration,
  type ParameterDeclarations,
  reads,
  sampleNowMicros,
  sampleValues,
  timestampType,
  typeOf,
  typeText,
} from './parameter-declaration.ts'

/** Values that are sent to the engine beside the SQL, never inside it. */
export type BoundValues = Readonly<Record<string, JsonValue>>

type Sent = Readonly<Record<string, string>>

/** A query whose @names are typed placeholders of the engine, and whose paths of metadata are functions. */
export interface CompiledQuery {
  readonly sql: string
  /** Maps positions of errors to the author's text. */
  readonly edited: EditedSql
  /** The SQL that is sent to the engine: without subqueries that nothing uses. */
  readonly prunedSql: string
  readonly certain: ReturnType<typeof certainColumns>
  /** Words of the pruned SQL that have the form of a source name. */
  readonly possibleSources: ReadonlySet<string>
  /** The same of the whole SQL, whose views a caller's SQL can read. */
  readonly viewSources: ReadonlySet<string>
  /** Parameters that the SQL uses except @now, in the order of their first appearance. */
  readonly names: readonly string[]
  /** Values that are regular expressions, which the engine may refuse to compile, and the names of their parameters. */
  readonly patterns: ReadonlyMap<string, string>
  /** Definitions of the endpoints that it reads, also through others. */
  readonly inner: ReadonlyMap<string, InnerDefinition>
  /** Parameters that these endpoints take. */
  readonly handed: ReadonlySet<string>
  /** Sources that it names as tables. */
  readonly tables: ReadonlySet<string>
  /** Number of values that a request binds, also in endpoints that it reads. */
  readonly valueCount: number
  /**
   * Returns the values of all used parameters and no others. Equal requests have equal values. Endpoints that it reads get what
   * is fixed also if it is not handed on. An error about a missing parameter names all of them.
   */
  check(sent: Sent, fixed?: Sent): BoundValues
  /** Required parameters without a value, those of endpoints that it reads included. */
  missing(sent: Sent, fixed?: Sent): readonly string[]
}

const maxValueBytes = 64 * 1024

/** Of a statement with the endpoints that it reads. The engine takes each value as a field of its request, and few fields. */
const maxBoundValues = 500

export interface SourceColumns {
  readonly typedColumns?: ColumnsOf
  readonly endpoints?: KnownEndpoints
}

export function factsOf(sent: Query) {
  const { sql: prunedSql, possibleSources } = sent
  return { prunedSql, certain: certainColumns(sent), possibleSources }
}

export function bindQuery(
  sql: string,
  declared: ParameterDeclarations,
  sources: SourceColumns & Partial<Pick<SourceNames, 'has'>> = {},
  nesting: Nesting = { path: [], expanded: nothingExpanded() },
): CompiledQuery {
  const { typedColumns, endpoints } = sources
  const query = queryOf(sql)
  const names = new Set(query.parameterNames)
  const { count } = nesting.expanded
  // Values of inner endpoints have names of their own.
  const keyOf = (name: string) => (count === 0 ? name : `_${count}_${name}`)
  const placeholder = (parameter: string) => {
    const name = parameter.slice(1)
    if (name === reservedName) return `{${name}:${timestampType}}`
    return `{${keyOf(name)}:${engineTypeOf(declarationOf(declared, name))}}`
  }
  const isSource = (name: string) => sources.has?.(name) ?? false
  const bindInner = (inner: InnerDefinition, place: Nesting) =>
    bindQuery(inner.query, inner.parameters, sources, place)
  const renamed = subqueryEdits(query, nesting.expanded.subqueries)
  const expanded = endpoints ? expansions(query, nesting, endpoints, isSource, bindInner) : []
  const matches = matchesEdits(query, placeholder)
  const edits: SqlEdit[] = [
    ...pathEdits(query, typedColumns),
    ...matches,
    ...renamed,
    ...expanded.map(({ edit }) => edit),
  ]
  for (const at of [...query.parameters.values()].flat()) {
    const { text, start, end } = query.tokens[at] as CodeToken
    const name = text.slice(1)
    if (name.startsWith('_')) {
      const message = `@${name} is not allowed. Parameter names that start with _ are reserved for the service.`
      throw invalidQuery(message, positionOf(sql, start))
    }
    if (!matches.some((edit) => start > edit.start && end < edit.end))
      edits.push({ start, end, text: placeholder(text) })
  }
  const edited = editSql(sql, edits)
  const bound = queryOf(edited.text)
  // Declared parameters are checked even if the SQL does not use them: callers read the declaration.
  const checked = new Set([...Object.keys(declared), ...names])
  refuseMissing(sql, expanded, checked)
  for (const { inner, edit } of expanded) {
    const refuse = (message: string) => {
      throw invalidQuery(`${inner.name} ${message}`, positionOf(sql, edit.start))
    }
    for (const [name, taken] of Object.entries(inner.parameters)) {
      if (!checked.has(name)) continue
      const handed = declarationOf(declared, name)
      const types = `the type ${typeText(taken)}, and here it has the type ${typeText(handed)}`
      if (nesting.comparesTypes && !reads(taken, handed))
        refuse(`takes the parameter ${name} with ${types}. Declare the same type.`)
    }
  }
  const valueCount = expanded.reduce((sum, { compiled }) => sum + compiled.valueCount, names.size)
  if (valueCount > maxBoundValues) {
    const message = `The query has ${valueCount} values of parameters, also in endpoints that it reads. At most ${maxBoundValues} are possible. Use a parameter with a list.`
    throw invalidQuery(message)
  }
  const handedOn = (sent: Sent, fixed: Sent): Sent => {
    const texts = [...checked].map((name) => [
      name,
      textOf(declarationOf(declared, name), sentText(sent, name)),
    ])
    return { ...fixed, ...Object.fromEntries(texts.filter(([, text]) => text !== undefined)) }
  }
  const patterns = [...names].filter((name) => declarationOf(declared, name).type === 'regex')
  const inner = expanded.flatMap(({ inner, compiled }) => [[inner.name, inner] as const, ...compiled.inner])
  const named = query.selects.flatMap(({ tables }) => tables.flatMap(({ name }) => name ?? []))
  return {
    sql: edited.text,
    edited,
    valueCount,
    viewSources: bound.possibleSources,
    ...factsOf(bound.withoutUnused),
    names: [...names],
    patterns: new Map([
      ...patterns.map((name) => [keyOf(name), name] as const),
      ...expanded.flatMap(({ compiled }) => [...compiled.patterns]),
    ]),
    inner: new Map(inner),
    handed: new Set(
      expanded.flatMap(({ inner, compiled }) => [
        ...Object.keys(inner.parameters),
        ...compiled.names,
        ...compiled.handed,
      ]),
    ),
    tables: new Set([...named.filter(isSource), ...expanded.flatMap(({ compiled }) => [...compiled.tables])]),
    check(sent, fixed = {}) {
      const values: [string, JsonValue][] = []
      try {
        for (const name of checked) {
          const value = readValue(name, declarationOf(declared, name), sentText(sent, name))
          if (names.has(name)) values.push([keyOf(name), value])
        }
        if (expanded.length > 0) {
          const handed = handedOn(sent, fixed)
          for (const { compiled } of expanded) values.push(...Object.entries(compiled.check(handed, fixed)))
        }
      } catch (error) {
        if (!missingParameter.is(error)) throw error
        const { parameter = '', allowed } = error.details
        throw missingParameter(parameter, allowed, this.missing(sent, fixed))
      }
      return Object.freeze(Object.fromEntries(values))
    },
    missing(sent, fixed = {}) {
      const own = [...checked].filter((name) => {
        const declaration = declarationOf(declared, name)
        return declaration.required && textOf(declaration, sentText(sent, name)) === undefined
      })
      const handed = handedOn(sent, fixed)
      return [...new Set([...own, ...expanded.flatMap(({ compiled }) => compiled.missing(handed, fixed))])]
    },
  }
}

/** Throws if endpoints that the query reads require parameters that it does not have. */
function refuseMissing(
  sql: string,
  expanded: ReturnType<typeof expansions>,
  ownNames: ReadonlySet<string>,
): void {
  const missing = new Map<string, { names: string[]; at: number }>()
  for (const { inner, edit } of expanded) {
    const required = Object.entries(inner.parameters).filter(([, taken]) => taken.required)
    const names = required.flatMap(([name]) => (ownNames.has(name) ? [] : name))
    if (names.length > 0 && !missing.has(inner.name)) missing.set(inner.name, { names, at: edit.start })
  }
  const [first] = missing.values()
  if (!first) return
  const sentences = [...missing].map(
    ([name, { names }]) =>
      `${name} requires the parameter${names.length > 1 ? 's' : ''} ${names.join(', ')}.`,
  )
  const isOne = new Set([...missing.values()].flatMap(({ names }) => names)).size === 1
  const advice = isOne ? 'Declare it here to hand it on.' : 'Declare them here to hand them on.'
  throw invalidQuery(`${sentences.join(' ')} ${advice}`, positionOf(sql, first.at))
}

/** Values that fit, for checking a query without a request: for endpoints that it reads, too. */
function samplesOf(
  { parameters }: { parameters: ParameterDeclarations },
  { inner, names }: Pick<CompiledQuery, 'inner' | 'names'>,
): Record<string, string> {
  const samples = sampleValues(parameters)
  for (const taken of [...inner.values()].map((each) => each.parameters)) {
    for (const [name, sample] of Object.entries(sampleValues(taken))) {
      const own = parameters[name]
      const isFree = own
        ? (own.example ?? own.default ?? own.enum) === undefined && typeOf(own).read(sample) !== undefined
        : names.includes(name)
      if (isFree) samples[name] = sample
    }
  }
  return samples
}

/** Parameters for checking the query of an endpoint without a request. */
export function sampleParameters(
  definition: { parameters: ParameterDeclarations },
  compiled: CompiledQuery,
): BoundValues {
  return withNow(compiled.check(samplesOf(definition, compiled)), sampleNowMicros)
}

/** Adds the time of the request. It is not sent by the caller and is not part of the cache key. */
export function withNow(values: BoundValues, nowMicros: bigint): BoundValues {
  return Object.freeze({ ...values, [reservedName]: formatMicros(nowMicros) })
}

/** An omitted parameter is null, so its type must allow null. An omitted list is empty. */
function engineTypeOf(declaration: ParameterDeclaration): string {
  const { type, required, default: fallback } = declaration
  const { engineType } = typeOf(declaration)
  return type === 'list' || required || fallback !== undefined ? engineType : `Nullable(${engineType})`
}

const sentText = (sent: Sent, name: string) => (Object.hasOwn(sent, name) ? sent[name] : undefined)

/** Undefined if the parameter is omitted and has no default. */
function textOf({ empty_is_omitted, default: preset }: ParameterDeclaration, sent: string | undefined) {
  return sent === undefined || (sent === '' && empty_is_omitted) ? preset : sent
}

/** The value of a parameter. Throws if the text is not one of its values. */
export function readValue(
  name: string,
  declaration: ParameterDeclaration,
  sent: string | undefined,
): JsonValue {
  const isList = declaration.type === 'list'
  const text = textOf(declaration, sent)
  if (text === undefined) {
    if (declaration.required) throw missingParameter(name, declaration.enum)
    return isList ? [] : null
  }
  if (Buffer.byteLength(text) > maxValueBytes) {
    throw invalidParameter(name, `${name} must be at most ${maxValueBytes} bytes long.`)
  }
  if (isList && listValues(text).length > maxListValues) {
    throw invalidParameter(name, `${name} must have at most ${maxListValues} values.`)
  }
  if (declaration.enum && !isAllowed(declaration, text)) throw notOneOf(name, declaration.enum)
  const { read, expected } = typeOf(declaration)
  const value = read(text)
  if (value === undefined) {
    throw invalidParameter(name, `${name} must be ${expected}; received ${shown(text)}.`)
  }
  return value
}

function notOneOf(parameter: string, allowed: readonly string[]): WellheadError {
  const message = `${parameter} must be one of ${allowed.join(', ')}.`
  return new WellheadError(invalidParameter, message, { details: { parameter, allowed } })
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

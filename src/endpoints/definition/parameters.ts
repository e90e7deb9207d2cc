import { invalidParameter, invalidQuery, missingParameter, WellheadError } from '../../base/errors.ts'
import { formatMicros } from '../../base/text/timestamps.ts'
import { type EditedSql, editSql, type SqlEdit } from '../../sql/edits.ts'
import { positionOf } from '../../sql/errors.ts'
import { type ColumnsOf, pathEdits } from '../../sql/paths.ts'
import { certainColumns, prunedSql } from '../../sql/pruned-sql.ts'
import { possibleSources, sqlTokens } from '../../sql/tokens.ts'
import { reservedName } from './definition.ts'
import {
  declarationOf,
  type JsonValue,
  type ParameterDeclaration,
  type ParameterDeclarations,
  parameterTypes,
  timestampType,
} from './parameter-declaration.ts'

/** Values that are sent to the engine beside the SQL, never inside it. */
export type BoundValues = Readonly<Record<string, JsonValue>>

/** A query whose @names are typed placeholders of the engine, and whose paths of metadata are functions. */
export interface CompiledQuery {
  readonly sql: string
  /** Maps positions of errors to the author's text. */
  readonly edited: EditedSql
  /** The SQL that is sent to the engine: without what the result does not depend on. */
  readonly prunedSql: string
  readonly certain: ReturnType<typeof certainColumns>
  /** Words of the pruned SQL that have the form of a source name. */
  readonly possibleSources: ReadonlySet<string>
  /** Parameters that the SQL uses except @now, in the order of their first appearance. */
  readonly names: readonly string[]
  /** Parameters that are regular expressions, which the engine may refuse to compile. */
  readonly patterns: readonly string[]
  /** Returns the values of all used parameters and no others. Equal requests have equal values. */
  check(sent: Readonly<Record<string, string>>): BoundValues
}

const maxValueBytes = 64 * 1024

export interface SourceColumns {
  readonly typedColumns?: ColumnsOf
}

export function factsOf(prunedSql: string) {
  return { prunedSql, certain: certainColumns(prunedSql), possibleSources: possibleSources(prunedSql) }
}

export function bindQuery(
  sql: string,
  declared: ParameterDeclarations,
  { typedColumns }: SourceColumns = {},
): CompiledQuery {
  const names = new Set<string>()
  const edits: SqlEdit[] = []
  for (const { name, start, end } of parameterTokens(sql)) {
    if (name.startsWith('_')) {
      const message = `@${name} is not allowed. Parameter names that start with _ are reserved for the service.`
      throw invalidQuery(message, positionOf(sql, start))
    }
    if (name !== reservedName) names.add(name)
    const type = name === reservedName ? timestampType : engineTypeOf(declarationOf(declared, name))
    edits.push({ start, end, text: `{${name}:${type}}` })
  }
  const edited = editSql(sql, [...edits, ...pathEdits(sql, typedColumns)])
  // Declared parameters are checked even if the SQL does not use them: callers read the declaration.
  const checked = new Set([...Object.keys(declared), ...names])
  return {
    sql: edited.text,
    edited,
    ...factsOf(prunedSql(edited.text, typedColumns)),
    names: [...names],
    patterns: [...names].filter((name) => declarationOf(declared, name).type === 'regex'),
    check(sent) {
      const values: [string, JsonValue][] = []
      for (const name of checked) {
        const text = Object.hasOwn(sent, name) ? sent[name] : undefined
        const value = readValue(name, declarationOf(declared, name), text)
        if (names.has(name)) values.push([name, value])
      }
      return Object.freeze(Object.fromEntries(values))
    },
  }
}

function* parameterTokens(sql: string) {
  for (const { kind, start, end } of sqlTokens(sql)) {
    if (kind === 'parameter') yield { name: sql.slice(start + 1, end), start, end }
  }
}

/** Names of the parameters that the SQL uses except @now. */
export function usedParameters(sql: string): string[] {
  const names = [...parameterTokens(sql)].map(({ name }) => name)
  return [...new Set(names)].filter((name) => name !== reservedName)
}

/** Adds the time of the request. It is not sent by the caller and is not part of the cache key. */
export function withNow(values: BoundValues, nowMicros: bigint): BoundValues {
  return Object.freeze({ ...values, [reservedName]: formatMicros(nowMicros) })
}

/** An omitted parameter is null, so its type must allow null. */
function engineTypeOf({ type, required, default: fallback }: ParameterDeclaration): string {
  const { engineType } = parameterTypes[type]
  return required || fallback !== undefined ? engineType : `Nullable(${engineType})`
}

/** The value of a parameter. Throws if the text is not one of its values. */
export function readValue(
  name: string,
  declaration: ParameterDeclaration,
  sent: string | undefined,
): JsonValue {
  const omitted = sent === undefined || (sent === '' && declaration.empty_is_omitted)
  const text = omitted ? declaration.default : sent
  if (text === undefined) {
    if (declaration.required) throw missingParameter(name, declaration.enum)
    return null
  }
  if (Buffer.byteLength(text) > maxValueBytes) {
    throw invalidParameter(name, `${name} must be at most ${maxValueBytes} bytes long.`)
  }
  if (declaration.enum?.includes(text) === false) throw notOneOf(name, declaration.enum)
  const { read, expected } = parameterTypes[declaration.type]
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

import { invalidParameter, invalidQuery, missingParameter, WellheadError } from '../../base/errors.ts'
import { formatMicros } from '../../base/timestamps.ts'
import { type EditedSql, editSql, type SqlEdit } from '../../sql/edits.ts'
import { positionOf } from '../../sql/errors.ts'
import { pathEdits, type TextColumnOf } from '../../sql/paths.ts'
import { sqlTokens } from '../../sql/tokens.ts'
import { withoutUnused } from '../../sql/with.ts'
import { type ParameterDeclaration, parameterShape, reservedName } from './definition.ts'
import { type BoundValue, parameterTypes, timestampType } from './parameter-types.ts'
import { possibleSources } from './row-filters.ts'

export type BoundValues = Readonly<Record<string, BoundValue>>

/**
 * A query whose @names are typed placeholders of the engine, and whose paths of metadata are functions. Its values stay
 * beside it.
 */
export interface CompiledQuery {
  readonly sql: string
  /** How it came to be, for the positions of errors. */
  readonly edited: EditedSql
  /** What is sent to the engine: without the parts of its WITH clause that nothing uses. */
  readonly sent: string
  /** Words of what is sent that have the form of a source's name. */
  readonly possibleSources: ReadonlySet<string>
  /** Parameters that the SQL uses, in the order of their first appearance; @now is not one of them. */
  readonly names: readonly string[]
  /** Those among them that are regular expressions, which the engine may refuse to compile. */
  readonly patterns: readonly string[]
  /**
   * The values to bind for what a caller sent: of every used parameter, and of no other. Equal calls have
   * equal values. Throws what the caller has to mend.
   */
  check(given: Readonly<Record<string, string>>): BoundValues
}

const maxValueBytes = 64 * 1024
const undeclared = parameterShape.parse({})

export function bindQuery(
  sql: string,
  declared: Readonly<Record<string, ParameterDeclaration>>,
  columnOf?: TextColumnOf,
): CompiledQuery {
  const declarationOf = (name: string) => (Object.hasOwn(declared, name) && declared[name]) || undeclared
  const names = new Set<string>()
  const edits: SqlEdit[] = []
  for (const { kind, start, end } of sqlTokens(sql)) {
    if (kind !== 'parameter') continue
    const name = sql.slice(start + 1, end)
    if (name.startsWith('_')) throw controlName(sql, name, start)
    if (name !== reservedName) names.add(name)
    const type = name === reservedName ? timestampType : engineTypeOf(declarationOf(name))
    edits.push({ start, end, text: `{${name}:${type}}` })
  }
  const edited = editSql(sql, [...edits, ...pathEdits(sql, columnOf)])
  const sent = withoutUnused(edited.text)
  // What is declared is asked for even where the SQL does not use it: the declaration is what callers read.
  const checked = new Set([...Object.keys(declared), ...names])
  return {
    sql: edited.text,
    edited,
    sent,
    possibleSources: possibleSources(sent),
    names: [...names],
    patterns: [...names].filter((name) => declarationOf(name).type === 'regex'),
    check(given) {
      const values: [string, BoundValue][] = []
      for (const name of checked) {
        const sent = Object.hasOwn(given, name) ? given[name] : undefined
        const value = readValue(name, declarationOf(name), sent)
        if (names.has(name)) values.push([name, value])
      }
      return Object.freeze(Object.fromEntries(values))
    },
  }
}

/** Adds the time of the call, which is no parameter of the caller and no part of what calls have in common. */
export function withNow(values: BoundValues, nowMicros: bigint): BoundValues {
  return Object.freeze({ ...values, [reservedName]: formatMicros(nowMicros) })
}

/** A parameter that may be omitted is null then, so its type must have room for that. */
function engineTypeOf({ type, required, default: fallback }: ParameterDeclaration): string {
  const { engineType } = parameterTypes[type]
  return required || fallback !== undefined ? engineType : `Nullable(${engineType})`
}

function readValue(name: string, declaration: ParameterDeclaration, sent: string | undefined): BoundValue {
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
    throw invalidParameter(name, `${name} must be ${expected}; ${shown(text)} was given.`)
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

/** Such a name could never be sent: in a call it belongs to the service, as in _format. */
function controlName(sql: string, name: string, offset: number): WellheadError {
  return invalidQuery(
    `@${name} is no parameter: names that begin with _ are those of the service.`,
    positionOf(sql, offset),
  )
}

import { z } from 'zod'
import { listText } from '../../shared/list-text.ts'
import { isoText, parseIsoTimestamp } from '../../shared/timestamps.ts'
import { invalidBody, invalidParameter, type WellheadError } from './errors.ts'
import { closestName, didYouMean } from './text/closest-name.ts'

export type JsonSchema = { readonly [keyword: string]: unknown }

export const notWellFormed = 'must be valid Unicode; it contains half of a surrogate pair'

interface Place {
  inside: unknown
  key: string | number
  around: Place | undefined
}

/**
 * The path of a text that UTF-8 and the engine cannot store: half of a surrogate pair, which JSON can escape. Stored records
 * are read without this check, so that they can still be changed. It does not recurse, since a body may be nested deeply.
 */
export function findIllFormed(value: unknown): (string | number)[] | undefined {
  const waiting: Place[] = [{ inside: value, key: '', around: undefined }]
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    const { inside } = place
    if (typeof inside === 'string' && !inside.isWellFormed()) return pathOf(place)
    if (typeof inside !== 'object' || inside === null) continue
    for (const key of Array.isArray(inside) ? inside.keys() : Object.keys(inside)) {
      const member = { inside: (inside as Record<string | number, unknown>)[key], key, around: place }
      if (typeof key === 'string' && !key.isWellFormed()) return pathOf(member)
      if (typeof member.inside === 'string' || typeof member.inside === 'object') waiting.push(member)
    }
  }
  return undefined
}

function pathOf(place: Place): (string | number)[] {
  const path: (string | number)[] = []
  for (let at: Place = place; at.around; at = at.around) {
    path.push(typeof at.key === 'string' ? at.key.toWellFormed() : at.key)
  }
  return path.reverse()
}

/** Messages follow the name of the field, as in "max_rows must be …". */
export function must(be: string) {
  return {
    error: (issue: { input?: unknown }) => (issue.input === undefined ? 'is missing' : `must be ${be}`),
  }
}

export const trueOrFalse = z.boolean(must('true or false'))
export const text = z.string(must('text'))

/** Values are text, as callers send them. A number or a boolean becomes its text. */
export const valueText = z
  .union([z.string(), z.number(), z.boolean()], must('text, a number, or true or false'))
  .transform(String)

/** A value, or the values of a list, as one text. */
export const valuesText = z.union(
  [valueText, z.array(valueText).transform(listText)],
  must('text, a number, or true or false'),
)

const usualForm = z.iso.datetime({ offset: true })
const isoForm = 'must be an ISO 8601 date and time, such as 2026-01-31T12:00:00Z'

/** A date and time. Forms of ISO 8601 that Date reads otherwise, or not at all, are turned into the usual one. */
export const isoInstant = z
  .string(isoForm)
  .overwrite((text) => {
    // Nobody reads more than nine digits of a second.
    if (usualForm.safeParse(text).success) return text.replace(/(?<=\.\d{9})\d+/, '')
    const micros = parseIsoTimestamp(text)
    return micros === undefined ? text : isoText(micros)
  })
  .refine((text) => parseIsoTimestamp(text) !== undefined, isoForm)
  .meta({ format: 'date-time' })

/** Reads a value by its schema. The error names the wrong field. */
export function readShape<T>(shape: z.ZodType<T>, value: unknown): T {
  const illFormed = findIllFormed(value)
  if (illFormed) throw refused(illFormed.join('.'), notWellFormed)
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const { path, field, message } = firstProblem(parsed.error, shape)
  if (message.startsWith(unknownField)) throw invalidParameter(field, problemSentence(field, message))
  throw refused(field, valueAt(value, path) === undefined ? 'is required' : message)
}

interface FieldProblem {
  path: PropertyKey[]
  /** Follows the name of the field: "must be …", "is missing". */
  message: string
}

const unknownField = 'is unknown'

/** One problem per field. With the shape, an unknown field gets the name that it most likely means. */
export function fieldProblems(
  error: z.ZodError,
  shape?: z.ZodType,
  /** What the caller calls some fields of the shape. */
  names: Readonly<Record<string, string>> = {},
): FieldProblem[] {
  return error.issues.flatMap((issue): FieldProblem[] => {
    if (issue.code === 'unrecognized_keys') {
      const known = fieldsAt(shape, issue.path).map((field) => names[field] ?? field)
      return issue.keys.map((key) => {
        const hint = didYouMean(closestName(key, known))
        return { path: [...issue.path, key], message: `${unknownField}${hint && `.${hint}`}` }
      })
    }
    const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
    return [{ path: issue.path, message }]
  })
}

/** Names of the fields at a path of a shape. */
function fieldsAt(shape: unknown, path: readonly PropertyKey[]): string[] {
  if (shape instanceof z.ZodDefault || shape instanceof z.ZodOptional || shape instanceof z.ZodNullable) {
    return fieldsAt(shape.unwrap(), path)
  }
  const [key, ...rest] = path
  if (key === undefined) return shape instanceof z.ZodObject ? Object.keys(shape.shape) : []
  if (shape instanceof z.ZodObject) return fieldsAt(shape.shape[String(key)], rest)
  if (shape instanceof z.ZodArray) return fieldsAt(shape.element, rest)
  return shape instanceof z.ZodRecord ? fieldsAt(shape.valueType, rest) : []
}

export function firstProblem(error: z.ZodError, shape?: z.ZodType): FieldProblem & { field: string } {
  const [{ path, message } = { path: [], message: 'is invalid' }] = fieldProblems(error, shape)
  return { path, message, field: path.join('.') }
}

export function problemSentence(field: string, message: string): string {
  if (!message.startsWith(unknownField)) return `${field} ${message}.`
  return `Unknown field "${field}"${message.slice(unknownField.length) || '.'}`
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inside, key) => (inside as Record<PropertyKey, unknown> | null | undefined)?.[key],
    value,
  )
}

function refused(field: string, message: string): WellheadError {
  // Messages of our own schemas continue a sentence; those of zod are sentences.
  const space = /^[A-Z]/.test(message) ? ': ' : ' '
  return field === ''
    ? invalidBody(`The body${space}${message}.`)
    : invalidParameter(field, `Field "${field}"${space}${message}.`)
}

/** Shapes of every field of a type, so that a field without documentation does not compile. */
export type FieldShapes<T> = { [K in keyof T]-?: z.ZodType<T[K]> }

/** Fields of a change: omitted ones stay as they are, so none has a default. */
export function changeOf({ shape }: z.ZodObject): z.ZodObject {
  const fields = Object.entries(shape).map(([name, field]) => {
    const own = (field instanceof z.ZodDefault ? field.unwrap() : field) as z.ZodType
    const text = field.description
    return [name, text === undefined ? own.optional() : own.optional().describe(text)]
  })
  return z.strictObject(Object.fromEntries(fields))
}

/** The fields of a request body without those that only the service sets. Clients send them back as they read them. */
export function writableFields(body: unknown, readOnly: readonly string[]): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidBody('The body must be a JSON object.')
  }
  const fields: Record<string, unknown> = { ...body }
  for (const name of readOnly) delete fields[name]
  return fields
}

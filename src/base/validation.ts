import { z } from 'zod'
import { invalidBody, invalidParameter, type WellheadError } from './errors.ts'

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

/** Reads a value by its schema. The error names the wrong field. */
export function readShape<T>(shape: z.ZodType<T>, value: unknown): T {
  const illFormed = findIllFormed(value)
  if (illFormed) throw refused(illFormed.join('.'), notWellFormed)
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const { path, field, message } = firstProblem(parsed.error)
  if (message === unknownField) throw invalidParameter(field, problemSentence(field, message))
  throw refused(field, valueAt(value, path) === undefined ? 'is required' : message)
}

interface FieldProblem {
  path: PropertyKey[]
  /** Follows the name of the field: "must be …", "is missing". */
  message: string
}

const unknownField = 'is unknown'

/** One problem per field. */
export function fieldProblems(error: z.ZodError): FieldProblem[] {
  return error.issues.flatMap((issue): FieldProblem[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...issue.path, key], message: unknownField }))
    }
    const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
    return [{ path: issue.path, message }]
  })
}

export function firstProblem(error: z.ZodError): FieldProblem & { field: string } {
  const [{ path, message } = { path: [], message: 'is invalid' }] = fieldProblems(error)
  return { path, message, field: path.join('.') }
}

export function problemSentence(field: string, message: string): string {
  return message === unknownField ? `Unknown field "${field}".` : `${field} ${message}.`
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inside, key) => (inside as never)?.[key], value)
}

function refused(field: string, message: string): WellheadError {
  // Messages of our own schemas continue a sentence; those of zod are sentences.
  const space = /^[A-Z]/.test(message) ? ': ' : ' '
  return field === ''
    ? invalidBody(`The body${space}${message}.`)
    : invalidParameter(field, `Field "${field}"${space}${message}.`)
}

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

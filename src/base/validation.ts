import type { z } from 'zod'
import { invalidBody, invalidParameter, type WellheadError } from './errors.ts'

export const notWellFormed = 'must be well-formed Unicode; it holds half of a surrogate pair'

interface Place {
  inside: unknown
  key: string | number
  around: Place | undefined
}

/**
 * Where a value holds text that neither the engine nor UTF-8 can hold: half of a surrogate pair, which JSON can escape.
 * Records that are stored already are read without this check, so that they can still be changed. A body may be
 * nested deeply, so this neither recurses nor copies paths.
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

/** Reads a value by its shape; what does not fit is told by the name of the field. */
export function readShape<T>(shape: z.ZodType<T>, value: unknown): T {
  const illFormed = findIllFormed(value)
  if (illFormed) throw refused(illFormed.join('.'), notWellFormed)
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  const path = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])]
  const field = path.join('.')
  const missing = path.reduce<unknown>((inside, key) => (inside as never)?.[key], value) === undefined
  const message = unknown
    ? 'is no field that is known here'
    : missing
      ? 'is missing'
      : (issue?.message ?? 'does not fit')
  throw refused(field, message)
}

function refused(field: string, message: string): WellheadError {
  return field === ''
    ? invalidBody(`The body does not fit: ${message}.`)
    : invalidParameter(field, `${field}: ${message}.`)
}

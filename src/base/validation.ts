import type { z } from 'zod'
import { invalidBody, invalidParameter, type WellheadError } from './errors.ts'

export const notWellFormed = 'must be well-formed Unicode; it holds half of a surrogate pair'

/**
 * Where a value holds text that no engine and no other program can read: half of a surrogate pair, which JSON can write.
 * What is stored already is read without this check, so that it can still be changed.
 */
export function findIllFormed(value: unknown): string[] | undefined {
  const waiting: { inside: unknown; path: string[] }[] = [{ inside: value, path: [] }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { inside, path } = next
    if (typeof inside === 'string' && !inside.isWellFormed()) return path
    if (typeof inside !== 'object' || inside === null) continue
    for (const [key, member] of Object.entries(inside)) {
      if (!key.isWellFormed()) return [...path, key.toWellFormed()]
      if (typeof member === 'string' || typeof member === 'object') {
        waiting.push({ inside: member, path: [...path, key] })
      }
    }
  }
  return undefined
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

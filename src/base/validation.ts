import type { z } from 'zod'
import { invalidBody, invalidParameter } from './errors.ts'

/** Reads a value by its shape; what does not fit is told by the name of the field. */
export function readShape<T>(shape: z.ZodType<T>, value: unknown): T {
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
  throw field === ''
    ? invalidBody(`The body does not fit: ${message}.`)
    : invalidParameter(field, `${field}: ${message}.`)
}

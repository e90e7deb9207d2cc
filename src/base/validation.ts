import type { z } from 'zod'
import { invalidBody, invalidParameter } from './errors.ts'

/** Reads a value by its shape; what does not fit is told by the name of the field. */
export function readShape<T>(shape: z.ZodType<T>, value: unknown): T {
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = issue?.path.join('.') ?? ''
  const message = issue?.message ?? 'does not fit'
  throw field === ''
    ? invalidBody(`The body does not fit: ${message}.`)
    : invalidParameter(field, `${field}: ${message}.`)
}

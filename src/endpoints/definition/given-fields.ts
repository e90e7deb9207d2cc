import { invalidBody, invalidParameter } from '../../base/errors.ts'
import { findIllFormed, notWellFormed } from '../../base/validation.ts'
import { definitionShape, type EndpointDefinition, fieldProblems } from './definition.ts'

/** Fields that people send back as they read them, and that only the service sets. */
const readOnly = ['version', 'columns', 'created_at', 'updated_at', 'updated_by'] as const

/** The fields of an endpoint as somebody sent them, without those that only the service sets. */
export function fieldsOf(given: unknown): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidBody('The body must be a JSON object.')
  }
  const fields: Record<string, unknown> = { ...given }
  for (const name of readOnly) delete fields[name]
  return fields
}

export function readFields(fields: unknown): EndpointDefinition {
  const illFormed = findIllFormed(fields)?.join('.')
  if (illFormed !== undefined) throw invalidParameter(illFormed, `${illFormed} ${notWellFormed}.`)
  const parsed = definitionShape.safeParse(fields)
  if (parsed.success) return parsed.data
  const [problem] = fieldProblems(parsed.error)
  const field = problem?.path.join('.') ?? ''
  throw invalidParameter(field, `${field} ${problem?.message ?? 'does not fit'}.`)
}

/** What was read into the shape has its fields in one order, so that texts can be compared. */
export function sameDefinition(one: EndpointDefinition, other: EndpointDefinition): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

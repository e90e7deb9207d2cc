import { z } from 'zod'
import { must, text } from '../../core/base/validation.ts'
import { readerOf } from '../../core/definitions/kind.ts'
import { endpointForm } from '../../shared/names.ts'

/** Null: no limit. */
function limit(most: number, description: string) {
  const shape = must(`a whole number from 1 to ${most}, or null`)
  return z.int(shape).min(1, shape).max(most, shape).nullable().default(null).describe(description)
}

const perDay = 'per project and UTC day. Null: no limit.'

/** What users write. */
export const planShape = z.strictObject({
  name: text
    .regex(
      endpointForm,
      'must be letters, digits, dots, - and _, starting with a letter, at most 128 characters',
    )
    .describe('Unique among plans. `default` holds for projects without another plan.'),
  retention_days: limit(
    3650,
    'How far back tenants see their entries. Null: as long as the sources keep them.',
  ),
  requests_per_minute: limit(
    1_000_000,
    'Maximum number of requests per minute, over all tokens of a project. Null: no limit.',
  ),
  entries_per_day: limit(1e15, `Maximum number of entries ${perDay}`),
  bytes_per_day: limit(1e15, `Maximum bytes of entries ${perDay}`),
})

export type Plan = Readonly<z.output<typeof planShape>>
export type SavedPlan = ReturnType<typeof readPlan>

export const readPlan = readerOf(planShape)

/** Holds for projects without another plan. */
export const defaultPlan = 'default'

export const unlimited: Plan = planShape.parse({ name: defaultPlan })

export function limitsDay({ entries_per_day, bytes_per_day }: Plan): boolean {
  return entries_per_day !== null || bytes_per_day !== null
}

/** A name that a token or a plan can have; entries may have any other. */
export const projectName = text
  .min(1, 'must not be empty')
  .max(256, 'must be at most 256 characters long')
  .regex(/^[^\x00-\x1f\x7f]*$/, 'must not contain control characters')

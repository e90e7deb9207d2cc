import { z } from 'zod'
import { notWellFormed } from '../base/validation.ts'

export const noteShape = z
  .string({ error: 'must be text' })
  .max(500, { error: 'must have at most 500 characters' })
  .refine((note) => note.isWellFormed(), { error: notWellFormed })

const maxDeployedOfKind = 500

/** Zero means that the definition must not exist yet. */
export const expectedVersionShape = z.int().min(0)
export const expectationShape = z.object({ expected_version: expectedVersionShape.optional() })

export const deploymentTerms = {
  dry_run: z.boolean().default(false).describe('Whether to report the changes without making them.'),
  allow_breaking: z.boolean().default(false).describe('Whether to deploy changes that break callers.'),
  note: noteShape.default('').describe('Why, for people. Stored with each new version.'),
}

export type Deployment = Record<string, Record<string, unknown>[]> & {
  delete: Record<string, string[]>
  dry_run: boolean
  allow_breaking: boolean
  note: string
}

export function deploymentShape(folders: readonly string[]): z.ZodType<Deployment> {
  const definitions = z.array(z.record(z.string(), z.unknown())).max(maxDeployedOfKind).default([])
  const references = z.array(z.string().max(200)).max(maxDeployedOfKind).default([])
  const each = <T>(shape: T) => Object.fromEntries(folders.map((folder) => [folder, shape]))
  return z.strictObject({
    ...each(definitions),
    delete: z.strictObject(each(references)).default({}),
    ...deploymentTerms,
  }) as unknown as z.ZodType<Deployment>
}

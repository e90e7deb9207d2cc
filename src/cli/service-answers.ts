import { z } from 'zod'
import { hotFieldShape, newSourceShape, sourceName } from '../catalog/source.ts'
import type { ChangeKind } from '../endpoints/manage/contract-changes.ts'

/**
 * What commands rely on in the answers of a service. A service of another version may tell more, which is kept for
 * --json; anything else is refused with a sentence, before a command works with it.
 */
const value = z.union([z.string(), z.number(), z.boolean()])

export const endpointAnswer = z.looseObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  query: z.string(),
  parameters: z.record(
    z.string(),
    z.looseObject({
      type: z.string(),
      required: z.boolean(),
      default: value.optional(),
      enum: z.array(value).optional(),
    }),
  ),
  columns: z.array(z.looseObject({ name: z.string(), type: z.string() })),
  max_rows: z.number(),
  cache_seconds: z.number().nullable(),
  warm_seconds: z.number().nullable(),
  sandbox: z.boolean(),
  version: z.int(),
  updated_at: z.string(),
  updated_by: z.string(),
})

export type EndpointAnswer = z.output<typeof endpointAnswer>

/** Names become names of files, so they have to be names of sources. */
export const sourceAnswer = z.looseObject({
  ...newSourceShape.shape,
  name: sourceName,
  hot_fields: z.array(hotFieldShape.loose()),
  id: z.string(),
  updated_at: z.string(),
})

export type SourceAnswer = z.output<typeof sourceAnswer>

export const sourcePathAnswer = z.looseObject({
  path: z.string(),
  types: z.array(z.string()),
  entries: z.int(),
  column: z.string().nullable(),
})

export const tokenAnswer = z.looseObject({
  id: z.string(),
  description: z.string(),
  scopes: z.array(z.string()),
  project: z.string().nullable(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
})

export type TokenAnswer = z.output<typeof tokenAnswer>

export const newTokenAnswer = z.looseObject({ ...tokenAnswer.shape, token: z.string() })

export type NewTokenAnswer = z.output<typeof newTokenAnswer>

/** A newer service may know more of them. */
const changeKind = z.custom<ChangeKind>((kind) => typeof kind === 'string')

export const deploymentAnswer = z.looseObject({
  endpoints: z.array(
    z.looseObject({
      name: z.string(),
      id: z.string(),
      action: z.enum(['created', 'updated', 'unchanged']),
      version: z.int(),
      changes: z.array(z.looseObject({ kind: changeKind, breaking: z.boolean(), message: z.string() })),
    }),
  ),
})

export const intakeAnswer = z.looseObject({
  accepted: z.int(),
  rejected: z.int(),
  errors: z.array(z.looseObject({ index: z.int(), reason: z.string() })),
})

export const recentAnswer = z.array(z.looseObject({ project: z.string(), timestamp: z.number() }))

export const statusAnswer = z.looseObject({
  ready: z.boolean(),
  engine: z.looseObject({
    ready: z.boolean(),
    reason: z.string().optional(),
    version: z.string().optional(),
    restarts: z.int(),
  }),
})

export const planAnswer = z.looseObject({ plan: z.string() })

export const resultAnswer = z.looseObject({ result: z.array(z.record(z.string(), z.unknown())) })

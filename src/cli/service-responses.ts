import { z } from 'zod'
import { newSourceShape, sourceName, typedColumnShape } from '../catalog/source.ts'
import type { ChangeKind } from '../endpoints/manage/contract-changes.ts'

/** The response fields that commands rely on. Additional fields of newer services are kept for --json. */
const value = z.union([z.string(), z.number(), z.boolean()])

export const endpointResponse = z.looseObject({
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
  strict: z.boolean().default(false),
  published: z.boolean().default(true),
  chart: z.looseObject({ type: z.string() }).nullable().default(null),
  version: z.int(),
  updated_at: z.string(),
  updated_by: z.string(),
  note: z.string().default(''),
})

export type EndpointResponse = z.output<typeof endpointResponse>

export const endpointList = z.array(endpointResponse)

/** The name is validated because it becomes a file name. */
export const sourceResponse = z.looseObject({
  ...newSourceShape.shape,
  name: sourceName,
  hot_fields: z.array(typedColumnShape.loose()),
  id: z.string(),
  updated_at: z.string(),
})

export type SourceResponse = z.output<typeof sourceResponse>

export const sourceList = z.array(sourceResponse)

/** Kinds of changes may be added by newer services. */
const changeKind = z.custom<ChangeKind>((kind) => typeof kind === 'string')

export const deploymentResponse = z.looseObject({
  endpoints: z.array(
    z.looseObject({
      name: z.string(),
      id: z.string(),
      action: z.enum(['created', 'updated', 'unchanged']),
      version: z.int(),
      changes: z.array(z.looseObject({ kind: changeKind, breaking: z.boolean(), message: z.string() })),
      warnings: z.array(
        z.looseObject({ code: z.string(), message: z.string(), line: z.int(), column: z.int() }),
      ),
    }),
  ),
})

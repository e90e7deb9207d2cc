import { z } from 'zod'

/** A field of `metadata` that saved queries use often: the engine keeps it as a column of its own. */
export const hotFieldShape = z.strictObject({
  column: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/),
  /** Where it stands in `metadata`, with dots between the levels. */
  path: z.string().regex(/^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/),
  type: z.enum(['text', 'number']),
  /** Makes regular expressions with a literal part skip what cannot match. */
  searched: z.boolean().default(false),
})

export type HotField = z.infer<typeof hotFieldShape>

const reservedColumns = new Set(['project', 'id', 'timestamp', 'event_message', 'metadata'])

export const sourceName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_]{0,63}$/,
    'must be lowercase letters, digits and _, beginning with a letter, at most 64',
  )
  .refine((name) => !name.endsWith('_local'), 'must not end with _local')

export const maxHotFields = 32

const hotFields = z
  .array(hotFieldShape)
  .max(maxHotFields)
  .refine(
    (fields) =>
      new Set(fields.map((field) => field.column)).size === fields.length &&
      fields.every((field) => !reservedColumns.has(field.column)),
    'must have different columns, none of them project, id, timestamp, event_message or metadata',
  )
  .refine(
    (fields) => fields.every(({ type, searched }) => !searched || type === 'text'),
    'can be searched only if their type is text',
  )

export const newSourceShape = z.strictObject({
  name: sourceName,
  description: z.string().max(1000).default(''),
  aliases: z
    .array(z.string().regex(/^[A-Za-z][\w.-]{0,127}$/))
    .max(16)
    .default([]),
  retention_days: z.int().min(1).max(3650).default(90),
  hot_fields: hotFields.default([]),
})

export type NewSource = z.infer<typeof newSourceShape>

export const sourceShape = newSourceShape.extend({
  // What is stored is read whatever the limits are now.
  hot_fields: z.array(hotFieldShape),
  id: z.uuid(),
  version: z.int(),
  created_at: z.string(),
  updated_at: z.string(),
})

export type Source = z.infer<typeof sourceShape>

/** What may change after a source was made. */
export const sourceChangeShape = z
  .strictObject({
    description: newSourceShape.shape.description.unwrap(),
    aliases: newSourceShape.shape.aliases.unwrap(),
    retention_days: newSourceShape.shape.retention_days.unwrap(),
    hot_fields: hotFields,
  })
  .partial()

export type SourceChange = z.infer<typeof sourceChangeShape>

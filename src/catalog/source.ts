import { z } from 'zod'

/** A path of `metadata` that queries read often; the engine stores it as a column of its own. */
export const typedColumnShape = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/),
  /** Position in `metadata`, with dots between the levels. */
  path: z.string().regex(/^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/),
  type: z.enum(['text', 'number']),
  /** Adds an index with which regular expressions skip data that cannot match. */
  searched: z.boolean().default(false),
})

export type TypedColumn = z.infer<typeof typedColumnShape>

export const reservedColumns = new Set(['project', 'id', 'timestamp', 'event_message', 'metadata'])

export const sourceName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_]{0,63}$/,
    'must be lowercase letters, digits and _, starting with a letter, at most 64 characters',
  )
  .refine((name) => !name.endsWith('_local'), 'must not end with _local')

export const maxTypedColumns = 32

const typedColumns = z
  .array(typedColumnShape)
  .max(maxTypedColumns)
  .refine(
    (columns) =>
      new Set(columns.map(({ name }) => name)).size === columns.length &&
      columns.every(({ name }) => !reservedColumns.has(name)),
    'must have distinct columns, none of them project, id, timestamp, event_message or metadata',
  )
  .refine(
    (columns) => columns.every(({ type, searched }) => !searched || type === 'text'),
    'can be searched only if their type is text',
  )
  .describe('Paths of `metadata` with typed columns.')

/** Their description is inside of the default, so that a change has it as well. */
export const newSourceShape = z.strictObject({
  name: sourceName.describe('Unique. Also the name of its table in SQL.'),
  description: z.string().max(1000).describe('What the source contains.').default(''),
  aliases: z
    .array(z.string().regex(/^[A-Za-z0-9][\w.-]{0,127}$/))
    .max(16)
    .describe('Other names that senders can use.')
    .default([]),
  retention_days: z.int().min(1).max(3650).describe('How long entries are kept.').default(90),
  columns: typedColumns.default([]),
})

export type NewSource = z.infer<typeof newSourceShape>

export const sourceShape = newSourceShape.extend({
  // Stored sources are read even if they exceed today's limits.
  columns: z.array(typedColumnShape).describe('Paths of `metadata` with typed columns.'),
  id: z.uuid().describe('Stays the same for the lifetime of the source.'),
  version: z.int().describe('Increases with every change.'),
  created_at: z.string().describe('When the source was created.'),
  updated_at: z.string().describe('When the source was last changed.'),
})

export type Source = z.infer<typeof sourceShape>

export const sourceChangeShape = z
  .strictObject({
    description: newSourceShape.shape.description.unwrap(),
    aliases: newSourceShape.shape.aliases.unwrap(),
    retention_days: newSourceShape.shape.retention_days.unwrap(),
    columns: typedColumns,
  })
  .partial()

export type SourceChange = z.infer<typeof sourceChangeShape>

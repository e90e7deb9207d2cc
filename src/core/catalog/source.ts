import { z } from 'zod'
import { maxTypedColumns, reservedColumns } from '../../shared/column-names.ts'
import { sourceForm } from '../../shared/names.ts'
import { keysOf } from '../../shared/path-text.ts'
import builtIn from './built-in-sources.json' with { type: 'json' }
import { type CatalogRecord, type RecordKind, readBody } from './catalog-state.ts'
import { metadataPath, ownFields } from './metadata-path.ts'
import { rulesShape } from './source-rules.ts'

/** A path of `metadata` that queries read often; the engine stores it as a column of its own. */
export const typedColumnShape = z.strictObject({
  name: z.string().regex(sourceForm),
  path: metadataPath.describe('Position in `metadata`, such as `request.path` or `attributes."http.route"`.'),
  type: z.enum(['text', 'number']),
  /** Adds an index with which regular expressions skip data that cannot match. */
  searched: z.boolean().default(false),
})

export type TypedColumn = z.infer<typeof typedColumnShape>

export const sourceName = z
  .string()
  .regex(sourceForm, 'must be lowercase letters, digits and _, starting with a letter, at most 64 characters')
  .refine((name) => !name.endsWith('_local'), 'must not end with _local')

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
  search_index: z
    .boolean()
    .describe('Whether words are found by an index. False: searches read all entries of their time range.')
    .default(true),
  columns: typedColumns.default([]),
  project: metadataPath
    .overwrite((path) => path.replace(/^metadata\./, ''))
    .nullable()
    .describe('Path of the project in entries without a field `project`, such as `customer.id`.')
    .default(null),
  list_columns: z
    .array(metadataPath.overwrite((path) => path.replace(ownFields, '')))
    .max(20)
    .refine((paths) => new Set(paths).size === paths.length, 'must be distinct')
    .describe('Paths that lists of entries show, in order. Empty: the service proposes them.')
    .default([]),
  rules: rulesShape.default([]),
  published: z
    .boolean()
    .describe('Whether tokens with a project and the scope `search` can read the entries of their project.')
    .default(false),
})

export type NewSource = z.infer<typeof newSourceShape>

/** Where entries of a source without a field `project` have theirs. */
export function projectKeys({ project }: Pick<NewSource, 'project'>): string[] | undefined {
  return project === null ? undefined : keysOf(project)
}

/** The catalog record of a source. */
const storedShape = z.object({
  ...newSourceShape.shape,
  /** Undefined: it was stored before the field existed. */
  published: z.boolean().optional(),
  created_at: z.string(),
  note: z.string(),
})

export type Source = ReturnType<typeof readSource>

const publishedFromStart = new Set(builtIn.flatMap(({ name, published }) => (published ? [name] : [])))

export function readSource(record: CatalogRecord) {
  const { id, version, changed_at: updated_at, changed_by: updated_by } = record
  const { created_at, note, ...fields } = readBody(record, storedShape)
  const { published = publishedFromStart.has(fields.name) } = fields
  return { ...fields, published, id, version, created_at, updated_at, updated_by, note }
}

/** Sources in the catalog. */
export const sourceRecords: RecordKind = {
  name: 'source',
  plural: 'sources',
  most: 1_000,
  namesOf: ({ name, aliases }) => [name, ...(Array.isArray(aliases) ? aliases : [])],
  isReferring: true,
}

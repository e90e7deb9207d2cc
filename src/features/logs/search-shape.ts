import { z } from 'zod'
import { isoInstant } from '../../core/base/validation.ts'

const path = z.string().min(1).max(500)

const range = {
  // The parser checks its length.
  query: z
    .string()
    .default('')
    .describe('A search such as `status:>=500 timeout`, at most 5,000 characters.'),
  project: z.string().max(1000).optional().describe('Only entries of this project.'),
  from: isoInstant
    .optional()
    .describe('Start of the time range (ISO 8601, inclusive). Default: one hour before `to`, or before now.'),
  to: isoInstant.optional().describe('End of the time range (ISO 8601, exclusive). Default: no end.'),
}

export const entryFilterShape = z.strictObject(range)

export type EntryFilter = z.output<typeof entryFilterShape>

export const cursorShape = z.strictObject({
  timestamp: z.int(),
  id: z.string().max(200),
  skip: z
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe(
      'Number of entries with this timestamp and id on earlier pages, since ids can repeat. Default: all of them.',
    ),
})

export const searchShape = z.strictObject({
  ...range,
  limit: z.int().min(1).max(1000).default(100).describe('Maximum number of entries.'),
  next: z
    .string()
    .max(1500)
    .optional()
    .describe('The header `Wellhead-Next` of the previous page. The response continues after it.'),
  before: cursorShape.optional().describe('Instead of `next`: the last entry of the previous page.'),
})

export const histogramShape = z.strictObject({
  ...range,
  buckets: z.int().min(1).max(500).default(60).describe('Maximum number of buckets.'),
  by: path
    .optional()
    .describe(
      'Also count by the values of this field: the 8 most frequent ones. HTTP status codes are grouped, as in `5xx`.',
    ),
})

export const valuesShape = z.strictObject({
  ...range,
  path: path.describe('`project`, `id`, or a path of `metadata`.'),
  search: z
    .string()
    .max(500)
    .default('')
    .describe('Only values that contain this text. Letter case does not matter.'),
  limit: z.int().min(1).max(1000).default(20).describe('Maximum number of values.'),
})

export const crossSearchShape = z.strictObject({
  ...range,
  sources: z
    .array(z.string().max(128))
    .min(1)
    .max(100)
    .optional()
    .describe('Names of sources. Default: all.'),
  limit: z.int().min(1).max(1000).default(100).describe('Maximum number of entries.'),
})

export const maxExported = 100_000

export const exportShape = z.strictObject({
  ...range,
  format: z.enum(['ndjson', 'csv']).default('ndjson'),
  columns: z
    .array(path)
    .min(1)
    .max(50)
    .optional()
    .describe(
      '`timestamp`, `id`, `project`, `message`, `metadata`, or paths of `metadata`. Default: whole entries.',
    ),
  limit: z.int().min(1).max(maxExported).default(maxExported).describe('Maximum number of entries.'),
})

export const searchSqlShape = z.strictObject({
  ...range,
  last_seconds: z
    .int()
    .min(1)
    .max(315_360_000)
    .optional()
    .describe('The SQL reads this many seconds before `@now`, instead of from `from` on.'),
})

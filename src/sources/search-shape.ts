import { z } from 'zod'
import { parseIsoTimestamp } from '../base/text/timestamps.ts'

const instant = z
  .string()
  .refine((text) => parseIsoTimestamp(text) !== undefined, 'must be an ISO 8601 date and time')

const path = z.string().min(1).max(500)

const range = {
  /** In the search language. Its length is checked by its parser. */
  query: z.string().default(''),
  project: z.string().max(1000).optional(),
  from: instant.optional(),
  to: instant.optional(),
}

export const entryFilterShape = z.strictObject(range)

export type EntryFilter = z.output<typeof entryFilterShape>

export const searchShape = z.strictObject({
  ...range,
  limit: z.int().min(1).max(500).default(100),
  /** The last entry of the previous page. */
  before: z.strictObject({ timestamp: z.int(), id: z.string().max(200) }).optional(),
})

export const histogramShape = z.strictObject({
  ...range,
  buckets: z.int().min(1).max(500).default(60),
  by: path.optional(),
})

export const valuesShape = z.strictObject({ ...range, path, limit: z.int().min(1).max(100).default(20) })

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { LogSearch } from '../../../sources/log-search.ts'
import { facetsShape, histogramShape, searchShape, valuesShape } from '../../../sources/search-shape.ts'
import { describeFields } from '../../openapi/json-schema.ts'
import { json, jsonBody, routesOf } from '../route.ts'
import { sourceName, storedEntry } from '../sources.ts'
import { entryReader } from './entry-access.ts'

const filterTexts = {
  query: 'A search such as `status:>=500 timeout`, at most 5,000 characters.',
  project: 'Only entries of this project.',
  from: 'Start of the time range (ISO 8601, inclusive). Default: one hour before `to`, or before now.',
  to: 'End of the time range (ISO 8601, exclusive). Default: no end.',
}

const histogram = z.object({
  bucket_seconds: z.int(),
  buckets: z.array(
    z.object({
      timestamp: z.int().describe('Microseconds since 1970, UTC.'),
      count: z.int(),
      counts: z
        .record(z.string(), z.int())
        .optional()
        .describe('With `by`: entries by value. Empty text: no value. `…`: all other values.'),
    }),
  ),
  notes: z.array(z.string()).describe('If there are no entries: sentences that say why.'),
})
const facets = z.object({
  facets: z.array(
    z.object({
      field: z.string().describe('Path of `metadata`.'),
      column: z.string(),
      values: z.array(z.object({ value: z.string(), count: z.int() })),
    }),
  ),
  detected: z
    .array(
      z.object({
        field: z.string().describe('Path of `metadata`. A dot inside of a key is written `%2E`.'),
        entries: z.int().describe('Sampled entries that have it.'),
        sampled: z.int().describe('Newest matching entries that were sampled, at most 2,000.'),
        distinct: z.int().nullable().describe('Number of values in the sample. Null: more than 100.'),
        values: z
          .array(z.object({ value: z.string(), count: z.int() }))
          .describe('The most frequent values in the sample. Empty if most values differ.'),
      }),
    )
    .describe('Fields that no typed column stores, frequent ones first.'),
})
const values = z.array(z.object({ value: z.string(), count: z.int() }))

/** Searching entries. */
export function addSearchRoutes(server: FastifyInstance, search: LogSearch): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'query' })
  const example = { project: 'demo', query: 'status:>=400' }
  const params = sourceName
  const errors = [422, 504]
  route('POST /api/sources/:name/search', 'searchEntries', 'Search the entries of a source', {
    params,
    body: jsonBody(
      describeFields(searchShape, {
        ...filterTexts,
        limit: 'Maximum number of entries.',
        before: 'The last entry of the previous page. The response continues after it.',
      }),
      example,
    ),
    responses: { 200: json('Entries, newest first.', z.array(storedEntry)) },
    errors,
    handler: async (request, reply) => {
      const rows = await search.entries(request.params.name, request.body ?? {}, entryReader(request, reply))
      return reply.type('application/json; charset=utf-8').send(rows)
    },
  })
  route('POST /api/sources/:name/histogram', 'countEntries', 'Count the entries of a source over time', {
    params,
    body: jsonBody(
      describeFields(histogramShape, {
        ...filterTexts,
        buckets: 'Maximum number of buckets.',
        by: 'Also count by the values of this field: the 8 most frequent ones. HTTP status codes are grouped, as in `5xx`.',
      }),
      example,
    ),
    responses: { 200: json('Length of a bucket, and the buckets that have entries.', histogram) },
    errors,
    handler: async (request, reply) =>
      search.histogram(request.params.name, request.body ?? {}, entryReader(request, reply)),
  })
  route('POST /api/sources/:name/values', 'listValues', 'List the most frequent values of a path', {
    params,
    body: jsonBody(
      describeFields(valuesShape, {
        ...filterTexts,
        path: '`project`, `id`, or a path of `metadata`.',
        limit: 'Maximum number of values.',
      }),
      { path: 'project' },
    ),
    responses: { 200: json('Values as text.', values) },
    errors,
    handler: async (request, reply) =>
      search.values(request.params.name, request.body ?? {}, entryReader(request, reply)),
  })
  route('GET /api/sources/:name/entries/:id', 'getEntry', 'Show an entry', {
    params: params.extend({ id: z.string().meta({ description: 'Id of the entry.', example: 'e1' }) }),
    query: z.object({
      timestamp: z
        .string()
        .regex(/^-?\d{1,17}$/, 'must be an integer of microseconds')
        .optional()
        .describe('Timestamp of the entry in microseconds, which makes finding it fast.'),
    }),
    responses: { 200: json('The newest entry with this id.', storedEntry) },
    errors: [...errors, 400],
    handler: async (request, reply) => {
      const { name, id } = request.params
      const entry = await search.entry(name, id, request.query.timestamp, entryReader(request, reply))
      return reply.type('application/json; charset=utf-8').send(entry)
    },
  })
  route('POST /api/sources/:name/facets', 'listFacets', 'Count the values of fields', {
    params,
    body: jsonBody(describeFields(facetsShape, filterTexts), example),
    responses: {
      200: json(
        'Up to 20 values of each typed column of texts or status codes that has at most 100, and of up to 40 other fields.',
        facets,
      ),
    },
    errors,
    handler: async (request, reply) =>
      search.facets(request.params.name, request.body ?? {}, entryReader(request, reply)),
  })
}

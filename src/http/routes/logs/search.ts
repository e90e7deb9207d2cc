import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { LogSearch } from '../../../sources/log-search.ts'
import { newSearchShape, type SavedSearch, type SavedSearches } from '../../../sources/saved-searches.ts'
import { entryFilterShape, histogramShape, searchShape, valuesShape } from '../../../sources/search-shape.ts'
import { type FieldShapes, nameComponents } from '../../openapi/json-schema.ts'
import { changedBy } from '../management.ts'
import { json, jsonBody, routesOf } from '../route.ts'
import { sourceName, storedEntry } from '../sources.ts'
import { entryReader } from './entry-access.ts'

const values = z.array(z.object({ value: z.string(), count: z.int() }))
const histogram = z.object({
  bucket_seconds: z.int(),
  buckets: z.array(
    z.object({
      timestamp: z.int().describe('Microseconds since 1970, UTC.'),
      count: z.int(),
      counts: z.record(z.string(), z.int()).optional().describe('By value. `…`: all other values.'),
    }),
  ),
  notes: z.array(z.string()).describe('If there are no entries: sentences that say why.'),
})
const facets = z.object({
  facets: z.array(
    z.object({
      field: z.string().describe('Path of `metadata`.'),
      column: z.string(),
      values,
    }),
  ),
  detected: z
    .array(
      z.object({
        field: z.string().describe('Path of `metadata`. A dot inside of a key is written `%2E`.'),
        entries: z.int().describe('Sampled entries that have it.'),
        sampled: z.int().describe('Newest matching entries that were sampled, at most 2,000.'),
        distinct: z.int().nullable().describe('Number of values in the sample. Null: more than 100.'),
        values: values.describe('The most frequent values in the sample. Empty if most values differ.'),
      }),
    )
    .describe('Fields that no typed column stores, frequent ones first.'),
})

const range = 'must be an integer from 1 to 1000'
const recentLimit = z.coerce.number(range).int(range).min(1, range).max(1000, range).default(100)

const beginningOfTime = '1970-01-01T00:00:00Z'

export function addSearchRoutes(server: FastifyInstance, search: LogSearch): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'search' })
  const example = { project: 'demo', query: 'status:>=400' }
  const params = sourceName
  const errors = [422, 504]
  route('POST /api/sources/:name/search', 'searchEntries', 'Search the entries of a source', {
    params,
    body: jsonBody(searchShape, example),
    responses: { 200: json('Entries, newest first.', z.array(storedEntry)) },
    errors,
    handler: async (request, reply) => {
      const rows = await search.entries(request.params.name, request.body ?? {}, entryReader(request, reply))
      return reply.type('application/json; charset=utf-8').send(rows)
    },
  })
  route('GET /api/sources/:name/recent', 'listRecentEntries', 'List the newest entries of a source', {
    params,
    query: z.object({ limit: recentLimit.describe('Maximum number of entries.') }),
    responses: { 200: json('Entries, newest first.', z.array(storedEntry)) },
    errors: [400, 504],
    handler: async (request, reply) => {
      const body = { limit: request.query.limit, from: beginningOfTime }
      const rows = await search.entries(request.params.name, body, entryReader(request, reply))
      return reply.type('application/json; charset=utf-8').send(rows)
    },
  })
  route('POST /api/sources/:name/histogram', 'countEntries', 'Count the entries of a source over time', {
    params,
    body: jsonBody(histogramShape, example),
    responses: { 200: json('Length of a bucket, and the buckets that have entries.', histogram) },
    errors,
    handler: async (request, reply) =>
      search.histogram(request.params.name, request.body ?? {}, entryReader(request, reply)),
  })
  route('POST /api/sources/:name/values', 'listValues', 'List the most frequent values of a path', {
    params,
    body: jsonBody(valuesShape, { path: 'project' }),
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
    body: jsonBody(entryFilterShape, example),
    responses: { 200: json('Up to 20 values of each field that has at most 100.', facets) },
    errors,
    handler: async (request, reply) =>
      search.facets(request.params.name, request.body ?? {}, entryReader(request, reply)),
  })
}

const view: FieldShapes<Omit<SavedSearch, keyof z.output<typeof newSearchShape>>> = {
  id: z.uuid().describe('Identifies the search.'),
  created_at: z.iso.datetime().describe('When it was saved.'),
  created_by: z.string().describe('Id of the token that saved it.'),
}

const savedSearch = z.object({ ...view, ...newSearchShape.shape })

nameComponents('input', { NewSearch: newSearchShape })
nameComponents('output', { SavedSearch: savedSearch })

export function addSavedSearchRoutes(server: FastifyInstance, searches: SavedSearches): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'read' })
  route('GET /api/searches', 'listSearches', 'List saved searches', {
    responses: { 200: json('All saved searches, by source and name.', z.array(savedSearch)) },
    handler: async () => searches.list(),
  })
  route('POST /api/searches', 'saveSearch', 'Save a search', {
    access: 'edit',
    description: 'At most 500 searches. Everybody with the scope `read` sees them.',
    body: jsonBody(newSearchShape, { name: 'Failing requests', source: 'edge_logs', query: 'status:>=500' }),
    responses: { 201: json('The saved search.', savedSearch) },
    errors: [404, 409],
    handler: async (request) => searches.create(request.body, changedBy(request)),
  })
  route('DELETE /api/searches/:id', 'deleteSearch', 'Delete a saved search', {
    access: 'edit',
    params: z.object({
      id: z
        .string()
        .meta({ description: 'Id of the search.', example: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11' }),
    }),
    responses: { 204: { description: 'It is deleted.' } },
    handler: async (request) => searches.delete(request.params.id, changedBy(request)),
  })
}

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import type { FieldShapes } from '../../core/base/validation.ts'
import { readShape } from '../../core/base/validation.ts'
import { authorOf, flag } from '../../core/http/routes/management.ts'
import { json, jsonBody, routesOf, text } from '../../core/http/routes/route.ts'
import { arrayOfLines } from '../../core/search/search-cursor.ts'
import { beginningOfTime } from '../../shared/timestamps.ts'
import { listColumnShape, listColumns } from '../sources/list-columns.ts'
import { sourceName, storedEntry } from '../sources/routes.ts'
import type { SourceInfo } from '../sources/source-info.ts'
import { entryReader } from './entry-access.ts'
import type { EntryReader } from './entry-queries.ts'
import { facetShape, valueCounts } from './facets.ts'
import type { FoundEntries, LogSearch } from './log-search.ts'
import { contextOf, exportEntries, searchSources, searchSql } from './related-entries.ts'
import { newSearchShape, type SavedSearch, type SavedSearches } from './saved-searches.ts'
import {
  crossSearchShape,
  entryFilterShape,
  exportShape,
  histogramShape,
  searchShape,
  searchSqlShape,
  valuesShape,
} from './search-shape.ts'

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
  newest: z
    .int()
    .nullable()
    .describe(
      'If the time range has no entries: timestamp of the newest entry. Microseconds since 1970, UTC.',
    ),
})
const facets = z.object({
  entries: z.int().describe('Number of matching entries.'),
  facets: z.array(facetShape).describe('Fields with 2 to 50 values first, those with one value last.'),
})
const shownColumns = z.object({
  proposed: z.boolean().describe('Whether the service proposes the columns. False: the source names them.'),
  columns: z.array(listColumnShape),
})

const entryTimestamp = z
  .string()
  .regex(/^-?\d{1,17}$/, 'must be an integer of microseconds')
  .optional()
  .describe('Timestamp of the entry in microseconds, which makes finding it fast.')

function numberOfEntries(min: number, max: number, preset: number) {
  const range = `must be an integer from ${min} to ${max}`
  return z.coerce.number(range).int(range).min(min, range).max(max, range).default(preset)
}

const around = numberOfEntries(0, 500, 50)

export function addSearchRoutes(
  server: FastifyInstance,
  { search, sources }: { search: LogSearch; sources: SourceInfo },
): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Exploring', access: 'search' })
  const example = { project: 'demo', query: 'status:>=400' }
  const params = sourceName
  const errors = [422, 504]
  route('POST /api/sources/:name/search', 'searchEntries', 'Search the entries of a source', {
    params,
    body: jsonBody(searchShape, example),
    responses: {
      200: json('Entries, newest first.', z.array(storedEntry), ['Wellhead-Next', 'Wellhead-Searched-Since']),
    },
    errors,
    handler: searching((...sent) => search.entries(...sent), sendEntries),
  })
  route('GET /api/sources/:name/recent', 'listRecentEntries', 'List the newest entries of a source', {
    params,
    query: z.object({ limit: numberOfEntries(1, 1000, 100).describe('Maximum number of entries.') }),
    responses: { 200: json('Entries, newest first.', z.array(storedEntry), ['Wellhead-Searched-Since']) },
    errors: [400, 504],
    handler: async (request, reply) => {
      const body = { limit: request.query.limit, from: beginningOfTime }
      const found = await search.entries(request.params.name, body, entryReader(request, reply))
      return sendEntries(reply, { ...found, next: undefined })
    },
  })
  route('POST /api/sources/:name/histogram', 'countEntries', 'Count the entries of a source over time', {
    params,
    body: jsonBody(histogramShape, example),
    responses: {
      200: json('Length of a bucket, and the buckets that have entries.', histogram, [
        'Wellhead-Searched-Since',
      ]),
    },
    errors,
    handler: searching((...sent) => search.histogram(...sent), withoutSince),
  })
  route('POST /api/sources/:name/values', 'listValues', 'List the most frequent values of a path', {
    params,
    body: jsonBody(valuesShape, { path: 'project' }),
    responses: { 200: json('Values as text.', valueCounts) },
    errors,
    handler: searching((...sent) => search.values(...sent)),
  })
  route('GET /api/sources/:name/entries/:id', 'getEntry', 'Show an entry', {
    params: params.extend({ id: z.string().meta({ description: 'Id of the entry.', example: 'e1' }) }),
    query: z.object({
      timestamp: entryTimestamp,
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
    responses: { 200: json('The most frequent values of each field.', facets, ['Wellhead-Searched-Since']) },
    errors,
    handler: searching((...sent) => search.facets(...sent), withoutSince),
  })
  route('GET /api/sources/:name/list-columns', 'listListColumns', 'Show the columns of lists of entries', {
    description:
      'The field `list_columns` of the source. If it is empty, level, method, route, status, duration and error, where the ' +
      'newest entries differ in them.',
    params,
    responses: { 200: json('Paths in order.', shownColumns) },
    errors: [504],
    handler: searching((name, _body, reader) => listColumns(search, name, reader)),
  })
  route('GET /api/sources/:name/entries/:id/context', 'getEntryContext', 'Show the entries around an entry', {
    description: 'The entry, and those of its project before and after it.',
    params: sourceName.extend({ id: z.string().meta({ description: 'Id of the entry.', example: 'e1' }) }),
    query: z.object({
      timestamp: entryTimestamp,
      before: around.describe('Maximum number of older entries, up to 500.'),
      after: around.describe('Maximum number of newer entries, up to 500.'),
    }),
    responses: { 200: json('Entries, newest first.', z.array(storedEntry)) },
    errors: [...errors, 400],
    handler: async (request, reply) => {
      const { name, id } = request.params
      const { timestamp: micros, ...size } = request.query
      const lines = await contextOf(search, name, { id, micros, size }, entryReader(request, reply))
      return sendEntries(reply, { lines, searchedSince: undefined })
    },
  })
  route('POST /api/search', 'searchSources', 'Search several sources', {
    description: 'Finds a trace id, for example, wherever it is. Each entry also has its `source`.',
    body: jsonBody(crossSearchShape, { query: '"4bf92f3577b34da6a3ce929d0e0e4736"' }),
    responses: {
      200: json('Entries, newest first.', z.array(storedEntry.extend({ source: z.string() })), [
        'Wellhead-Searched-Since',
      ]),
    },
    errors: [...errors, 404],
    handler: async (request, reply) => {
      const names = sources.list(request.caller as Caller).map(({ name }) => name)
      const found = await searchSources(search, request.body ?? {}, entryReader(request, reply), names)
      return sendEntries(reply, found)
    },
  })
  route('POST /api/sources/:name/export', 'exportEntries', 'Export the entries of a search', {
    description:
      'NDJSON or CSV, newest first, at most 100,000 entries. The connection breaks if the export fails. ' +
      "Texts of CSV that begin with `=`, `+`, `-`, `@`, a tab or a return get a leading `'`.",
    params: sourceName,
    query: z.object({ raw: flag("Whether CSV has all texts as they are, without a leading `'`.") }),
    body: jsonBody(exportShape, { query: 'status:>=500', from: '2026-11-01T00:00:00Z', format: 'csv' }),
    responses: {
      200: {
        ...text('Entries.', 'application/x-ndjson', 'text/csv'),
        headers: ['Content-Disposition', 'Wellhead-Export-Limit'],
      },
    },
    errors,
    handler: async (request, reply) => {
      const { name } = request.params
      const { format, limit } = readShape(exportShape, request.body ?? {})
      const reader = { ...entryReader(request, reply), raw: request.query.raw }
      const pages = exportEntries(search, name, request.body ?? {}, reader)
      // The first page tells whether the search is valid.
      const first = [await pages.next(), format === 'csv' ? await pages.next() : undefined]
      const all = async function* () {
        for (const page of first) if (page?.value) yield page.value
        yield* pages
      }
      return reply
        .type(`${format === 'csv' ? 'text/csv' : 'application/x-ndjson'}; charset=utf-8`)
        .header('Content-Disposition', `attachment; filename="${search.source(name, reader).name}.${format}"`)
        .header('Wellhead-Export-Limit', limit)
        .send(Readable.from(all()))
    },
  })
  route('POST /api/sources/:name/search-sql', 'getSearchSql', 'Turn a search into SQL', {
    description:
      'For an endpoint or an alert. The SQL returns the same entries as the search. `matches` stands for a word.',
    params: sourceName,
    body: jsonBody(searchSqlShape, { query: 'status:>=500', last_seconds: 3600 }),
    responses: {
      200: json(
        'SQL of the entries, and of their number.',
        z.object({ query: z.string(), count: z.string() }),
      ),
    },
    handler: searching(async (...sent) => searchSql(search, ...sent)),
  })
}

/** Handles a search of a source. */
function searching<Found>(
  read: (source: string, body: unknown, reader: EntryReader) => Promise<Found>,
  send: (reply: FastifyReply, found: Found) => unknown = (_reply, found) => found,
) {
  return async (request: FastifyRequest<{ Params: { name: string } }>, reply: FastifyReply) =>
    send(reply, await read(request.params.name, request.body ?? {}, entryReader(request, reply)))
}

/** Counts that do not cover the whole range say so in a header. */
function withoutSince<Found extends { searchedSince: Date | undefined }>(reply: FastifyReply, found: Found) {
  const { searchedSince, ...body } = found
  noteSince(reply, searchedSince)
  return body
}

function noteSince(reply: FastifyReply, since: Date | undefined): void {
  if (since) reply.header('Wellhead-Searched-Since', since.toISOString())
}

function sendEntries(reply: FastifyReply, { lines, searchedSince, next }: Omit<FoundEntries, 'count'>) {
  noteSince(reply, searchedSince)
  if (next !== undefined) reply.header('Wellhead-Next', next)
  return reply.type('application/json; charset=utf-8').send(arrayOfLines(lines))
}

const view: FieldShapes<Omit<SavedSearch, keyof z.output<typeof newSearchShape>>> = {
  id: z.uuid().describe('Identifies the search.'),
  created_at: z.iso.datetime().describe('When it was saved.'),
  created_by: z.string().describe('Id of the token that saved it.'),
}

const savedSearch = z.object({ ...view, ...newSearchShape.shape })

/** Names in the OpenAPI document. */
const components = {
  input: { NewSearch: newSearchShape },
  output: { SavedSearch: savedSearch },
}

export function addSavedSearchRoutes(
  server: FastifyInstance,
  { searches }: { searches: SavedSearches },
): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'read' })
  route('GET /api/searches', 'listSearches', 'List saved searches', {
    responses: { 200: json('All saved searches, by source and name.', z.array(savedSearch)) },
    handler: async ({ caller }) => searches.list(caller),
  })
  route('POST /api/searches', 'saveSearch', 'Save a search', {
    access: 'edit',
    description: 'At most 500 searches. Everybody with the scope `read` sees them.',
    body: jsonBody(newSearchShape, { name: 'Failing requests', source: 'edge_logs', query: 'status:>=500' }),
    responses: { 201: json('The saved search.', savedSearch) },
    errors: [404, 409],
    handler: async (request) => searches.create(request.body, authorOf(request)),
  })
  route('DELETE /api/searches/:id', 'deleteSearch', 'Delete a saved search', {
    access: 'edit',
    params: z.object({
      id: z
        .string()
        .meta({ description: 'Id of the search.', example: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11' }),
    }),
    responses: { 204: { description: 'It is deleted.' } },
    handler: async (request) => searches.delete(request.params.id, authorOf(request)),
  })
}

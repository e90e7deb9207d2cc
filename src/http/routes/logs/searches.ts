import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { newSearchShape, type SavedSearch, type SavedSearches } from '../../../sources/saved-searches.ts'
import { describeFields, type FieldShapes, nameComponents } from '../../openapi/json-schema.ts'
import { changedBy } from '../management.ts'
import { json, jsonBody, routesOf } from '../route.ts'

const texts = {
  name: 'Unique among the searches of a source.',
  source: 'Name of the source.',
  query: 'In the search language.',
  project: 'Only entries of this project. Null: all projects.',
  range: 'The time range, as the page that saved it writes it. Null: its default.',
}

const view: FieldShapes<Omit<SavedSearch, keyof z.output<typeof newSearchShape>>> = {
  id: z.uuid().describe('Identifies the search.'),
  created_at: z.iso.datetime().describe('When it was saved.'),
  created_by: z.string().describe('Id of the token that saved it.'),
}

const newSearch = describeFields(newSearchShape, texts)
const savedSearch = describeFields(z.object({ ...view, ...newSearchShape.shape }), texts)

nameComponents('input', { NewSearch: newSearch })
nameComponents('output', { SavedSearch: savedSearch })

/** Searches that admins share. */
export function addSavedSearchRoutes(server: FastifyInstance, searches: SavedSearches): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'admin' })
  route('GET /api/searches', 'listSearches', 'List saved searches', {
    responses: { 200: json('All saved searches, by source and name.', z.array(savedSearch)) },
    handler: async () => searches.list(),
  })
  route('POST /api/searches', 'saveSearch', 'Save a search', {
    description: 'At most 500 searches. Everybody with the scope `admin` sees them.',
    body: jsonBody(newSearch, { name: 'Failing requests', source: 'edge_logs', query: 'status:>=500' }),
    responses: { 201: json('The saved search.', savedSearch) },
    errors: [404, 409],
    handler: async (request) => searches.create(request.body, changedBy(request)),
  })
  route('DELETE /api/searches/:id', 'deleteSearch', 'Delete a saved search', {
    params: z.object({
      id: z
        .string()
        .meta({ description: 'Id of the search.', example: '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11' }),
    }),
    responses: { 204: { description: 'It is deleted.' } },
    handler: async (request) => {
      await searches.delete(request.params.id, changedBy(request))
    },
  })
}

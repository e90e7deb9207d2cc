import { previewShape } from '../../endpoints/manage/endpoint-drafts.ts'
import { histogramShape, searchShape, valuesShape } from '../../sources/search-shape.ts'
import { alike, answered, bodyErrors, inPath, jsonBody, listOf, reference } from './operation.ts'
import { type Notes, type ObjectSchema, schemaOf } from './shape.ts'

const rangeNotes: Notes = {
  project: 'Only entries of this project.',
  from: 'ISO 8601; the first instant. Left out: an hour before `to`, or before now.',
  to: 'ISO 8601; the first instant that no longer counts. Left out: no end.',
  text: 'Each of these is in the message, in any letter case.',
  filters:
    'Conditions on `project`, `id`, `event_message` or paths of `metadata`, such as `response.status_code`; a dot inside of a key is `%2E`. ' +
    '`gt`, `gte`, `lt` and `lte` compare numbers, `contains` looks for a part in any letter case. With `not` those are found ' +
    'for which the condition does not hold.',
}

const source = inPath('name', 'Name of the source.', 'edge_logs')

function body(schema: ObjectSchema, example: object): object {
  return { required: true, content: { 'application/json': { schema, example } } }
}

function object(properties: Record<string, object>): object {
  return { type: 'object', properties, required: Object.keys(properties) }
}

const text = { type: 'string' }
const integer = { type: 'integer' }
const yesOrNo = { type: 'boolean' }
const list = (items: object) => ({ type: 'array', items })
const columns = list(object({ name: text, type: text }))
const anything = { type: 'object', additionalProperties: true }
const instant = { ...integer, description: 'Microseconds since 1970, UTC.' }

const callable = object({
  id: text,
  name: text,
  description: text,
  parameters: { type: 'object', additionalProperties: reference('Parameter') },
  columns,
  max_rows: integer,
  cache_seconds: { type: ['integer', 'null'] },
  sandbox: yesOrNo,
  version: integer,
})

const filter = { project: 'demo', filters: [{ path: 'response.status_code', is: 'gte', value: 400 }] }
const searchErrors = [...bodyErrors, 404, 422, 504]
const draft = {
  query: 'SELECT count() AS n FROM edge_logs WHERE project = @project',
  parameters: { project: { required: true } },
}

export const exploringOperations = alike({ tag: 'Exploring', access: 'admin' }, [
  {
    method: 'get',
    path: '/api/whoami',
    id: 'getWhoami',
    access: 'any',
    summary: 'Tell what this token may do',
    answers: {
      200: answered(
        'What it may, and the endpoints that it may call, without the parameters that it fixes.',
        object({
          id: text,
          admin: yesOrNo,
          query: yesOrNo,
          ingest: yesOrNo,
          project: { type: ['string', 'null'] },
          parameters: { type: 'object', additionalProperties: text },
          endpoints: list(callable),
        }),
      ),
    },
  },
  {
    method: 'post',
    path: '/api/endpoints/check',
    id: 'checkEndpoint',
    summary: 'Check an endpoint without saving it',
    description: 'Line and column of an error are those of the text as it was sent.',
    body: jsonBody('EndpointChange', draft),
    answers: {
      200: answered(
        'It could be saved: its columns, and the parameters that its SQL uses.',
        object({ columns, parameters: list(text) }),
      ),
    },
    errors: [...bodyErrors, 422, 504],
  },
  {
    method: 'post',
    path: '/api/endpoints/preview',
    id: 'previewEndpoint',
    summary: 'Run an endpoint without saving it',
    description: 'For at most 30 seconds. Nothing is kept.',
    body: body(
      schemaOf(previewShape, 'input', {
        endpoint: 'Its fields, as for saving; a name is not needed.',
        parameters: 'Values of its parameters.',
      }),
      { endpoint: draft, parameters: { project: 'demo' } },
    ),
    answers: {
      200: answered('Rows.', object({ columns, result: list(anything) }), [
        'Server-Timing',
        'Wellhead-Read-Rows',
        'Wellhead-Read-Bytes',
        'Wellhead-Truncated',
      ]),
    },
    errors: [...bodyErrors, 422, 504],
  },
  {
    method: 'get',
    path: '/api/usage',
    id: 'getUsage',
    summary: 'Show how much each source holds, and what comes in',
    answers: {
      200: answered(
        'Free bytes of the disk, or null where they are not known; of every source its entries, its bytes on disk, and the ' +
          'entries of each of the last 60 minutes.',
        object({
          disk: { anyOf: [object({ free_bytes: integer, reserve_bytes: integer }), { type: 'null' }] },
          sources: list(object({ name: text, entries: integer, bytes: integer, per_minute: list(integer) })),
        }),
      ),
    },
    errors: [504],
  },
  {
    method: 'get',
    path: '/api/cache',
    id: 'getCache',
    summary: 'Show which endpoints have results in the cache',
    answers: {
      200: answered(
        'Of every endpoint with results in the cache: how many, their bytes in memory, and the seconds since the query of ' +
          'the newest one began.',
        object({
          endpoints: list(
            object({ id: text, name: text, results: integer, bytes: integer, newest_age_seconds: integer }),
          ),
        }),
      ),
    },
  },
  {
    method: 'post',
    path: '/api/sources/{name}/search',
    id: 'searchEntries',
    summary: 'Find entries of a source',
    parameters: [source],
    body: body(
      schemaOf(searchShape, 'input', {
        ...rangeNotes,
        limit: 'Most entries of the answer.',
        before: 'The last entry that the caller has; those behind it follow.',
      }),
      filter,
    ),
    answers: { 200: answered('Entries, newest first.', listOf('StoredEntry')) },
    errors: searchErrors,
  },
  {
    method: 'post',
    path: '/api/sources/{name}/histogram',
    id: 'countEntries',
    summary: 'Count entries of a source over time',
    parameters: [source],
    body: body(
      schemaOf(histogramShape, 'input', { ...rangeNotes, buckets: 'Into at most how many parts.' }),
      filter,
    ),
    answers: {
      200: answered(
        'The length of a bucket, and those that have entries.',
        object({ bucket_seconds: integer, buckets: list(object({ timestamp: instant, count: integer })) }),
      ),
    },
    errors: searchErrors,
  },
  {
    method: 'post',
    path: '/api/sources/{name}/values',
    id: 'listValues',
    summary: 'List the most frequent values at a path',
    parameters: [source],
    body: body(
      schemaOf(valuesShape, 'input', {
        ...rangeNotes,
        path: '`project`, `id`, or a path of `metadata`.',
        limit: 'How many.',
      }),
      { path: 'project' },
    ),
    answers: { 200: answered('Values as texts.', list(object({ value: text, count: integer }))) },
    errors: searchErrors,
  },
])

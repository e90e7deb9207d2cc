import { alike, answered, bodyErrors, inHeader, inPath, jsonBody, listOf, reference } from './operation.ts'

const endpointExample = {
  name: 'slowest-requests',
  query: 'SELECT timestamp, event_message FROM edge_logs WHERE project = @project LIMIT 20',
  parameters: { project: { required: true } },
}
const endpoint = inPath('reference', 'Id or name of the endpoint.', 'logs.all')
const ifMatch = inHeader('If-Match', 'The version that the change is made for, in quotes: `"3"`.')
const changed = answered('The endpoint as it is now.', reference('Endpoint'), ['ETag'])

export const endpointOperations = alike({ tag: 'Endpoints', access: 'admin' }, [
  {
    method: 'get',
    path: '/api/endpoints',
    id: 'listEndpoints',
    summary: 'List endpoints',
    answers: { 200: answered('Every endpoint, by name.', listOf('Endpoint')) },
  },
  {
    method: 'post',
    path: '/api/endpoints',
    id: 'createEndpoint',
    summary: 'Make an endpoint',
    description: 'The SQL is checked before anything is stored.',
    body: jsonBody('EndpointFields', endpointExample),
    answers: { 201: answered('The endpoint.', reference('Endpoint'), ['ETag', 'Location']) },
    errors: [...bodyErrors, 409, 422],
  },
  {
    method: 'get',
    path: '/api/endpoints/{reference}',
    id: 'getEndpoint',
    summary: 'Show an endpoint',
    parameters: [endpoint],
    answers: { 200: answered('The endpoint.', reference('Endpoint'), ['ETag']) },
    errors: [404],
  },
  {
    method: 'put',
    path: '/api/endpoints/{reference}',
    id: 'replaceEndpoint',
    summary: 'Replace an endpoint',
    description: 'A field that is left out has its default again. The change is a new version.',
    parameters: [endpoint, ifMatch],
    body: jsonBody('EndpointFields', endpointExample),
    answers: { 200: changed },
    errors: [...bodyErrors, 404, 409, 412, 422],
  },
  {
    method: 'patch',
    path: '/api/endpoints/{reference}',
    id: 'changeEndpoint',
    summary: 'Change some fields of an endpoint',
    description: 'The change is a new version.',
    parameters: [endpoint, ifMatch],
    body: jsonBody('EndpointChange', { max_rows: 100 }),
    answers: { 200: changed },
    errors: [...bodyErrors, 404, 409, 412, 422],
  },
  {
    method: 'delete',
    path: '/api/endpoints/{reference}',
    id: 'deleteEndpoint',
    summary: 'Delete an endpoint',
    parameters: [endpoint, ifMatch],
    answers: { 204: answered('It is gone.') },
    errors: [400, 404, 412],
  },
  {
    method: 'get',
    path: '/api/endpoints/{reference}/versions',
    id: 'listEndpointVersions',
    summary: 'List the versions of an endpoint',
    parameters: [endpoint],
    answers: { 200: answered('Every version, newest first.', listOf('Endpoint')) },
    errors: [404],
  },
  {
    method: 'post',
    path: '/api/endpoints/{reference}/versions/{version}/restore',
    id: 'restoreEndpointVersion',
    summary: 'Restore a version of an endpoint',
    description: 'What it was then becomes a new version.',
    parameters: [
      endpoint,
      { ...inPath('version', 'The version.', '1'), schema: { type: 'integer', minimum: 1 }, example: 1 },
      ifMatch,
    ],
    answers: { 200: changed },
    errors: [400, 404, 409, 412, 422],
  },
  {
    method: 'get',
    path: '/api/endpoints/{reference}/paths',
    id: 'listJsonPaths',
    summary: 'List paths that an endpoint reads from JSON text',
    description:
      'Paths of `metadata` in its SQL that no typed column serves. A typed column (`hot_fields` of the source) would make ' +
      'reading them faster. Paths whose source the SQL does not tell are left out.',
    parameters: [endpoint],
    answers: { 200: answered('Every path, in the order of the SQL.', listOf('JsonPath')) },
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/endpoints/{reference}/slow',
    id: 'listSlowCalls',
    summary: 'List slow and failed calls of an endpoint',
    description:
      'Of the last hour, as this process saw them: the 20 slowest that went to the engine, ' +
      'and the last 20 each that failed and that were refused. ' +
      'No value of a parameter is in them.',
    parameters: [endpoint],
    answers: { 200: answered('The calls, the longest first.', listOf('SlowCall')) },
    errors: [404],
  },
])

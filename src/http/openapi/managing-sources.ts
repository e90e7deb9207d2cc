import {
  alike,
  answered,
  bodyErrors,
  eventsAnswered,
  inAddress,
  inHeader,
  inPath,
  jsonBody,
  listOf,
  reference,
} from './operation.ts'

const source = inPath('name', 'Name of the source.', 'edge_logs')
const sourceChange = {
  parameters: [source],
  body: jsonBody('SourceChange', { retention_days: 30 }),
  answers: { 200: answered('The source as it is now.', reference('Source')) },
  errors: [...bodyErrors, 404, 409, 412],
}

export const sourceOperations = alike({ tag: 'Sources', access: 'admin' }, [
  {
    method: 'get',
    path: '/api/sources',
    id: 'listSources',
    summary: 'List sources',
    answers: { 200: answered('Every source.', listOf('Source')) },
  },
  {
    method: 'post',
    path: '/api/sources',
    id: 'createSource',
    summary: 'Make a source',
    body: jsonBody('SourceFields', { name: 'my_app', retention_days: 30 }),
    answers: { 201: answered('The source.', reference('Source')) },
    errors: [...bodyErrors, 409],
  },
  {
    method: 'get',
    path: '/api/sources/{name}',
    id: 'getSource',
    summary: 'Show a source',
    parameters: [source],
    answers: { 200: answered('The source.', reference('Source')) },
    errors: [404],
  },
  {
    method: 'put',
    path: '/api/sources/{name}',
    id: 'replaceSource',
    ...sourceChange,
    summary: 'Change a source',
  },
  {
    method: 'patch',
    path: '/api/sources/{name}',
    id: 'changeSource',
    ...sourceChange,
    summary: 'Change some fields of a source',
  },
  {
    method: 'delete',
    path: '/api/sources/{name}',
    id: 'deleteSource',
    summary: 'Delete a source and its entries',
    parameters: [
      source,
      inAddress(
        'confirm',
        'The name of the source once more.',
        { type: 'string' },
        { required: true, example: 'edge_logs' },
      ),
    ],
    answers: { 204: answered('It is gone.') },
    errors: [400, 404, 412],
  },
  {
    method: 'get',
    path: '/api/sources/{name}/schema',
    id: 'getSourceSchema',
    summary: 'Show what the metadata of a source holds',
    description: 'Paths and types that were seen in its newest entries.',
    parameters: [source],
    answers: { 200: answered('Every path.', listOf('SourcePath')) },
    errors: [404, 504],
  },
  {
    method: 'get',
    path: '/api/sources/{name}/recent',
    id: 'listRecentEntries',
    summary: 'List the newest entries of a source',
    parameters: [
      source,
      inAddress('limit', 'How many.', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
    ],
    answers: { 200: answered('Entries, newest first.', listOf('StoredEntry')) },
    errors: [400, 404, 504],
  },
  {
    method: 'get',
    path: '/api/sources/{name}/tail',
    id: 'tailSource',
    access: 'query',
    summary: 'Follow the entries of a source',
    description:
      'A stream of events, which stays open: `entry` with each entry as it is stored, `missed` with the number of those ' +
      'that came faster than they were read, `reset` where it is not known what is missing. ' +
      'For admins, and for tokens with a project and the whole scope `query`, who see entries of their project.',
    parameters: [
      source,
      inAddress('project', 'Only entries of this project.', { type: 'string' }),
      inAddress('text', 'Only entries whose message holds this, in letters of any case.', {
        type: 'string',
        maxLength: 1000,
      }),
      inHeader('Last-Event-ID', 'Id of the last event that was read, to go on behind it.'),
    ],
    answers: { 200: eventsAnswered('Entries as they are stored.') },
    errors: [400, 404],
  },
])

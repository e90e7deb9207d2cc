import { answered, inAddress, inHeader, listOf, type Operation, reference } from './operation.ts'

const entry = {
  project: 'demo',
  event_message: 'GET /rest/v1/orders',
  metadata: { request: { url: 'https://demo.example.com/rest/v1/orders', path: '/rest/v1/orders' } },
}
const batch = { type: 'object', properties: { batch: listOf('LogEntry') }, required: ['batch'] }
const key = inHeader('Idempotency-Key', 'The same key sent again within a day stores nothing twice.')
const name = { type: 'string' }
const sendErrors = [400, 404, 413, 415, 507]

const sendLogs: Omit<Operation, 'path' | 'id' | 'summary'> = {
  method: 'post',
  tag: 'Sending logs',
  access: 'ingest',
  description:
    'The answer 200 means that every accepted entry is on disk and that the next query sees it. ' +
    'The body may be packed with `gzip` or `deflate`.',
  parameters: [
    inAddress('source', 'Name or alias of the source. It is needed, here or as source_name.', name, {
      example: 'edge_logs',
    }),
    inAddress('source_name', 'The same as source.', name),
    key,
  ],
  body: {
    required: true,
    content: {
      'application/json': {
        schema: { anyOf: [reference('LogEntry'), listOf('LogEntry'), batch] },
        example: entry,
      },
      'application/x-ndjson': { schema: { type: 'string', description: 'One entry a line.' } },
    },
  },
  answers: {
    200: answered('What was stored, and what was not.', reference('LogAnswer'), ['Idempotency-Replayed']),
  },
  errors: sendErrors,
}

const partialSuccess = {
  type: 'object',
  properties: { rejectedLogRecords: { type: 'string' }, errorMessage: { type: 'string' } },
}
const protobuf = { 'application/x-protobuf': {} }

export const sendingOperations: readonly Operation[] = [
  { path: '/api/logs', id: 'sendLogs', summary: 'Send entries', ...sendLogs },
  {
    path: '/logs',
    id: 'sendLogsFromLogflare',
    summary: 'Send entries, from senders made for Logflare',
    ...sendLogs,
  },
  {
    method: 'post',
    path: '/v1/logs',
    id: 'sendOtlpLogs',
    tag: 'Sending logs',
    access: 'ingest',
    summary: 'Send records of OpenTelemetry',
    description:
      'OTLP over HTTP: an ExportLogsServiceRequest as protobuf or as JSON, plain or packed with `gzip`.',
    parameters: [
      inHeader('X-Wellhead-Source', 'Source of records that do not name one as `wellhead.source`.'),
      key,
    ],
    body: {
      required: true,
      content: {
        'application/json': {
          schema: { type: 'object', additionalProperties: true },
          example: { resourceLogs: [] },
        },
        ...protobuf,
      },
    },
    answers: {
      200: {
        description: 'An ExportLogsServiceResponse. Everything is on disk but what it calls rejected.',
        content: {
          'application/json': { schema: { type: 'object', properties: { partialSuccess } } },
          ...protobuf,
        },
      },
    },
    errors: sendErrors,
    ownError: {
      description: 'A google.rpc.Status.',
      content: {
        'application/json': { schema: { type: 'object', properties: { message: { type: 'string' } } } },
        ...protobuf,
      },
    },
  },
]

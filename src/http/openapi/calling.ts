import { outputFormats } from '../../endpoints/call/output-formats.ts'
import { answered, eventStream, inAddress, inHeader, inPath, type Operation, reference } from './operation.ts'

/** Headers of an answer with rows. */
const resultHeaders = [
  'ETag',
  'Age',
  'Cache-Control',
  'Cache-Status',
  'Server-Timing',
  'Wellhead-Version',
  'Wellhead-Truncated',
  'Wellhead-Read-Rows',
  'Wellhead-Read-Bytes',
  'X-Request-Id',
]

const explain = inAddress('_explain', 'Answers with the plan of the engine in place of rows. Admins only.', {
  type: 'string',
})

/** What steers a call, whatever the endpoint; it begins with an underscore, as no parameter of a query does. */
export function controlParameters(): object[] {
  const format = { type: 'string', enum: outputFormats.map(({ name }) => name) }
  return [
    inAddress('_format', 'Form of the result; goes before Accept.', format),
    inAddress('_version', 'Version of the endpoint that the caller was made for.', {
      type: 'integer',
      minimum: 1,
    }),
    inHeader('Cache-Control', '`no-cache` asks for a fresh result, `max-age=60` for one that is not older.'),
    inHeader('If-None-Match', 'ETag of the result that the caller has; an equal one is answered with 304.'),
  ]
}

export const followed = inHeader(
  'Last-Event-ID',
  'With `Accept: text/event-stream`: ETag of the result that the caller has.',
)

/** Rows in every form that they can be had in; with GET also each time they changed. */
export function resultAnswers(
  rows: object,
  { otherwise, streamed }: { otherwise?: object; streamed: boolean },
): Record<string, object> {
  const result = {
    type: 'object',
    properties: { result: rows },
    required: ['result'],
    additionalProperties: false,
  }
  const content = outputFormats.map(({ name, contentType, form }) => {
    const [type = ''] = contentType.split(';')
    if (name === 'json') return [type, { schema: otherwise ? { anyOf: [result, otherwise] } : result }]
    return [type, form === 'json' ? { schema: { type: 'string' } } : {}]
  })
  return {
    200: {
      ...answered('Rows.', undefined, resultHeaders),
      content: { ...Object.fromEntries(content), ...(streamed && eventStream) },
    },
    304: answered('The caller has this result already.', undefined, ['ETag', 'Cache-Status']),
  }
}

/** The 413 is for a result that is too large to be followed, or for a body. */
export const callErrors = [400, 404, 406, 413, 422, 504]

const anyRows = { type: 'array', items: { type: 'object', additionalProperties: true } }
const endpoint = inPath('reference', 'Id or name of the endpoint.', 'logs.all')
const call: Pick<Operation, 'path' | 'tag' | 'access'> = {
  path: '/api/endpoints/query/{reference}',
  tag: 'Calling endpoints',
  access: 'query',
}

export const callingOperations: readonly Operation[] = [
  {
    ...call,
    method: 'get',
    id: 'callEndpoint',
    summary: 'Call an endpoint',
    description:
      'Beside these parameters it takes those of the endpoint. With `Accept: text/event-stream` the connection stays ' +
      'open, and the result comes again as an event `result` whenever it changed.',
    parameters: [
      endpoint,
      ...controlParameters(),
      followed,
      explain,
      {
        ...inAddress('parameters', 'Parameters of the endpoint, each under its own name.', {
          type: 'object',
          additionalProperties: { type: 'string' },
        }),
        style: 'form',
        explode: true,
        example: { project: 'demo' },
      },
    ],
    answers: resultAnswers(anyRows, { otherwise: reference('Plan'), streamed: true }),
    errors: callErrors,
  },
  {
    ...call,
    method: 'post',
    id: 'callEndpointWithBody',
    summary: 'Call an endpoint with parameters in the body',
    description: 'Parameters may be in the address and in the body, but each in one of them only.',
    parameters: [endpoint, ...controlParameters(), explain],
    body: {
      required: false,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
          },
          example: { project: 'demo', _format: 'json' },
        },
      },
    },
    answers: resultAnswers(anyRows, { otherwise: reference('Plan'), streamed: false }),
    errors: [...callErrors, 415],
  },
]

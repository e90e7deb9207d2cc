import { z } from 'zod'
import type { JsonSchema } from '../../base/validation.ts'
import type { EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import { outputFormats } from '../../endpoints/call/output-formats.ts'
import type { Response } from '../routes/route.ts'
import { reference } from './json-schema.ts'

/** Parameters of every call. They begin with an underscore, which parameters of a query cannot. */
export const callQuery = z.object({
  _format: z
    .enum(outputFormats.map(({ name }) => name))
    .optional()
    .describe('Format of the result. Takes precedence over Accept.'),
  _version: z.int().min(1).optional().describe('Version of the endpoint to call. Default: the newest.'),
  _strict: z.enum(['1', '0']).optional().describe('`1` refuses parameters that the endpoint does not have.'),
  _timestamps: z
    .enum(['iso'])
    .optional()
    .describe('Timestamps as ISO 8601 text, except in Parquet and Arrow.'),
  _raw: z
    .enum(['1', '0'])
    .optional()
    .describe("`0`: CSV for spreadsheets. Texts that begin with `=`, `+`, `-` or `@` get a leading `'`."),
})

const text = z.string().optional()

export const callHeaders = z.object({
  'Cache-Control': text.describe('`no-cache`: a fresh result. `max-age=60`: at most 60 seconds old.'),
  'If-None-Match': text.describe(
    'ETag of a result that the caller has. The response is 304 if it is current.',
  ),
})

export const followHeaders = callHeaders.extend({
  'Last-Event-ID': text.describe('With `Accept: text/event-stream`: ETag of the result that the caller has.'),
})

const read = z.object({ table: z.string(), parts: z.number(), rows: z.number(), marks: z.number() })

export const plan: z.ZodType<Awaited<ReturnType<EndpointCalls['explain']>>> = z.object({
  plan: z.string().describe('The query plan of the engine.'),
  reads: z.array(read).describe('What the query would read.'),
})

/** Headers of results that are not cached. */
export const rowHeaders = [
  'Cache-Status',
  'Server-Timing',
  'Wellhead-Truncated',
  'Wellhead-Read-Rows',
  'Wellhead-Read-Bytes',
] as const
const resultHeaders = [...rowHeaders, 'ETag', 'Age', 'Wellhead-Version'] as const

export const eventHeaders = ['X-Accel-Buffering'] as const

export const eventStream = { 'text/event-stream': { schema: { type: 'string' } } }

export function resultResponses(
  rows: JsonSchema,
  { explained, streamed }: { explained: boolean; streamed: boolean },
): Record<number, Response> {
  const result = {
    type: 'object',
    properties: { result: rows },
    required: ['result'],
    additionalProperties: false,
  }
  const schema = explained ? { anyOf: [result, reference('QueryPlan')] } : result
  const content = outputFormats.map(({ name, contentType, form }) => {
    const [type = ''] = contentType.split(';')
    if (name === 'json') return [type, { schema }]
    return [type, { schema: { type: 'string', ...(form !== 'json' && { format: 'binary' }) } }]
  })
  return {
    200: {
      description: 'Rows.',
      headers: [...resultHeaders, ...(streamed ? eventHeaders : [])],
      content: { ...Object.fromEntries(content), ...(streamed && eventStream) },
    },
    304: { description: 'The caller has the current result.', headers: resultHeaders },
  }
}

/** 413: the body is too large, or the result is too large to follow. */
export const callErrors = [400, 404, 406, 413, 422, 504]

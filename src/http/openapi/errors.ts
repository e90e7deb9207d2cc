import { z } from 'zod'
import { type BreakingChange, listErrors } from '../../base/errors.ts'
import type { JsonSchema } from '../../base/validation.ts'
import { type HeaderName, headersOf } from './headers.ts'
import { jsonSchema, nameComponents } from './json-schema.ts'

const descriptions: Record<number, string> = {
  400: 'The request is invalid. The error names the parameter or field.',
  401: 'The token is missing or invalid.',
  403: 'The token does not allow this.',
  404: 'Not found.',
  406: 'The result is not available in this format.',
  409: 'The name is taken, the change would break callers, or another backup is running.',
  412: 'Someone else changed it in the meantime.',
  413: 'The body is too large.',
  415: 'The content type of the body is not supported.',
  422: 'The SQL does not compile or reads something that it is not allowed to read, or the Idempotency-Key was used with another body.',
  429: 'Too many requests. Retry after the time in Retry-After.',
  500: 'Internal error.',
  503: 'The service is unavailable. Retry after the time in Retry-After.',
  504: 'The query timed out.',
  507: 'Not enough disk space to store logs.',
}

const ownHeaders: Record<string, readonly HeaderName[]> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
  507: ['Retry-After'],
}

const breakingChange: z.ZodType<BreakingChange> = z.looseObject({
  endpoint: z.string().describe('Name of the endpoint.'),
  kind: z.string().describe('What changed, for programs.'),
  message: z.string().describe('What changed, for people.'),
})

function errorShape(code: z.ZodType<string> = z.string()) {
  const error = z.object({
    code: code.describe('What is wrong, for programs.'),
    message: z.string().describe('What is wrong, for people.'),
    request_id: z.string().describe('The id in the header X-Request-Id and in the log of the service.'),
    parameter: z.string().optional().describe('The parameter or field that is wrong.'),
    allowed: z.array(z.string()).optional().describe('Values that are allowed.'),
    line: z.int().optional().describe('Line in the SQL.'),
    column: z.int().optional().describe('Column in the SQL.'),
    endpoint: z.string().optional().describe('The endpoint that is wrong, if the request has several.'),
    changes: z.array(breakingChange).optional().describe('Changes that would break callers.'),
  })
  return z.object({ error })
}

const anyError = errorShape()

nameComponents('output', { BreakingChange: breakingChange, Error: anyError })

export function errorResponses(): Record<string, JsonSchema> {
  const byStatus = Object.entries(descriptions).map(([status, description]) => {
    const codes = listErrors().filter((error) => error.status === Number(status))
    const shape = errorShape(z.enum(codes.map(({ code }) => code)))
    return [`Error${status}`, response(description, shape, ownHeaders[status])]
  })
  return { Error: response('Any other error.', anyError), ...Object.fromEntries(byStatus) }
}

function response(description: string, shape: z.ZodType, headers: readonly HeaderName[] = []): JsonSchema {
  return {
    description,
    headers: headersOf(['Wellhead-Version', ...headers], true),
    content: { 'application/json': { schema: jsonSchema(shape, 'output') } },
  }
}

export function errorReference(status: number): JsonSchema {
  if (descriptions[status] === undefined) throw new Error(`Status ${status} has no description.`)
  return { $ref: `#/components/responses/Error${status}` }
}

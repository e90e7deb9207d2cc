import { listErrors } from '../../base/errors.ts'

const texts: Record<number, string> = {
  400: 'The request has to be mended; the error says where.',
  401: 'There is no valid token.',
  403: 'The token may not do this.',
  404: 'There is no such thing.',
  406: 'The result cannot be had in this form.',
  409: 'The name is taken, callers would break, or a backup cannot be taken now.',
  412: 'Somebody changed it meanwhile.',
  413: 'The body is too large.',
  415: 'The body is of a type that is not read here.',
  422: 'The SQL does not compile, or reads what it may not.',
  429: 'Too many requests. Retry-After says when to come back.',
  500: 'Something went wrong inside.',
  503: 'The service cannot answer now. Retry-After says when to come back.',
  504: 'The query took longer than it may.',
  507: 'There is too little disk left to take logs.',
}

const retrying = new Set([429, 503, 507])

/** The one shape of errors; with the codes that can be in it, where they are known. */
function errorSchema(codes?: readonly string[]): object {
  const text = (description: string) => ({ type: 'string', description })
  const place = { type: 'integer', description: 'Position in the SQL that was sent.' }
  const error = {
    type: 'object',
    properties: {
      code: { ...text('What went wrong, for programs.'), ...(codes && { enum: codes }) },
      message: text('The same for people.'),
      request_id: text('As in the header X-Request-Id, and in the log of the service.'),
      parameter: text('The parameter or field that the error speaks of.'),
      allowed: { type: 'array', items: { type: 'string' }, description: 'What would have been taken.' },
      line: place,
      column: place,
      endpoint: text('The endpoint that the error speaks of, where several were sent.'),
      changes: {
        type: 'array',
        items: { $ref: '#/components/schemas/BreakingChange' },
        description: 'What would break callers.',
      },
    },
    required: ['code', 'message', 'request_id'],
  }
  return { type: 'object', properties: { error }, required: ['error'], additionalProperties: false }
}

const codesOf = (status: number) =>
  listErrors()
    .filter((error) => error.status === status)
    .map(({ code }) => code)

export const errorSchemas = { Error: errorSchema() }

/** An answer for every status that an operation can name, and one for all others. */
export const errorAnswers = {
  Error: answer('Any other error.', { $ref: '#/components/schemas/Error' }),
  ...Object.fromEntries(
    Object.entries(texts).map(([status, description]) => [
      `Error${status}`,
      answer(description, errorSchema(codesOf(Number(status))), retrying.has(Number(status))),
    ]),
  ),
}

function answer(description: string, schema: object, retryAfter = false): object {
  return {
    description,
    ...(retryAfter && { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } }),
    content: { 'application/json': { schema } },
  }
}

export function errorAnswer(status: number): object {
  if (texts[status] === undefined) throw new Error(`No text is written for errors with the status ${status}.`)
  return { $ref: `#/components/responses/Error${status}` }
}

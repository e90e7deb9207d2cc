import type { RouteAccess } from '../route-access.ts'
import { errorAnswer } from './errors.ts'
import type { SchemaName } from './schemas.ts'

/** One thing that can be asked of the service, as it is described outward. */
export interface Operation {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As in OpenAPI: /api/sources/{name}. */
  path: string
  id: string
  tag: string
  access: RouteAccess
  summary: string
  description?: string
  parameters?: readonly object[]
  body?: object
  /** The answers that are no errors, by status. */
  answers: Readonly<Record<string, object>>
  /** Statuses of errors beyond those that the access to the route brings along. */
  errors?: readonly number[]
  /** In place of the one shape of errors. */
  ownError?: object
}

const accessErrors: Record<RouteAccess, readonly number[]> = {
  public: [],
  optional: [401, 429, 503],
  any: [401, 429, 503],
  query: [401, 403, 429, 503],
  ingest: [401, 403, 429, 503],
  admin: [401, 403, 429, 503],
}

const accessTexts: Record<RouteAccess, string> = {
  public: 'Needs no token.',
  optional: 'Needs no token; with one it tells more.',
  any: 'Needs a token.',
  query: 'Needs a token with the scope `query`.',
  ingest: 'Needs a token with the scope `ingest`.',
  admin: 'Needs a token with the scope `admin`.',
}

/** Either of the two ways to send a token. */
const tokens = [{ apiKey: [] }, { bearer: [] }]

function securityOf(access: RouteAccess): object[] {
  if (access === 'public') return []
  return access === 'optional' ? [{}, ...tokens] : tokens
}

export function operationObject(operation: Operation): object {
  const { access, description, parameters, body, ownError } = operation
  const statuses = new Set([...accessErrors[access], ...(operation.errors ?? []), 500])
  const errors = [...statuses].sort((one, other) => one - other)
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: [description, accessTexts[access]].filter(Boolean).join('\n\n'),
    security: securityOf(access),
    ...(parameters && parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: {
      ...operation.answers,
      ...Object.fromEntries(errors.map((status) => [status, ownError ?? errorAnswer(status)])),
      default: ownError ?? { $ref: '#/components/responses/Error' },
    },
  }
}

/** Operations of one group; what they have in common each of them may say otherwise. */
export function alike(
  common: Pick<Operation, 'tag' | 'access'>,
  operations: readonly (Omit<Operation, 'tag' | 'access'> & Partial<Operation>)[],
): readonly Operation[] {
  return operations.map((operation) => ({ ...common, ...operation }))
}

export function reference(name: SchemaName): object {
  return { $ref: `#/components/schemas/${name}` }
}

export function listOf(name: SchemaName): object {
  return { type: 'array', items: reference(name) }
}

export function answered(description: string, schema?: object, headers: readonly string[] = []): object {
  return {
    description,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    }),
    ...(schema && { content: { 'application/json': { schema } } }),
  }
}

/** A stream of events that stays open. */
export const eventStream = { 'text/event-stream': { schema: { type: 'string' } } }

export function eventsAnswered(description: string): object {
  return { ...answered(description, undefined, ['X-Request-Id']), content: eventStream }
}

/** What can be wrong with any body. */
export const bodyErrors = [400, 413, 415]

export function jsonBody(name: SchemaName, example: object, required = true): object {
  return { required, content: { 'application/json': { schema: reference(name), example } } }
}

export function inPath(name: string, description: string, example: string): object {
  return { name, in: 'path', required: true, description, schema: { type: 'string' }, example }
}

export function inAddress(name: string, description: string, schema: object, more: object = {}): object {
  return { name, in: 'query', description, schema, ...more }
}

export function inHeader(name: string, description: string): object {
  return { name, in: 'header', description, schema: { type: 'string' } }
}

import { z } from 'zod'
import { pageScope } from '../../../shared/scopes.ts'
import type { BreakingChange, ErrorCode } from '../../base/errors.ts'
import type { JsonSchema } from '../../base/validation.ts'
import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import { limitsOf, parameterSchemas, rowSchema } from '../../endpoints/schema/endpoint-schema.ts'
import type { RouteAccess } from '../route-access.ts'
import type { Content, ListedRoute, Operation, Response } from '../routes/route.ts'
import { callErrors, callQuery, followHeaders, resultResponses } from './call.ts'
import { type HeaderName, headerComponents, headersOf } from './headers.ts'
import type { Components, Direction } from './json-schema.ts'
import type { Tag } from './tags.ts'

interface DocumentOptions {
  version: string
  endpoints?: readonly Endpoint[]
  reader?: { parameters: Readonly<Record<string, string>> }
  /** For customers: only what they can call, with this name. */
  customer?: { title: string; mayUse: (access: RouteAccess) => boolean }
}

type DescribedParameter = Omit<ReturnType<typeof parameterSchemas>[number], 'example'> & {
  in: 'path' | 'query' | 'header'
  example?: unknown
}

const securitySchemes = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
  bearer: { type: 'http', scheme: 'bearer' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'wellhead' },
}

const anyToken = Object.keys(securitySchemes).map((scheme) => ({ [scheme]: [] }))

const withScope = (scopes: string) => `Requires a token with the scope ${scopes}.`

const accessTexts: Record<RouteAccess, string> = {
  public: 'Requires no token.',
  optional: 'Requires no token. With a token, the response has more details.',
  any: 'Requires a token.',
  query: withScope('`query`'),
  search: withScope(
    '`search` and without fixed parameters. With a project, it reads the entries of its project in published sources',
  ),
  'query or search': withScope('`query` or `search`'),
  call: withScope(`\`query\` or \`${pageScope}:<name>\``),
  ingest: withScope('`ingest`'),
  read: withScope('`read`'),
  edit: withScope('`edit`'),
  deploy: withScope('`deploy`'),
  admin: withScope('`admin`'),
}

/** Who may send a request, and the statuses of those who may not. */
function securityOf(access: RouteAccess): { security: object[]; errors: number[] } {
  if (access === 'public') return { security: [], errors: [] }
  const errors = [401, 429, 503]
  if (access === 'optional') return { security: [{}, ...anyToken], errors }
  return { security: anyToken, errors: access === 'any' ? errors : [...errors, 403] }
}

type Paths = Record<string, Record<string, object>>
type Sections = Record<string, Record<string, unknown>>

/** What a server has to describe. */
export interface DescribedServer {
  readonly routeList: readonly ListedRoute[]
  readonly components: Components
  readonly tags: readonly Tag[]
  readonly errorCodes: readonly ErrorCode[]
}

/** Makes OpenAPI 3.1 documents. The part that all callers share is built once. */
export function documentsOf({ routeList: routes, components: named, tags, errorCodes }: DescribedServer) {
  named.add({ output: { BreakingChange: breakingChange, Error: anyError } })
  const order = (route: ListedRoute) => tags.findIndex(({ name }) => name === route.operation?.tag)
  const sorted = routes.toSorted((one, other) => order(one) - order(other))
  const pathsFor = (mayUse: (access: RouteAccess) => boolean) => {
    const paths: Paths = {}
    for (const { method, path, operation } of sorted) {
      if (!operation || !mayUse(operation.access)) continue
      addOperation(named, paths, method, path.replace(/:(\w+)/g, '{$1}'), operation)
    }
    return paths
  }
  const all = pathsFor(() => true)
  const schemas = named.schemas()
  const responses = errorResponses(named, errorCodes)
  const ownHeaders = Object.assign(
    {},
    ...routes.flatMap(({ operation }) =>
      Object.values(operation?.responses ?? {}).map((one) => one.ownHeaders),
    ),
  )
  return ({ version, endpoints = [], reader = { parameters: {} }, customer }: DocumentOptions) => {
    const paths = customer ? pathsFor(customer.mayUse) : all
    const saved: Paths = {}
    const rows: Record<string, object> = {}
    for (const endpoint of endpoints) {
      const { name } = endpoint.definition
      // The prefix keeps the name apart from other components, such as Error.
      const rowName = `row.${name}`
      const parameters = parameterSchemas(endpoint, reader.parameters)
      addOperation(
        named,
        saved,
        'GET',
        `/api/endpoints/query/${name}`,
        operationOf(endpoint, { $ref: `#/components/schemas/${rowName}` }),
        parameters.map((one) => ({ ...one, in: 'query' })),
      )
      rows[rowName] = { ...rowSchema(endpoint), additionalProperties: false }
    }
    const components: Sections = {
      schemas: { ...schemas, ...rows },
      responses,
      headers: { ...headerComponents, ...ownHeaders },
      securitySchemes,
    }
    const about = {
      description: 'Saved SQL over logs, served as fast, always-warm HTTP endpoints.',
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    }
    const document = {
      openapi: '3.1.1',
      info: { title: customer?.title ?? 'Wellhead', version, ...(!customer && about) },
      servers: [{ url: '/' }],
      tags: endpoints.length > 0 ? tags : tags.slice(1),
      paths: { ...saved, ...paths },
      components,
    }
    return customer ? withoutUnused(document) : document
  }
}

/** Without tags and components that no operation uses. */
function withoutUnused<T extends { paths: Paths; tags: readonly Tag[]; components: Sections }>(
  document: T,
): T {
  const { components } = document
  const paths = JSON.stringify(document.paths)
  const used = new Set<string>()
  const visit = (text: string) => {
    for (const [pointer, section = '', name = ''] of text.matchAll(/#\/components\/(\w+)\/([^"]+)/g)) {
      if (used.has(pointer)) continue
      used.add(pointer)
      visit(JSON.stringify(components[section]?.[name]))
    }
  }
  visit(paths)
  const kept = Object.entries(components).map(([section, parts]) => {
    const isKept = ([name]: [string, unknown]) => used.has(`#/components/${section}/${name}`)
    return [section, Object.fromEntries(Object.entries(parts).filter(isKept))]
  })
  return {
    ...document,
    tags: document.tags.filter(({ name }) => paths.includes(`"tags":["${name}"]`)),
    components: { ...Object.fromEntries(kept), securitySchemes },
  }
}

function operationOf(endpoint: Endpoint, row: object): Operation {
  const { name, description, sandbox, max_rows } = endpoint.definition
  const items = sandbox ? { anyOf: [row, { type: 'object', additionalProperties: true }] } : row
  const rows = { type: 'array', items, maxItems: max_rows }
  return {
    id: `query.${name}`,
    tag: 'Saved endpoints',
    access: 'query',
    summary: name,
    description: [description, limitsOf(endpoint)].filter(Boolean).join('\n\n'),
    query: callQuery,
    headers: followHeaders,
    responses: resultResponses(rows, { explained: false, streamed: true }),
    errors: callErrors,
  }
}

function addOperation(
  named: Components,
  paths: Paths,
  method: string,
  path: string,
  operation: Operation,
  ownParameters: readonly DescribedParameter[] = [],
): void {
  const { id, tag, access, summary, description, body, responses, errorResponse } = operation
  const { security, errors } = securityOf(access)
  const parameters = [
    ...ownParameters,
    ...parametersOf(named, 'path', operation.params),
    ...parametersOf(named, 'query', operation.query),
    ...parametersOf(named, 'header', operation.headers),
  ]
  const ownError = errorResponse && responseObject(named, errorResponse, access)
  const requestErrors = [400, ...(operation.params ? [404] : []), ...(body ? [413, 415] : []), 500]
  const statuses = new Set([...errors, ...requestErrors, ...(operation.errors ?? [])])
  const described = {
    operationId: id,
    tags: [tag],
    summary,
    description: [description, accessTexts[access]].filter(Boolean).join('\n\n'),
    security,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: body.required, content: contentObject(named, body.content, 'input') },
    }),
    responses: {
      ...Object.fromEntries([...statuses].map((status) => [status, ownError ?? errorReference(status)])),
      ...Object.fromEntries(
        Object.entries(responses).map(([status, one]) => [status, responseObject(named, one, access)]),
      ),
      default: ownError ?? { $ref: '#/components/responses/Error' },
    },
  }
  paths[path] = { ...paths[path], [method.toLowerCase()]: described }
}

function parametersOf(
  named: Components,
  place: DescribedParameter['in'],
  shape: z.ZodObject | undefined,
): DescribedParameter[] {
  if (!shape) return []
  const { properties = {}, required = [] } = named.schemaOf(shape, 'input') as {
    properties?: Record<string, { description?: string; example?: unknown }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description = '', example, ...schema }]) => ({
    name,
    in: place,
    description,
    schema,
    ...(required.includes(name) && { required: true }),
    ...(example !== undefined && { example }),
  }))
}

function responseObject(
  named: Components,
  { description, headers = [], ownHeaders = {}, content }: Response,
  access: RouteAccess,
): object {
  return {
    description,
    headers: headersOf([...headers, ...Object.keys(ownHeaders)], access !== 'public'),
    ...(content && { content: contentObject(named, content, 'output') }),
  }
}

function contentObject(named: Components, content: Content, direction: Direction): Record<string, object> {
  const media = Object.entries(content).map(([type, { schema, ...rest }]) => [
    type,
    { ...(schema && { schema: named.schemaOf(schema, direction) }), ...rest },
  ])
  return Object.fromEntries(media)
}

const descriptions: Record<number, string> = {
  400: 'The request is invalid. The error names the parameter or field.',
  401: 'The token is missing or invalid.',
  403: 'The token does not allow this.',
  404: 'Not found.',
  406: 'The result is not available in this format.',
  409: 'The name is taken, or the change would break callers.',
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

const errorHeaders: Record<string, readonly HeaderName[]> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
  507: ['Retry-After'],
}

const breakingChange: z.ZodType<BreakingChange> = z.looseObject({
  definition: z.string().describe('Kind and name of the definition: `endpoints/usage`.'),
  endpoint: z.string().exactOptional().describe('Its name, if it is an endpoint.'),
  kind: z.string().describe('What changed, for programs.'),
  message: z.string().describe('What changed, for people.'),
  entries: z
    .int()
    .exactOptional()
    .describe('Stored entries that the change hides and that are deleted later.'),
  oldest: z.iso.datetime().nullable().exactOptional().describe('Timestamp of the oldest of them.'),
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
    definition: z
      .string()
      .optional()
      .describe(
        'Kind and name of the definition that is wrong, if the request has several: `alerts/errors`.',
      ),
    endpoint: z.string().optional().describe('Its name, if it is an endpoint.'),
    users: z.array(z.string()).optional().describe('What uses it, if it cannot be deleted.'),
    changes: z.array(breakingChange).optional().describe('Changes that would break callers or hide entries.'),
  })
  return z.object({ error })
}

const anyError = errorShape()

/** With the causes that features add: "A, or B." becomes "A, B, or C." */
function withCauses(description: string, errors: readonly ErrorCode[]): string {
  const causes = errors.flatMap(({ cause = [] }) => cause)
  if (causes.length === 0) return description
  return `${description.replace(', or ', ', ').slice(0, -1)}, or ${causes.join(', or ')}.`
}

function errorResponses(named: Components, errorCodes: readonly ErrorCode[]): Record<string, JsonSchema> {
  const byStatus = Object.entries(descriptions).map(([status, description]) => {
    const codes = errorCodes.filter((error) => error.status === Number(status))
    const shape = errorShape(z.enum(codes.map(({ code }) => code)))
    return [`Error${status}`, response(named, withCauses(description, codes), shape, errorHeaders[status])]
  })
  return { Error: response(named, 'Any other error.', anyError), ...Object.fromEntries(byStatus) }
}

function response(
  named: Components,
  description: string,
  shape: z.ZodType,
  headers: readonly HeaderName[] = [],
): JsonSchema {
  return {
    description,
    headers: headersOf(['Wellhead-Version', ...headers], true),
    content: { 'application/json': { schema: named.schemaOf(shape, 'output') } },
  }
}

function errorReference(status: number): JsonSchema {
  if (descriptions[status] === undefined) throw new Error(`Status ${status} has no description.`)
  return { $ref: `#/components/responses/Error${status}` }
}

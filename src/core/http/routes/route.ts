import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { z } from 'zod'
import { type ErrorCode, invalidParameter } from '../../base/errors.ts'
import { firstProblem, type JsonSchema } from '../../base/validation.ts'
import type { HeaderName } from '../openapi/headers.ts'
import { Components } from '../openapi/json-schema.ts'
import type { Tag } from '../openapi/tags.ts'
import type { RouteAccess } from '../route-access.ts'

export interface Operation {
  id: string
  tag: string
  access: RouteAccess
  summary: string
  description?: string
  params?: z.ZodObject
  query?: z.ZodObject
  /** Documented only: handlers read headers themselves. */
  headers?: z.ZodObject
  /** Documented only: the domain validates its own input. */
  body?: { required: boolean; content: Content }
  /** Responses that are not errors, by status. Handlers respond with the first status by default. */
  responses: Readonly<Record<number, Response>>
  /** Statuses of errors beyond those that follow from access, path parameters and body. */
  errors?: readonly number[]
  errorResponse?: Response
}

export interface Response {
  description: string
  headers?: readonly HeaderName[]
  /** Headers that no other route has, with their descriptions. */
  ownHeaders?: Readonly<Record<string, JsonSchema>>
  content?: Content
}

export type Content = Readonly<Record<string, { schema?: z.ZodType | JsonSchema; example?: unknown }>>

interface Route<P extends z.ZodObject, Q extends z.ZodObject>
  extends Omit<Operation, 'id' | 'tag' | 'access' | 'summary'> {
  access?: RouteAccess
  params?: P
  query?: Q
  /** Whether the handler reads its parameters itself. */
  unchecked?: boolean
  options?: RouteShorthandOptions
  handler: (
    request: FastifyRequest<{ Params: z.output<P>; Querystring: z.output<Q> }>,
    reply: FastifyReply,
  ) => Promise<unknown>
}

export interface ListedRoute {
  method: string
  /** As registered: /api/sources/:name. */
  path: string
  access: RouteAccess
  operation: Operation | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route, for the OpenAPI document and for tests of access. */
    routeList: readonly ListedRoute[]
    /** Shapes that have a name in the OpenAPI document. */
    components: Components
    /** Parts of the API, in the order of the OpenAPI document. */
    tags: Tag[]
    /** Codes of errors of core and of features. */
    errorCodes: ErrorCode[]
  }
  interface FastifyContextConfig {
    /** Admins only where it is undefined. */
    access?: RouteAccess
    operation?: Operation
  }
}

type Address = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

/** Adds routes of one resource. Each is described once, for its checks, its handler and the OpenAPI document. */
export function routesOf(server: FastifyInstance, common: Pick<Operation, 'tag' | 'access'>) {
  return <P extends z.ZodObject, Q extends z.ZodObject>(
    address: Address,
    id: string,
    summary: string,
    { handler, options, unchecked, ...described }: Route<P, Q>,
  ): void => {
    const [method, url] = address.split(' ') as [string, string]
    const operation: Operation = { ...common, id, summary, ...described }
    const { access, params, query, responses } = operation
    const [status] = Object.keys(responses).map(Number) as [number]
    const { headers = [] } = responses[status] as Response
    server.route<{ Params: z.output<P>; Querystring: z.output<Q> }>({
      ...options,
      method,
      url,
      config: { access, operation },
      ...(!unchecked && {
        schema: { ...(params && { params }), ...(query && { querystring: query }) },
        validatorCompiler,
      }),
      ...(status !== 200 && { preHandler: async (_request, reply) => void reply.code(status) }),
      ...(headers.some((name) => name === 'ETag' || name === 'Location') && {
        preSerialization: resourceHeaders(url, headers),
      }),
      handler,
    })
  }
}

/** Sets the headers that the route promises and that follow from the resource: its version and its path. */
function resourceHeaders(path: string, promised: readonly HeaderName[]) {
  return async (_request: FastifyRequest, reply: FastifyReply, resource: unknown) => {
    const { id, version } = resource as { id?: string; version?: number }
    if (promised.includes('ETag') && version !== undefined) reply.header('ETag', `"${version}"`)
    if (promised.includes('Location') && id !== undefined) reply.header('Location', `${path}/${id}`)
    return resource
  }
}

/** Must run before the first route is added. */
export function listRoutes(server: FastifyInstance): void {
  const routes: ListedRoute[] = []
  server.decorate('routeList', routes)
  server.decorate('components', new Components())
  server.decorate('tags', [])
  server.decorate('errorCodes', [])
  server.addHook('onRoute', ({ method, url, config }) => {
    const { access = 'admin', operation } = config ?? {}
    // HEAD routes come with GET routes.
    const methods = [method].flat().filter((name) => name !== 'HEAD')
    for (const name of methods) routes.push({ method: name, path: url, access, operation })
  })
}

function validatorCompiler({ schema }: { schema: unknown }) {
  return (sent: unknown) => {
    const { data, error } = (schema as z.ZodObject).safeParse(sent)
    if (!error) return { value: data }
    const { field, message } = firstProblem(error)
    return { error: invalidParameter(field, `${field} ${message}.`) }
  }
}

export function json(description: string, schema?: z.ZodType, headers?: readonly HeaderName[]): Response {
  return {
    description,
    ...(headers && { headers }),
    ...(schema && { content: { 'application/json': { schema } } }),
  }
}

export function text(description: string, ...types: string[]): Response {
  return {
    description,
    content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
  }
}

export function fileResponses(file: Response): Record<200 | 304, Response> {
  const headers = ['ETag', ...(file.headers ?? [])] as const
  return { 200: { ...file, headers }, 304: { description: 'The caller has the current version.', headers } }
}

export const pageResponses = fileResponses({
  ...text('A page.', 'text/html'),
  headers: ['Content-Security-Policy', 'Cross-Origin-Resource-Policy', 'Referrer-Policy', 'X-Frame-Options'],
})

/** A page, or its absence: as a page, or as an error if the console was not built. */
export const knownPageResponses = {
  ...pageResponses,
  404: {
    ...pageResponses[200],
    description: 'No page has this name. The body is the page of the console that says so.',
    content: {
      'text/html': { schema: { type: 'string' } },
      'application/json': { schema: { $ref: '#/components/schemas/Error' } },
    },
  },
} as const

export function jsonBody(
  schema: z.ZodType,
  example: object,
  required = true,
): { required: boolean; content: Content } {
  return { required, content: { 'application/json': { schema, example } } }
}

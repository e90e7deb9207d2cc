import type { FastifyInstance } from 'fastify'
import type { Operation } from './route.ts'
import type { RouteAccess } from './route-access.ts'

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
  }
}

/** Must run before the first route is added. */
export function listRoutes(server: FastifyInstance): void {
  const routes: ListedRoute[] = []
  server.decorate('routeList', routes)
  server.addHook('onRoute', ({ method, url, config }) => {
    const { access = 'admin', operation } = config ?? {}
    // HEAD routes come with GET routes.
    const methods = [method].flat().filter((name) => name !== 'HEAD')
    for (const name of methods) routes.push({ method: name, path: url, access, operation })
  })
}

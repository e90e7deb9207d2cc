import type { FastifyInstance } from 'fastify'
import type { RouteAccess } from './route-access.ts'

export interface ListedRoute {
  method: string
  /** As it was registered: /api/sources/:name. */
  path: string
  access: RouteAccess
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route that there is, so that what describes them can be held against them. */
    routeList: readonly ListedRoute[]
  }
}

/** Goes before the first route. */
export function listRoutes(server: FastifyInstance): void {
  const routes: ListedRoute[] = []
  server.decorate('routeList', routes)
  server.addHook('onRoute', ({ method, url, config }) => {
    const access = config?.access ?? 'admin'
    for (const one of [method].flat()) {
      // Those for HEAD come along with those for GET.
      if (one !== 'HEAD') routes.push({ method: one, path: url, access })
    }
  })
}

import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../access/caller.ts'
import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import { shownParameters } from '../../endpoints/definition/parameter-declaration.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'

/** What a token may do, told to whoever holds it. */
export function addWhoamiRoutes(server: FastifyInstance, endpoints: Endpoints): void {
  server.get('/api/whoami', { config: { access: 'any' } }, async (request) => {
    const caller = request.caller as Caller
    const callable = endpoints.list().filter(({ definition }) => caller.mayQuery(definition.name))
    return {
      id: caller.id,
      admin: caller.isAdmin,
      query: caller.mayAny('query'),
      ingest: caller.mayAny('ingest'),
      project: caller.project ?? null,
      parameters: caller.parameters,
      endpoints: callable.map((endpoint) => outside(endpoint, caller)),
    }
  })
}

/** An endpoint as its callers see it: without its SQL, and without what they cannot choose. */
function outside({ definition, version, columns }: Endpoint, caller: Caller) {
  const { id, name, description, max_rows, cache_seconds, sandbox } = definition
  const parameters = Object.entries(definition.parameters).filter(
    ([parameter]) => !Object.hasOwn(caller.parameters, parameter),
  )
  return {
    id,
    name,
    description,
    parameters: shownParameters(Object.fromEntries(parameters)),
    columns,
    max_rows,
    cache_seconds,
    sandbox,
    version,
  }
}

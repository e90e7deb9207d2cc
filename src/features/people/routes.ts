import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { roles } from '../../core/access/caller.ts'
import type { FieldShapes } from '../../core/base/validation.ts'
import { authorOf } from '../../core/http/routes/management.ts'
import { json, routesOf } from '../../core/http/routes/route.ts'
import type { People, PersonView } from './people.ts'

const person = z.object<FieldShapes<PersonView>>({
  id: z.string().describe('The same for the same account of the issuer.'),
  name: z.string().describe('As the issuer says.'),
  email: z.string().nullable().describe('As the issuer says. Null: none.'),
  role: z.enum(roles).nullable().describe('Null: a tenant, or somebody who lost their role.'),
  project: z.string().nullable().describe('Of a tenant.'),
  last_seen: z.iso.datetime().describe('When the person last signed in or sent a request to this service.'),
})
/** Names in the OpenAPI document. */
const components = {
  output: { Person: person },
}

export function addPeopleRoutes(server: FastifyInstance, { people }: { people: People }): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Signing in', access: 'admin' })
  route('GET /api/people', 'listPeople', 'List everybody who has signed in', {
    responses: { 200: json('People, by name.', z.array(person)) },
    handler: async () => people.list(),
  })
  route('DELETE /api/people/:id/sessions', 'endSessions', 'End all sessions of a person', {
    description:
      'Within 2 seconds on every service. Links to dashboards that the person created end, too. The person can sign in again.',
    params: z.object({
      id: z
        .string()
        .meta({ description: 'Id of the person.', example: '5f0b7a11-4f0e-5c39-8d0e-6f1c3f0b7a11' }),
    }),
    responses: { 204: json('The sessions have ended.') },
    handler: async (request) => people.endSessions(request.params.id, authorOf(request)),
  })
}

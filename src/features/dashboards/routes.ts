import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import { invalidParameter } from '../../core/base/errors.ts'
import { type FieldShapes, readShape } from '../../core/base/validation.ts'
import type { Definitions } from '../../core/definitions/definitions.ts'
import { declarationOf } from '../../core/endpoints/definition/parameter-declaration.ts'
import { readValue } from '../../core/endpoints/definition/parameters.ts'
import type { Endpoints } from '../../core/endpoints/manage/endpoints.ts'
import { referenceParams } from '../../core/http/routes/kind-routes.ts'
import { authorOf } from '../../core/http/routes/management.ts'
import { json, jsonBody, routesOf } from '../../core/http/routes/route.ts'
import { type DashboardFields, panelsOf, type SavedDashboard } from './dashboard.ts'
import { dashboards as dashboardKind } from './dashboard-kind.ts'
import { type LinkFields, type Links, type LinkView, linkShape } from './links.ts'

const link = z.object<FieldShapes<LinkView>>({
  id: z.uuid().describe('Identifies the link. Not secret.'),
  project: z.string().nullable().describe('The only project that it shows. Null: all projects.'),
  all_projects: z.boolean().describe('Whether it shows all projects.'),
  parameters: z.record(z.string(), z.string()).describe('Parameters that viewers cannot choose.'),
  expires_at: z.iso.datetime().describe('When it stops working.'),
  created_at: z.iso.datetime().describe('When it was created.'),
  created_by: z.string().describe('Who created it. It works only while they may create links.'),
})
const newLink = z.object({
  id: z.uuid().describe('Identifies the link. Not secret.'),
  url: z.url().describe('Opens the dashboard without a token. It is shown only once.'),
})
const opened = z.object<FieldShapes<ReturnType<Links['open']>>>({
  dashboard: z.uuid().describe('Id of the dashboard.'),
  project: z.string().nullable().describe('The only project that it shows.'),
  parameters: z.record(z.string(), z.string()).describe('Parameters that viewers cannot choose.'),
  token: z.string().describe('A session that may read the dashboard and call its panels.'),
  expires_at: z.iso.datetime().describe('When the session ends.'),
})

/** Names in the OpenAPI document. */
const components = {
  input: { DashboardLinkFields: linkShape },
  output: { DashboardLink: link, NewDashboardLink: newLink, OpenedLink: opened },
}

/** Managing links of dashboards. */
export function addDashboardRoutes(
  server: FastifyInstance,
  {
    definitions,
    endpoints,
    links,
    publicUrl,
  }: { definitions: Definitions; endpoints: Endpoints; links: Links; publicUrl: string | undefined },
): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Dashboards', access: 'edit' })
  const params = referenceParams(dashboardKind)
  const path = '/api/dashboards/:reference/links'
  const find = ({ params, caller }: { params: { reference: string }; caller: Caller | undefined }) =>
    definitions.find<SavedDashboard>('dashboards', params.reference, caller)
  route(`GET ${path}`, 'listDashboardLinks', 'List the links of a dashboard', {
    access: 'read',
    params,
    responses: { 200: json('All links, without their secrets.', z.array(link)) },
    handler: async (request) => links.list(find(request).id),
  })
  route(`POST ${path}`, 'createDashboardLink', 'Create a link to a dashboard', {
    description:
      'Anyone with the link sees the dashboard without a token. It ends with the dashboard, with the token or person that created it, and after `WELLHEAD_LINK_DAYS`.',
    params,
    body: jsonBody(linkShape, { project: 'demo' }),
    responses: { 201: json('The link.', newLink) },
    handler: async (request) => {
      const { id: dashboard, definition } = find(request)
      const fields = readShape(linkShape, request.body ?? {})
      refuseValues(definition, fields.parameters)
      if (fields.project !== null) refuseUnpublished(definition, endpoints)
      const { id, secret } = await links.create(dashboard, fields, authorOf(request))
      const origin = publicUrl ?? `${request.protocol}://${request.host}`
      return { id, url: `${origin}/shared/${secret}` }
    },
  })
  route(`DELETE ${path}/:id`, 'deleteDashboardLink', 'End a link', {
    description: 'Pages that it opened stop at once.',
    params: params.extend({ id: z.string().meta({ description: 'Id of the link.', example: exampleId }) }),
    responses: { 204: json('The link is deleted.') },
    handler: (request) => links.delete(find(request).id, request.params.id, authorOf(request)),
  })
  route('POST /shared/:secret/session', 'openDashboardLink', 'Open a link', {
    description: 'Creates a short session for the page of the link.',
    access: 'public',
    params: z.object({ secret: z.string().meta({ description: 'The secret of the link.', example: 'x' }) }),
    responses: { 201: json('The session, and what it shows.', opened) },
    errors: [404],
    handler: async ({ params }) => links.open(params.secret),
  })
}

const exampleId = '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11'

/** Throws if a viewer with a project could not see a panel. */
function refuseUnpublished(definition: DashboardFields, endpoints: Pick<Endpoints, 'find'>): void {
  const hidden = panelsOf(definition).find(
    ({ panel }) => endpoints.find(panel.endpoint)?.definition.published === false,
  )
  if (!hidden) return
  const message = `Publish the endpoint ${hidden.panel.endpoint} first: a link with a project shows only published endpoints.`
  throw invalidParameter('project', message)
}

/** Throws if a link fixes a parameter that the dashboard lacks, or a value that it does not accept. */
function refuseValues(
  { parameters: declared, name }: DashboardFields,
  fixed: LinkFields['parameters'],
): void {
  for (const [parameter, value] of Object.entries(fixed)) {
    const field = `parameters.${parameter}`
    if (parameter === 'project') throw invalidParameter(field, 'Set the field project instead.')
    if (!Object.hasOwn(declared, parameter)) {
      throw invalidParameter(field, `${name} has no parameter "${parameter}".`)
    }
    readValue(field, declarationOf(declared, parameter), value)
  }
}

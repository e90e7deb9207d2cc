import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { forbidden } from '../../base/errors.ts'
import { deploymentTerms, expectedVersionShape } from '../../definitions/deployment.ts'
import type { DeployedDefinition } from '../../definitions/step.ts'
import { jsonLimits } from '../json-bodies.ts'
import { type FieldShapes, nameComponents } from '../openapi/json-schema.ts'
import type { ServerOptions } from '../server-options.ts'
import { alertDocs } from './alerts.ts'
import { dashboardDocs } from './dashboards.ts'
import { columns, endpointDocs, warnings } from './endpoints.ts'
import type { KindDocs } from './kind-routes.ts'
import { authorOf } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'
import { sourceDocs } from './sources.ts'

const kinds = [sourceDocs, endpointDocs, alertDocs, dashboardDocs]

const expected_version = expectedVersionShape
  .optional()
  .describe('The version that this replaces. 0: it must not exist yet.')

/** What a response to a deployment shows beyond the fields of all kinds. */
const shownOf: Record<string, z.ZodRawShape> = {
  endpoints: { columns: columns.describe('Columns of the result, with the types of the engine.') },
  alerts: {
    secrets: z
      .array(z.object({ url: z.string(), secret: z.string() }))
      .exactOptional()
      .describe('Secrets of new webhooks. Only in the response that created them.'),
  },
}

const change = z.object({
  kind: z.string().describe('What changed, for programs.'),
  breaking: z
    .boolean()
    .describe('Whether callers or senders may have to change their code, or entries are lost.'),
  message: z.string().describe('What changed, for people.'),
  parameter: z.string().exactOptional().describe('The parameter that changed.'),
  column: z.string().exactOptional().describe('The column that changed.'),
})

const deployed = z.object<FieldShapes<DeployedDefinition>>({
  name: z.string().describe('Its name.'),
  id: z.uuid().describe('Its id.'),
  action: z.enum(['created', 'updated', 'unchanged', 'deleted']).describe('What the deployment did.'),
  version: z.int().min(1).describe('Version after the deployment; of what is deleted, the last one.'),
  changes: z.array(change).describe('Changes that callers may notice.'),
  warnings,
})

const eachKind = <T>(make: (docs: KindDocs) => T) =>
  Object.fromEntries(kinds.map((docs) => [docs.folder, make(docs)]))

const deploymentOf = eachKind(({ fields }) => z.strictObject({ ...fields.shape, expected_version }))
const deployedOf = eachKind(({ folder }) => deployed.extend(shownOf[folder] ?? {}))

const deployment = z.strictObject({
  ...eachKind(({ folder }) =>
    z
      .array(deploymentOf[folder] as z.ZodObject)
      .optional()
      .describe(`Those to create or change. Other ${folder} stay as they are.`),
  ),
  delete: z
    .strictObject(eachKind(() => z.array(z.string()).optional()))
    .optional()
    .describe('Names or ids of those to delete, by kind.'),
  ...deploymentTerms,
})

const deploymentResponse = z.object({
  dry_run: z.boolean().describe('Whether nothing was changed.'),
  ...eachKind(({ folder }) =>
    z.array(deployedOf[folder] as z.ZodObject).describe('In the order of the request, then those deleted.'),
  ),
})

const named = (prefix: string, shapes: Record<string, z.ZodType>) =>
  Object.fromEntries(kinds.map(({ folder, name }) => [`${prefix}${name}`, shapes[folder] as z.ZodType]))

nameComponents('input', { Deployment: deployment, ...named('Deployment', deploymentOf) })
nameComponents('output', {
  DefinitionChange: change,
  DeploymentResponse: deploymentResponse,
  ...named('Deployed', deployedOf),
})

const query = 'SELECT count() AS n FROM edge_logs WHERE timestamp > @now - INTERVAL 1 DAY'
const example = { endpoints: [{ name: 'requests.count', query, expected_version: 0 }], dry_run: true }

export function addDeploymentRoutes(server: FastifyInstance, { definitions }: ServerOptions): void {
  const route = routesOf(server, { tag: 'Deployments', access: 'edit' })
  route('POST /api/deployments', 'deploy', 'Deploy definitions of all kinds atomically', {
    description:
      'Creates, changes and deletes definitions. Each is checked against the state after the deployment: an endpoint may ' +
      'read a source that is created with it. If one of them is invalid, nothing is changed. An error names the definition. ' +
      'A deployment with sources requires the scope `admin`.',
    body: jsonBody(deployment, example),
    responses: { 200: json('The changes that were made, or would be made.', deploymentResponse) },
    errors: [404, 409, 412, 422],
    options: { bodyLimit: jsonLimits.maxDeploymentBytes },
    handler: async (request) => {
      if (!request.caller?.isAdmin) refuseAdmins(request.body)
      return definitions.deploy(request.body, authorOf(request))
    },
  })
}

/** Throws 403 if a deployment contains kinds that only admins change. What is malformed is refused later. */
function refuseAdmins(body: unknown): void {
  const { delete: deleted, ...sent } = (body ?? {}) as Record<string, unknown>
  for (const { folder } of kinds.filter(({ changes }) => changes === 'admin')) {
    const named = [sent[folder], (deleted as typeof sent | undefined)?.[folder]].flat()
    if (named.some((one) => one !== undefined)) {
      throw forbidden(`A deployment with ${folder} requires the scope admin.`)
    }
  }
}

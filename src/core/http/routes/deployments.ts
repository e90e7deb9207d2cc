import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import { forbidden } from '../../base/errors.ts'
import type { FieldShapes } from '../../base/validation.ts'
import type { Definitions } from '../../definitions/definitions.ts'
import { deploymentTerms, expectedVersionShape } from '../../definitions/deployment.ts'
import type { KindForm } from '../../definitions/kind.ts'
import type { DeployedDefinition } from '../../definitions/step.ts'
import { warningsView } from '../../sql/warnings/warning.ts'
import { jsonLimits } from '../json-bodies.ts'
import { isAllowed } from '../route-access.ts'
import { type DocumentedKind, documented } from './kind-routes.ts'
import { authorOf } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'

const expected_version = expectedVersionShape
  .optional()
  .describe('The version that this replaces. 0: it must not exist yet.')

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
  warnings: warningsView,
})

/** The shapes of a deployment of these kinds. */
function deploymentShapes(kinds: readonly DocumentedKind[]) {
  const eachKind = <T>(make: (kind: DocumentedKind) => T) =>
    Object.fromEntries(kinds.map((kind) => [kind.folder, make(kind)]))
  const deploymentOf = eachKind(({ sent }) => z.strictObject({ ...sent.shape, expected_version }))
  const deployedOf = eachKind(({ docs }) => deployed.extend(docs.deployed ?? {}))
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
  const response = z.object({
    dry_run: z.boolean().describe('Whether nothing was changed.'),
    ...eachKind(({ folder }) =>
      z.array(deployedOf[folder] as z.ZodObject).describe('In the order of the request, then those deleted.'),
    ),
  })
  const named = (prefix: string, shapes: Record<string, z.ZodType>) =>
    Object.fromEntries(kinds.map(({ folder, name }) => [`${prefix}${name}`, shapes[folder] as z.ZodType]))
  return {
    deployment,
    response,
    components: {
      input: { Deployment: deployment, ...named('Deployment', deploymentOf) },
      output: { DefinitionChange: change, DeploymentResponse: response, ...named('Deployed', deployedOf) },
    },
  }
}

const query = 'SELECT count() AS n FROM edge_logs WHERE timestamp > @now - INTERVAL 1 DAY'
const example = { endpoints: [{ name: 'requests.count', query, expected_version: 0 }], dry_run: true }

export function addDeploymentRoutes(
  server: FastifyInstance,
  { definitions, kinds }: { definitions: Definitions; kinds: readonly KindForm[] },
): void {
  const described = kinds.map(documented)
  const { deployment, response, components } = deploymentShapes(described)
  server.components.add(components)
  const route = routesOf(server, { tag: 'Deployments', access: 'edit' })
  route('POST /api/deployments', 'deploy', 'Deploy definitions of all kinds atomically', {
    description:
      'Creates, changes and deletes definitions. Each is checked against the state after the deployment: an endpoint may ' +
      'read a source that is created with it. If one of them is invalid, nothing is changed. An error names the definition. ' +
      'New and changed sources require the scope `deploy`, and deleting sources requires `admin`; others can deploy sources that ' +
      'stay the same.',
    body: jsonBody(deployment, example),
    responses: { 200: json('The changes that were made, or would be made.', response) },
    errors: [404, 409, 412, 422],
    options: { bodyLimit: jsonLimits.maxDeploymentBytes },
    handler: (request) =>
      definitions.deploy(request.body, authorOf(request), (folder, action) => {
        const { docs } = described.find((kind) => kind.folder === folder) as DocumentedKind
        const { changes, deletes = changes } = docs
        const needed = action === 'deleted' ? deletes : changes
        if (isAllowed[needed](request.caller as Caller)) return
        throw forbidden(`${verbs[action]} ${folder} requires a token with the scope ${needed}.`)
      }),
  })
}

const verbs = { created: 'Creating', updated: 'Changing', unchanged: 'Deploying', deleted: 'Deleting' }

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type ContractChange, changeKinds } from '../../endpoints/manage/contract-changes.ts'
import {
  type DeployedEndpoint,
  type Deployments,
  type DeploymentView,
  deploymentShape,
} from '../../endpoints/manage/deployments.ts'
import { jsonLimits } from '../json-bodies.ts'
import { type FieldShapes, nameComponents } from '../openapi/json-schema.ts'
import { columns, deploymentEndpoint, warnings } from './endpoints.ts'
import { changedBy } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'

const deployment = z.strictObject({
  ...deploymentShape.shape,
  endpoints: z
    .array(deploymentEndpoint)
    .describe('Endpoints to create or change. Other endpoints stay as they are.'),
})

const contractChange: z.ZodType<ContractChange> = z.object({
  kind: z.enum(changeKinds).describe('What changed, for programs.'),
  breaking: z.boolean().describe('Whether callers may have to change their code.'),
  message: z.string().describe('What changed, for people.'),
  parameter: z.string().exactOptional().describe('The parameter that changed.'),
  column: z.string().exactOptional().describe('The column that changed.'),
})

const deployedEndpoint = z.object<FieldShapes<DeployedEndpoint>>({
  name: z.string().describe('Name of the endpoint.'),
  id: z.uuid().describe('Id of the endpoint.'),
  action: z.enum(['created', 'updated', 'unchanged']).describe('What the deployment did.'),
  version: z.int().min(1).describe('Version after the deployment.'),
  changes: z.array(contractChange).describe('Changes that callers may notice.'),
  columns: columns.describe('Columns of the result, with the types of the engine.'),
  warnings,
})

const deploymentAnswer = z.object<FieldShapes<DeploymentView>>({
  dry_run: z.boolean().describe('Whether nothing was changed.'),
  endpoints: z.array(deployedEndpoint).describe('Endpoints in the order of the request.'),
})

nameComponents('input', { Deployment: deployment })
nameComponents('output', {
  ContractChange: contractChange,
  DeployedEndpoint: deployedEndpoint,
  DeploymentAnswer: deploymentAnswer,
})

const query = 'SELECT count() AS n FROM edge_logs WHERE timestamp > @now - INTERVAL 1 DAY'
const example = { endpoints: [{ name: 'requests.count', query, expected_version: 0 }], dry_run: true }

export function addDeploymentRoutes(server: FastifyInstance, deployments: Deployments): void {
  const route = routesOf(server, { tag: 'Endpoints', access: 'admin' })
  route('POST /api/deployments', 'deployEndpoints', 'Deploy endpoints atomically', {
    description: 'Creates and changes several endpoints. If one of them is invalid, nothing is changed.',
    body: jsonBody(deployment, example),
    responses: { 200: json('The changes that were made, or would be made.', deploymentAnswer) },
    errors: [409, 412, 422],
    options: { bodyLimit: jsonLimits.maxDeploymentBytes },
    handler: async (request) => deployments.deploy(request.body, changedBy(request)),
  })
}

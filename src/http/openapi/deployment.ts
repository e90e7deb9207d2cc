import { z } from 'zod'
import type { BreakingChange } from '../../base/errors.ts'
import { type ContractChange, changeKinds } from '../../endpoints/manage/contract-changes.ts'
import {
  type DeployedEndpoint,
  type DeploymentView,
  deploymentShape,
  expectedVersionShape,
} from '../../endpoints/manage/deployments.ts'
import { type ObjectSchema, schemaOf, withFields } from './shape.ts'

const changeShape: z.ZodType<ContractChange> = z.object({
  kind: z.enum(changeKinds),
  breaking: z.boolean(),
  message: z.string(),
  parameter: z.string().exactOptional(),
  column: z.string().exactOptional(),
})
const changeNotes = {
  kind: 'What changed, for programs.',
  breaking: 'Whether a caller may have to mend something.',
  message: 'The same for people.',
  parameter: 'The parameter that changed.',
  column: 'The column that changed.',
}
const breakingShape: z.ZodType<BreakingChange> = z.looseObject({
  endpoint: z.string(),
  kind: z.string(),
  message: z.string(),
})
const deployedShape: z.ZodType<Omit<DeployedEndpoint, 'changes'>> = z.object({
  name: z.string(),
  id: z.uuid(),
  action: z.enum(['created', 'updated', 'unchanged']),
  version: z.int().min(1),
})
const answerShape: z.ZodType<Omit<DeploymentView, 'endpoints'>> = z.object({ dry_run: z.boolean() })

const listOf = (name: string) => ({ type: 'array', items: { $ref: `#/components/schemas/${name}` } })

function withList(schema: ObjectSchema, field: string, list: object): ObjectSchema {
  return {
    ...schema,
    properties: { ...schema.properties, [field]: list as Record<string, unknown> },
    required: [...(schema.required ?? []), field],
  }
}

/** The shapes of deployments; an endpoint of one has the fields of any, and the version that it replaces. */
export function deploymentSchemas(endpoint: ObjectSchema) {
  const { properties } = schemaOf(z.object({ expected_version: expectedVersionShape }), 'input', {
    expected_version: 'The version that is there now, and that this replaces; 0: there must be none yet.',
  })
  return {
    Deployment: withFields(
      schemaOf(deploymentShape, 'input', {
        endpoints: 'What the endpoints shall be. Those that are not named stay as they are.',
        dry_run: 'Whether only to tell what would be done.',
        allow_breaking: 'Whether to deploy changes that break callers.',
      }),
      { endpoints: listOf('DeploymentEndpoint') },
    ),
    DeploymentEndpoint: { ...endpoint, properties: { ...endpoint.properties, ...properties } },
    DeploymentAnswer: withList(
      schemaOf(answerShape, 'output', { dry_run: 'Whether nothing was changed.' }),
      'endpoints',
      { ...listOf('DeployedEndpoint'), description: 'In the order in which they were sent.' },
    ),
    DeployedEndpoint: withList(
      schemaOf(deployedShape, 'output', {
        name: 'Of the endpoint.',
        id: 'Of the endpoint.',
        action: 'What became of it.',
        version: 'The version that it has then.',
      }),
      'changes',
      { ...listOf('ContractChange'), description: 'What its callers may notice.' },
    ),
    ContractChange: schemaOf(changeShape, 'output', changeNotes),
    BreakingChange: schemaOf(breakingShape, 'output', { endpoint: 'Name of the endpoint.', ...changeNotes }),
  } satisfies Record<string, ObjectSchema>
}

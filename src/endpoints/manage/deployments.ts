import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { deletedId, invalidParameter, nameTaken, versionConflict, WellheadError } from '../../base/errors.ts'
import { readShape } from '../../base/validation.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Warning } from '../../sql/warnings/warning.ts'
import { type EndpointDefinition, parseDefinition, writableFields } from '../definition/definition.ts'
import { type ContractChange, contractChanges, refuseBreaking } from './contract-changes.ts'
import type { WarningsOf } from './endpoint-warnings.ts'
import type { Endpoints, SavedEndpoint } from './endpoints.ts'
import {
  type CompileOptions,
  compileStored,
  noteShape,
  type StoredEndpoint,
  storedChange,
} from './stored-endpoint.ts'

interface DeploymentsOptions extends CompileOptions {
  catalog: Catalog
  endpoints: Endpoints
  warningsOf: WarningsOf
}

const maxDeployedEndpoints = 500

/** Zero means that the endpoint must not exist yet. */
export const expectedVersionShape = z.int().min(0)
const expectationShape = z.object({ expected_version: expectedVersionShape.optional() })

export const deploymentShape = z.strictObject({
  endpoints: z.array(z.record(z.string(), z.unknown())).max(maxDeployedEndpoints),
  dry_run: z.boolean().default(false).describe('Whether to report the changes without making them.'),
  allow_breaking: z.boolean().default(false).describe('Whether to deploy changes that break callers.'),
  note: noteShape.default('').describe('Why, for people. Stored with each new version.'),
})

export type DeploymentView = Awaited<ReturnType<Deployments['deploy']>>
export type DeployedEndpoint = DeploymentView['endpoints'][number]

interface DesiredEndpoint {
  definition: EndpointDefinition
  /** The SQL as it was sent, for the positions of errors. */
  typed: string
  current: SavedEndpoint | undefined
}

interface Step {
  name: string
  id: string
  action: 'created' | 'updated' | 'unchanged'
  /** After the deployment. */
  version: number
  changes: ContractChange[]
  warnings: Warning[]
  stored: StoredEndpoint
}

/** Another client can change the same endpoints at the same time, so a deployment without versions is retried. */
const maxAttempts = 5

const remedy = 'nothing was deployed. Send "allow_breaking": true to deploy anyway.'

export class Deployments {
  readonly #options: DeploymentsOptions

  constructor(options: DeploymentsOptions) {
    this.#options = options
  }

  async deploy(body: unknown, by: string) {
    const { endpoints, dry_run, allow_breaking, note } = readShape(deploymentShape, body)
    for (let attempt = 1; ; attempt++) {
      const steps = await this.#plan(endpoints, note)
      const view = {
        dry_run,
        endpoints: steps.map(({ stored: { columns }, ...shown }) => ({ ...shown, columns })),
      }
      if (dry_run) return view
      if (!allow_breaking) refuseBreaking(steps, remedy)
      const changes = steps.flatMap(({ action, stored, version }) =>
        action === 'unchanged' ? [] : [storedChange(stored, version)],
      )
      if (changes.length === 0) return view
      try {
        await this.#options.catalog.append(by, ...changes)
        return view
      } catch (error) {
        // Planning again reports which endpoint it is, if a version was expected.
        if (!versionConflict.is(error) || attempt >= maxAttempts) throw error
      }
    }
  }

  async #plan(sent: readonly Record<string, unknown>[], note: string): Promise<Step[]> {
    const desired = await Promise.all(
      sent.map((fields, index) => naming(fields, index, () => this.#read(fields))),
    )
    await this.#refuseTaken(desired)
    const steps: Step[] = []
    for (const [index, each] of desired.entries()) {
      steps.push(await naming(each.definition, index, () => this.#step(each, note)))
    }
    return steps
  }

  async #read({ expected_version: expected, ...sent }: Record<string, unknown>): Promise<DesiredEndpoint> {
    const { endpoints, catalog } = this.#options
    const fields = writableFields(sent)
    const byName = typeof fields.name === 'string' ? endpoints.findByName(fields.name) : undefined
    const definition = parseDefinition({ id: byName?.definition.id ?? randomUUID(), ...fields })
    const current = endpoints.findById(definition.id)
    if (
      !current &&
      fields.id !== undefined &&
      (await catalog.knownIds('endpoint', [definition.id])).size > 0
    ) {
      throw deletedId(definition.id)
    }
    const { expected_version: version } = readShape(expectationShape, { expected_version: expected })
    if (version !== undefined && version !== (current?.version ?? 0)) {
      throw versionConflict(String(version), current?.version ?? 0)
    }
    return { definition, typed: String(fields.query), current }
  }

  /** Endpoints can swap names within a deployment, but in the end every name and id must be unique. */
  async #refuseTaken(desired: readonly DesiredEndpoint[]): Promise<void> {
    for (const field of ['id', 'name'] as const) {
      const values = desired.map(({ definition }) => definition[field])
      const index = values.findIndex((value, at) => values.indexOf(value) < at)
      if (index < 0) continue
      const message = `Several endpoints have the ${field} ${values[index]}. Use each ${field} once.`
      throw invalidParameter(`endpoints.${index}.${field}`, message)
    }
    const ids = new Set(desired.map(({ definition }) => definition.id))
    for (const [index, { definition }] of desired.entries()) {
      const owner = this.#options.endpoints.findByName(definition.name)
      if (!owner || ids.has(owner.definition.id)) continue
      await naming(definition, index, () => {
        throw nameTaken(definition.name)
      })
    }
  }

  async #step({ definition, typed, current }: DesiredEndpoint, note: string): Promise<Step> {
    const stored = await compileStored(this.#options, definition, typed, {
      createdAt: current?.createdAt,
      note,
    })
    const warnings = await this.#options.warningsOf(definition, typed)
    const { id, name } = definition
    const step = { name, id, changes: [], warnings, stored }
    if (!current) return { ...step, action: 'created', version: 1 }
    const { version } = current
    // Parsed definitions have their fields in the same order.
    const isSame = JSON.stringify(definition) === JSON.stringify(current.definition)
    if (isSame) return { ...step, action: 'unchanged', version }
    const changes = contractChanges(current, stored)
    return { ...step, action: 'updated', version: version + 1, changes }
  }
}

async function naming<T>(
  { name }: { name?: unknown },
  index: number,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    const endpoint = typeof name === 'string' ? name : undefined
    const { parameter, ...details } = error.details
    throw new WellheadError(error, `${endpoint ?? `endpoints.${index}`}: ${error.message}`, {
      details: {
        ...details,
        ...(parameter !== undefined && { parameter: `endpoints.${index}.${parameter}` }),
        ...(endpoint !== undefined && { endpoint }),
      },
      ...(error.retryAfterSeconds !== undefined && { retryAfterSeconds: error.retryAfterSeconds }),
      cause: error.cause,
    })
  }
}

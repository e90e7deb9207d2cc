import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import {
  breakingChange,
  deletedId,
  invalidParameter,
  nameTaken,
  versionConflict,
  WellheadError,
} from '../../base/errors.ts'
import { readShape } from '../../base/validation.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import { fieldsOf, readFields, sameDefinition } from '../definition/given-fields.ts'
import { type CompilingParts, compileStored, storedChange } from '../definition/stored-endpoint.ts'
import type { ContractChange } from './contract-change.ts'
import { contractChanges } from './contract-changes.ts'
import type { Endpoints, SavedEndpoint, StoredEndpoint } from './endpoints.ts'

export interface DeploymentsOptions extends CompilingParts {
  catalog: Catalog
  endpoints: Endpoints
}

export const maxDeployedEndpoints = 500

/** Zero says that there must be none yet. */
export const expectedVersionShape = z.int().min(0)

export const deploymentShape = z.strictObject({
  endpoints: z.array(z.record(z.string(), z.unknown())).max(maxDeployedEndpoints),
  dry_run: z.boolean().default(false),
  allow_breaking: z.boolean().default(false),
})

export interface DeployedEndpoint {
  name: string
  id: string
  action: 'created' | 'updated' | 'unchanged'
  /** Of the endpoint when this is done. */
  version: number
  changes: ContractChange[]
}

export interface DeploymentView {
  dry_run: boolean
  endpoints: DeployedEndpoint[]
}

interface Wanted {
  definition: EndpointDefinition
  /** The SQL as it was sent, which the positions of errors are about. */
  typed: string
  current: SavedEndpoint | undefined
}

interface Step extends DeployedEndpoint {
  stored: StoredEndpoint
}

/** Others may change the same endpoints at the same time, and whoever expects no version does not mind. */
const maxAttempts = 5

/** Brings endpoints to what a set of definitions says: all of them, or none. */
export class Deployments {
  readonly #options: DeploymentsOptions

  constructor(options: DeploymentsOptions) {
    this.#options = options
  }

  async deploy(given: unknown, by: string): Promise<DeploymentView> {
    const { endpoints, dry_run, allow_breaking } = readShape(deploymentShape, given)
    for (let attempt = 1; ; attempt++) {
      const steps = await this.#plan(endpoints)
      const view = { dry_run, endpoints: steps.map(({ stored: _, ...shown }) => shown) }
      if (dry_run) return view
      if (!allow_breaking) refuseBreaking(steps)
      const changes = steps.flatMap(({ action, stored, version }) =>
        action === 'unchanged' ? [] : [storedChange(stored, version)],
      )
      if (changes.length === 0) return view
      try {
        await this.#options.catalog.append(by, ...changes)
        return view
      } catch (error) {
        // Planned again it is told which one it is, if a version was expected.
        if (!versionConflict.is(error) || attempt >= maxAttempts) throw error
      }
    }
  }

  async #plan(given: readonly Record<string, unknown>[]): Promise<Step[]> {
    const wanted = given.map((fields, index) => about(fields, index, () => this.#read(fields)))
    this.#refuseTaken(wanted)
    const steps: Step[] = []
    for (const [index, each] of wanted.entries()) {
      steps.push(await about(each.definition, index, () => this.#step(each)))
    }
    return steps
  }

  #read({ expected_version: expected, ...given }: Record<string, unknown>): Wanted {
    const { endpoints, catalog } = this.#options
    const fields = fieldsOf(given)
    const byName = typeof fields.name === 'string' ? endpoints.findByName(fields.name) : undefined
    const definition = readFields({ id: byName?.definition.id ?? randomUUID(), ...fields })
    const current = endpoints.findById(definition.id)
    if (!current && catalog.history('endpoint', definition.id).length > 0) throw deletedId(definition.id)
    const version = readShape(z.object({ expected_version: expectedVersionShape.optional() }), {
      expected_version: expected,
    }).expected_version
    if (version !== undefined && version !== (current?.version ?? 0)) {
      throw versionConflict(String(version), current?.version ?? 0)
    }
    return { definition, typed: String(fields.query), current }
  }

  /** Names may change hands within a deployment, but no two of all endpoints may have the same in the end. */
  #refuseTaken(wanted: readonly Wanted[]): void {
    const ids = new Set(wanted.map(({ definition }) => definition.id))
    if (ids.size < wanted.length) throw twice('id', wanted)
    if (new Set(wanted.map(({ definition }) => definition.name)).size < wanted.length) {
      throw twice('name', wanted)
    }
    for (const [index, { definition }] of wanted.entries()) {
      const owner = this.#options.endpoints.findByName(definition.name)
      if (owner && !ids.has(owner.definition.id)) {
        about(definition, index, () => {
          throw nameTaken(definition.name)
        })
      }
    }
  }

  async #step({ definition, typed, current }: Wanted): Promise<Step> {
    const stored = await compileStored(this.#options, definition, typed, current?.createdAt)
    const { id, name } = definition
    if (!current) return { name, id, action: 'created', version: 1, changes: [], stored }
    const { version } = current
    if (sameDefinition(definition, current.definition)) {
      return { name, id, action: 'unchanged', version, changes: [], stored }
    }
    const changes = contractChanges(current, stored)
    return { name, id, action: 'updated', version: version + 1, changes, stored }
  }
}

function twice(field: 'id' | 'name', wanted: readonly Wanted[]): WellheadError {
  const values = wanted.map(({ definition }) => definition[field])
  const index = values.findIndex((value, at) => values.indexOf(value) < at)
  return invalidParameter(
    `endpoints.${index}.${field}`,
    `Two of the endpoints have the ${field} ${values[index]}.`,
  )
}

function refuseBreaking(steps: readonly Step[]): void {
  const found = steps.flatMap(({ name, changes }) =>
    changes.filter(({ breaking }) => breaking).map((change) => ({ endpoint: name, ...change })),
  )
  if (found.length > 0) throw breakingChange(found)
}

/** An error of many endpoints at once has to say which one it is about. */
function about<T>(fields: { name?: unknown }, index: number, work: () => T): T {
  const retell = (error: unknown): never => {
    if (!(error instanceof WellheadError)) throw error
    const endpoint = typeof fields.name === 'string' ? fields.name : undefined
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
  try {
    const done = work()
    return done instanceof Promise ? (done.catch(retell) as T) : done
  } catch (error) {
    return retell(error)
  }
}

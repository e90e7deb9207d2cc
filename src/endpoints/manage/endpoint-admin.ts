import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { invalidParameter, invalidQuery, nameTaken, versionConflict } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type Catalog, lastWins, readBody } from '../../catalog/catalog.ts'
import type { CatalogRecord } from '../../catalog/catalog-replay.ts'
import { typedColumnShape } from '../../catalog/source.ts'
import type { Engine } from '../../engine/engine.ts'
import { type JsonPath, jsonPaths } from '../../sql/paths.ts'
import { withoutUnused } from '../../sql/with.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import type { KnownSources } from '../definition/endpoint.ts'
import { fieldsOf, readFields, sameDefinition } from '../definition/given-fields.ts'
import { type ShownParameter, shownParameters } from '../definition/shown-parameter.ts'
import { compileStored, storedChange } from '../definition/stored-endpoint.ts'
import { type Endpoints, type SavedEndpoint, type StoredEndpoint, storedEndpointShape } from './endpoints.ts'

export interface EndpointAdminOptions {
  engine: Engine
  catalog: Catalog
  endpoints: Endpoints
  sources: () => KnownSources
  clock: Clock
  log: Log
}

/** An endpoint as the management interface shows it. */
export type EndpointView = Omit<EndpointDefinition, 'parameters'> & {
  parameters: Record<string, ShownParameter>
  version: number
  columns: readonly { name: string; type: string }[]
  created_at: string
  updated_at: string
  updated_by: string
}

/** Who shipped what; the records of a person have the id of a token. */
const shippedBy = 'wellhead'

/** Makes, changes and deletes endpoints. Every change is checked, and is a new version. */
export class EndpointAdmin {
  readonly #options: EndpointAdminOptions

  constructor(options: EndpointAdminOptions) {
    this.#options = options
  }

  /** The shipped endpoints are put in once; what became of them since is the business of whoever changed them. */
  async seed(shipped: readonly EndpointDefinition[]): Promise<void> {
    const { catalog, log, endpoints } = this.#options
    const history = (id: string) =>
      catalog.history('endpoint', id) as readonly CatalogRecord<StoredEndpoint>[]
    const fresh = shipped.filter(({ id }) => history(id).length === 0)
    const free = fresh.filter(({ name }) => endpoints.find(name) === undefined)
    for (const { name } of fresh.filter((definition) => !free.includes(definition))) {
      log.warn({ endpoint: name }, 'a shipped endpoint is left out, since its name is taken')
    }
    const compiled = await Promise.all(free.map((definition) => this.#compileShipped(definition)))
    const stored = compiled.filter((body) => body !== undefined)
    const put = (...bodies: StoredEndpoint[]) =>
      catalog.append(shippedBy, ...bodies.map((body) => storedChange(body, 1)))
    const wasFirst = (error: unknown) => {
      if (!nameTaken.is(error) && !versionConflict.is(error)) throw error
    }
    if (stored.length > 0) {
      await put(...stored).catch(async (error) => {
        // Another service that starts at the same time has put in some of them.
        wasFirst(error)
        for (const body of stored) await put(body).catch(wasFirst)
      })
    }
    for (const definition of shipped) {
      const given = history(definition.id).findLast(({ changed_by }) => changed_by === shippedBy)
      const put = given && readBody(given, storedEndpointShape).definition
      if (put && !sameDefinition(put, definition) && endpoints.find(definition.id)) {
        log.info(
          { endpoint: definition.name },
          'the shipped file of this endpoint is newer than the one that was put in; it is not changed by itself',
        )
      }
    }
  }

  list(): EndpointView[] {
    return this.#options.endpoints.list().map(view)
  }

  get(reference: string): EndpointView {
    return view(this.#options.endpoints.get(reference))
  }

  /** Every version, newest first. */
  versions(reference: string): EndpointView[] {
    return this.#options.endpoints.versions(reference).map(view)
  }

  /** Paths of metadata that its query reads from JSON text and that a typed column could hold. */
  paths(reference: string): JsonPath[] {
    const { definition } = this.#options.endpoints.get(reference)
    const sources = this.#options.sources()
    // Callers of a sandbox choose which parts of its WITH clause are used.
    const query = definition.sandbox ? definition.query : withoutUnused(definition.query)
    return jsonPaths(query, sources.columnOf).filter(
      ({ source, path }) => sources.has(source) && typedColumnShape.shape.path.safeParse(path).success,
    )
  }

  async create(given: unknown, by: string): Promise<EndpointView> {
    const fields = fieldsOf(given)
    const definition = readFields({ id: randomUUID(), ...fields })
    if (this.#options.catalog.history('endpoint', definition.id).length > 0) throw nameTaken(definition.id)
    if (this.#options.endpoints.findByName(definition.name)) throw nameTaken(definition.name)
    const stored = await this.#compile(definition, String(fields.query))
    await this.#options.catalog.append(by, storedChange(stored, 1))
    return this.get(definition.id)
  }

  /** The whole definition anew; a field that is left out has its default again. */
  replace(
    reference: string,
    given: unknown,
    by: string,
    expected: number | undefined,
  ): Promise<EndpointView> {
    return this.#change(reference, expected, by, () => fieldsOf(given))
  }

  /** Only the fields that are given. */
  patch(reference: string, given: unknown, by: string, expected: number | undefined): Promise<EndpointView> {
    return this.#change(reference, expected, by, (current) => ({ ...current, ...fieldsOf(given) }))
  }

  restore(
    reference: string,
    version: number,
    by: string,
    expected: number | undefined,
  ): Promise<EndpointView> {
    const { endpoints } = this.#options
    const old = endpoints.version(reference, version)
    if (!old) throw invalidParameter('version', `There is no version ${version} of ${reference}.`)
    return this.#change(reference, expected, by, () => old.definition)
  }

  async delete(reference: string, by: string, expected: number | undefined): Promise<void> {
    await lastWins(expected, () => {
      const current = this.#options.endpoints.get(reference)
      expectVersion(current, expected)
      const { definition, columns, version, createdAt } = current
      const body = { definition, columns: [...columns], created_at: createdAt }
      return this.#options.catalog.append(by, { ...storedChange(body, version + 1), deleted: true })
    })
  }

  async #change(
    reference: string,
    expected: number | undefined,
    by: string,
    next: (current: EndpointDefinition) => Record<string, unknown>,
  ): Promise<EndpointView> {
    return lastWins(expected, async () => {
      const current = this.#options.endpoints.get(reference)
      expectVersion(current, expected)
      const { id } = current.definition
      const fields = next(current.definition)
      if (fields.id !== undefined && String(fields.id).toLowerCase() !== id) {
        throw invalidParameter('id', 'id cannot be changed.')
      }
      const definition = readFields({ ...fields, id })
      const stored = await this.#compile(definition, String(fields.query), current.createdAt)
      await this.#options.catalog.append(by, storedChange(stored, current.version + 1))
      return this.get(id)
    })
  }

  /** One that does not fit what is here, such as another source with the name of one of ours, stops no start. */
  async #compileShipped(definition: EndpointDefinition): Promise<StoredEndpoint | undefined> {
    try {
      return await this.#compile(definition, definition.query)
    } catch (error) {
      if (!invalidQuery.is(error)) throw error
      const { log } = this.#options
      log.warn({ endpoint: definition.name, reason: error.message }, 'a shipped endpoint is left out')
      return undefined
    }
  }

  #compile(definition: EndpointDefinition, typed: string, createdAt?: string): Promise<StoredEndpoint> {
    return compileStored(this.#options, definition, typed, createdAt)
  }
}

function expectVersion({ version }: SavedEndpoint, expected: number | undefined): void {
  if (expected !== undefined && expected !== version) throw versionConflict(String(expected), version)
}

function view({
  definition,
  version,
  columns,
  createdAt,
  updatedAt,
  updatedBy,
}: SavedEndpoint): EndpointView {
  return {
    ...definition,
    parameters: shownParameters(definition.parameters),
    version,
    columns,
    created_at: createdAt,
    updated_at: updatedAt,
    updated_by: updatedBy,
  }
}

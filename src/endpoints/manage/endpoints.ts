import { z } from 'zod'
import { endpointNotFound } from '../../base/errors.ts'
import { type Catalog, readBody } from '../../catalog/catalog.ts'
import type { CatalogRecord } from '../../catalog/catalog-replay.ts'
import { definitionShape } from '../definition/definition.ts'
import type { Endpoint, KnownSources } from '../definition/endpoint.ts'
import { bindQuery, type CompiledQuery } from '../definition/parameters.ts'
import { possibleSources } from '../definition/row-filters.ts'

/** What the catalog keeps of an endpoint. Its columns were learnt when it was saved, so a start asks nothing. */
export const storedEndpointShape = z.object({
  definition: definitionShape,
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  created_at: z.string(),
})

export type StoredEndpoint = z.output<typeof storedEndpointShape>

export interface SavedEndpoint extends Endpoint {
  readonly createdAt: string
  readonly updatedAt: string
  readonly updatedBy: string
}

/** The endpoints that can be called, by name and by id, as the catalog has them now. */
export class Endpoints {
  readonly #catalog: Catalog
  readonly #sources: () => KnownSources
  readonly #byName = new Map<string, SavedEndpoint>()
  readonly #byId = new Map<string, SavedEndpoint>()
  readonly #onChange: ((id: string) => void)[] = []

  constructor(catalog: Catalog, sources: () => KnownSources) {
    this.#catalog = catalog
    this.#sources = sources
    catalog.onChange('endpoint', (changed) => this.#take(changed))
  }

  /** Called with the id of whatever is no longer as it was. */
  onChange(listener: (id: string) => void): void {
    this.#onChange.push(listener)
  }

  list(): SavedEndpoint[] {
    return [...this.#byName.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
  }

  /** A name is looked for first: one that has the form of a UUID is still a name. */
  find(reference: string): SavedEndpoint | undefined {
    return this.#byName.get(reference) ?? this.#byId.get(reference.toLowerCase())
  }

  findByName(name: string): SavedEndpoint | undefined {
    return this.#byName.get(name)
  }

  findById(id: string): SavedEndpoint | undefined {
    return this.#byId.get(id)
  }

  get(reference: string): SavedEndpoint {
    const endpoint = this.find(reference)
    if (!endpoint) throw endpointNotFound(reference)
    return endpoint
  }

  /** Names of the endpoints whose SQL may read a column of a source. */
  readersOf(source: string, column: string): string[] {
    return this.list().flatMap(({ definition }) => {
      // A path that is read through the column is in the query as a path, and goes on without it.
      const words = possibleSources(definition.query)
      return words.has(source) && words.has(column) ? definition.name : []
    })
  }

  /** Every version, newest first. */
  versions(reference: string): SavedEndpoint[] {
    const { id } = this.get(reference).definition
    return this.#catalog
      .history('endpoint', id)
      .map((record) => read(record, this.#sources))
      .sort((a, b) => b.version - a.version)
  }

  /** One version, the current one or an older one. */
  version(reference: string, version: number): SavedEndpoint | undefined {
    const current = this.get(reference)
    if (current.version === version) return current
    const record = this.#catalog.history('endpoint', current.definition.id).find((r) => r.version === version)
    return record && read(record, this.#sources)
  }

  #take(changed: readonly CatalogRecord[]): void {
    // Everything is read before anything changes: a record that cannot be read changes nothing.
    const readings = changed.map((record) => ({ record, endpoint: read(record, this.#sources) }))
    for (const { endpoint } of readings) {
      const before = this.#byId.get(endpoint.definition.id)
      if (before && this.#byName.get(before.definition.name) === before) {
        this.#byName.delete(before.definition.name)
      }
      this.#byId.delete(endpoint.definition.id)
    }
    for (const { record, endpoint } of readings) {
      if (!record.deleted) {
        this.#byName.set(endpoint.definition.name, endpoint)
        this.#byId.set(endpoint.definition.id, endpoint)
      }
      for (const listener of this.#onChange) listener(endpoint.definition.id)
    }
  }
}

function read(record: CatalogRecord, sources: () => KnownSources): SavedEndpoint {
  const { definition, columns, created_at } = readBody(record, storedEndpointShape)
  const compile = (current: KnownSources) => ({
    sources: current,
    compiled: bindQuery(definition.query, definition.parameters, current.columnOf),
  })
  let known: { sources: KnownSources; compiled: CompiledQuery } = compile(sources())
  return {
    definition,
    version: record.version,
    // Once per version, and again when the columns of a source change.
    get compiled() {
      const current = sources()
      if (known.sources !== current) known = compile(current)
      return known.compiled
    },
    columns,
    createdAt: created_at,
    updatedAt: record.changed_at,
    updatedBy: record.changed_by,
  }
}

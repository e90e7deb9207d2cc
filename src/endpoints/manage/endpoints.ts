import { LRUCache } from 'lru-cache'
import { endpointNotFound } from '../../base/errors.ts'
import { closestName } from '../../base/text/closest-name.ts'
import { type Catalog, readBody } from '../../catalog/catalog.ts'
import type { CatalogRecord } from '../../catalog/catalog-state.ts'
import { readsColumn } from '../../sql/column-readers.ts'
import type { Endpoint, KnownSources } from '../definition/endpoint.ts'
import { bindQuery, type CompiledQuery } from '../definition/parameters.ts'
import { resultTag } from '../definition/result-tag.ts'
import { storedEndpointShape } from './stored-endpoint.ts'

export interface SavedEndpoint extends Endpoint {
  readonly createdAt: string
  readonly updatedAt: string
  readonly updatedBy: string
  readonly note: string
}

/** Receives the id of an endpoint, and whether it returns the same results as before. */
type ChangeListener = (id: string, isSameResult: boolean) => void

const maxOldBytes = 8 * 2 ** 20

export class Endpoints {
  readonly #catalog: Catalog
  readonly #sources: () => KnownSources
  readonly #byName = new Map<string, SavedEndpoint>()
  readonly #byId = new Map<string, SavedEndpoint>()
  /** Old versions that were requested lately. A version never changes. */
  readonly #old = new LRUCache<string, SavedEndpoint>({
    maxSize: maxOldBytes,
    sizeCalculation: ({ definition }) => definition.query.length + 4096,
  })
  readonly #onChange: ChangeListener[] = []

  constructor(catalog: Catalog, sources: () => KnownSources) {
    this.#catalog = catalog
    this.#sources = sources
    catalog.onChange('endpoint', (changed) => this.#take(changed))
  }

  onChange(listener: ChangeListener): void {
    this.#onChange.push(listener)
  }

  list(): SavedEndpoint[] {
    return [...this.#byName.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
  }

  /** Names come first: one that looks like a UUID is still a name. */
  find(reference: string): SavedEndpoint | undefined {
    return this.#byName.get(reference) ?? this.#byId.get(reference.toLowerCase())
  }

  findByName(name: string): SavedEndpoint | undefined {
    return this.#byName.get(name)
  }

  findById(id: string): SavedEndpoint | undefined {
    return this.#byId.get(id)
  }

  /** The error names the closest endpoint, so only those who can see all endpoints may receive it. */
  get(reference: string): SavedEndpoint {
    const endpoint = this.find(reference)
    if (!endpoint) throw endpointNotFound(reference, closestName(reference, this.#byName.keys()))
    return endpoint
  }

  readersOf(source: string, column: string): string[] {
    return this.list().flatMap(({ definition: { name, query } }) =>
      readsColumn(query, source, column) ? name : [],
    )
  }

  /** Every version that is kept, newest first. */
  async versions(reference: string): Promise<SavedEndpoint[]> {
    const records = await this.#catalog.versions('endpoint', this.get(reference).definition.id)
    return records.map((record) => read(record, this.#sources)).reverse()
  }

  async version(reference: string, version: number): Promise<SavedEndpoint | undefined> {
    const current = this.get(reference)
    if (current.version === version) return current
    const { id } = current.definition
    const key = `${id} ${version}`
    const known = this.#old.get(key)
    if (known) return known
    const record = await this.#catalog.version('endpoint', id, version)
    const old = record && read(record, this.#sources)
    if (old) this.#old.set(key, old)
    return old
  }

  #take(changed: readonly CatalogRecord[]): void {
    // Read all records before any change: a record that cannot be read must change nothing.
    const readings = changed.map((record) => {
      const endpoint = read(record, this.#sources)
      return { record, endpoint, before: this.#byId.get(endpoint.definition.id) }
    })
    for (const { endpoint, before } of readings) {
      if (before && this.#byName.get(before.definition.name) === before) {
        this.#byName.delete(before.definition.name)
      }
      this.#byId.delete(endpoint.definition.id)
    }
    for (const { record, endpoint, before } of readings) {
      if (!record.deleted) {
        this.#byName.set(endpoint.definition.name, endpoint)
        this.#byId.set(endpoint.definition.id, endpoint)
      }
      const isSameResult =
        !record.deleted && before !== undefined && resultTag(before) === resultTag(endpoint)
      for (const listener of this.#onChange) listener(endpoint.definition.id, isSameResult)
    }
  }
}

function read(record: CatalogRecord, sources: () => KnownSources): SavedEndpoint {
  const { definition, columns, created_at, note } = readBody(record, storedEndpointShape)
  const compile = (current: KnownSources) => ({
    sources: current,
    compiled: bindQuery(definition.query, definition.parameters, current),
  })
  let latest: { sources: KnownSources; compiled: CompiledQuery } | undefined
  return {
    definition,
    version: record.version,
    // Compiled when it is first needed, and again when the typed columns of a source change.
    get compiled() {
      const current = sources()
      if (latest?.sources !== current) latest = compile(current)
      return latest.compiled
    },
    columns,
    createdAt: created_at,
    updatedAt: record.changed_at,
    updatedBy: record.changed_by,
    note,
  }
}

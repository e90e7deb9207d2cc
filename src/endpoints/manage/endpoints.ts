import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { endpointNotFound } from '../../base/errors.ts'
import { closestName } from '../../base/text/closest-name.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { type CatalogRecord, readBody } from '../../catalog/catalog-state.ts'
import { typedColumnShape } from '../../catalog/source.ts'
import { readerOf, SavedItems } from '../../definitions/saved-items.ts'
import { readsAudit } from '../../sql/audit-source.ts'
import { type JsonPath, jsonPaths } from '../../sql/paths.ts'
import { withoutUnused } from '../../sql/pruned-sql.ts'
import { definitionShape, isReserved } from '../definition/definition.ts'
import type { Endpoint, KnownSources } from '../definition/endpoint.ts'
import { bindQuery, type CompiledQuery } from '../definition/parameters.ts'

/** Records of earlier releases lack these fields. Their endpoints return what they always did. */
function withEarlierDefaults(definition: unknown): unknown {
  const { name } = definition as { name: unknown }
  return { timestamps: 'logflare', published: !isReserved(String(name)), ...(definition as object) }
}

const readDefinition = readerOf(z.preprocess(withEarlierDefaults, definitionShape))

/** Stored with each version, so that a start need not ask the engine. */
const storedColumns = z.object({ columns: z.array(z.object({ name: z.string(), type: z.string() })) })

export type SavedEndpoint = Endpoint & ReturnType<typeof read>

const maxOldBytes = 8 * 2 ** 20

export class Endpoints extends SavedItems<SavedEndpoint> {
  readonly #catalog: Catalog
  readonly #sources: () => KnownSources
  /** Old versions that were requested lately. A version never changes. */
  readonly #old = new LRUCache<string, SavedEndpoint>({
    maxSize: maxOldBytes,
    sizeCalculation: ({ definition }) => definition.query.length + 4096,
  })

  constructor(catalog: Catalog, sources: () => KnownSources) {
    super(catalog, 'endpoint', (record) => read(record, sources))
    this.#catalog = catalog
    this.#sources = sources
  }

  /** The error names the closest endpoint, so only those who can see all endpoints may receive it. */
  get(reference: string): SavedEndpoint {
    const endpoint = this.find(reference)
    if (!endpoint) throw endpointNotFound(reference, closestName(reference, this.names()))
    return endpoint
  }

  /** Paths of metadata that its query reads from JSON text, and that a typed column could hold. */
  paths(reference: string): JsonPath[] {
    const { definition } = this.get(reference)
    const sources = this.#sources()
    // In a sandbox, callers choose which parts of the WITH clause are used.
    const query = definition.sandbox ? definition.query : withoutUnused(definition.query)
    return jsonPaths(query, sources.typedColumns).filter(
      ({ source, path }) => sources.has(source) && typedColumnShape.shape.path.safeParse(path).success,
    )
  }

  async version(reference: string, version: number): Promise<SavedEndpoint | undefined> {
    const current = this.get(reference)
    if (current.version === version) return current
    const { id } = current.definition
    const key = `${id} ${version}`
    const known = this.#old.get(key)
    if (known) return known
    const record = await this.#catalog.log.version('endpoint', id, version)
    const old = record && this.read(record)
    if (old) this.#old.set(key, old)
    return old
  }
}

function read(record: CatalogRecord, sources: () => KnownSources) {
  const saved = readDefinition(record)
  const { query, parameters } = saved.definition
  let latest: { sources: KnownSources; compiled: CompiledQuery } | undefined
  return {
    ...saved,
    ...readBody(record, storedColumns),
    // Compiled when it is first needed, and again when the typed columns of a source change.
    get compiled() {
      const current = sources()
      if (latest?.sources !== current) {
        latest = { sources: current, compiled: bindQuery(query, parameters, current) }
      }
      return latest.compiled
    },
    get readsAudit() {
      return readsAudit(saved.definition)
    },
  }
}

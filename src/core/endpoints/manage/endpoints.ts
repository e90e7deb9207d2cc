import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { invalidQuery } from '../../base/errors.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { type CatalogRecord, type RecordKind, readBody } from '../../catalog/catalog-state.ts'
import { Items } from '../../catalog/items.ts'
import { typedColumnShape } from '../../catalog/source.ts'
import { readerOf } from '../../definitions/kind.ts'
import { hasMissingKinds, missingKindOf } from '../../definitions/shared-names.ts'
import { mayRead } from '../../definitions/visibility.ts'
import { type JsonPath, jsonPaths } from '../../sql/paths.ts'
import { queryOf } from '../../sql/query.ts'
import { definitionShape } from '../definition/definition.ts'
import type { Endpoint, KnownSources } from '../definition/endpoint.ts'
import {
  type InnerDefinition,
  innerDefinitions,
  type KnownEndpoints,
  nothingExpanded,
  possibleEndpoints,
} from '../definition/inner-endpoints.ts'
import { bindQuery, type CompiledQuery } from '../definition/parameters.ts'

/** Endpoints that were saved before the field `timestamps` existed keep `logflare`. */
function withEarlierDefaults(definition: unknown): unknown {
  return { timestamps: 'logflare', ...(definition as object) }
}

const readDefinition = readerOf(z.preprocess(withEarlierDefaults, definitionShape))

/** Stored with each version, so that a start need not ask the engine. */
const storedColumns = z.object({ columns: z.array(z.object({ name: z.string(), type: z.string() })) })

export type SavedEndpoint = Endpoint & ReturnType<typeof read>

const maxOldBytes = 8 * 2 ** 20

export class Endpoints extends Items<SavedEndpoint> {
  readonly #catalog: Catalog
  readonly #sources: () => KnownSources
  /** Old versions that were requested lately. A version never changes. */
  readonly #old = new LRUCache<string, SavedEndpoint>({
    maxSize: maxOldBytes,
    sizeCalculation: ({ definition }) => definition.query.length + 4096,
  })

  constructor(catalog: Catalog, kind: RecordKind, sources: () => KnownSources) {
    super(catalog, kind, (record) => read(record, sources, this.readable, catalog))
    this.#catalog = catalog
    this.#sources = sources
  }

  /** What other endpoints can read: all that do not read the audit, which is for admins alone. */
  readonly readable: KnownEndpoints = {
    named: (name) => {
      const definition = this.named(name)?.definition
      return definition && mayRead(undefined, definition) ? definition : undefined
    },
    names: () => this.list().flatMap(({ name, definition }) => (mayRead(undefined, definition) ? name : [])),
  }

  /** Endpoints whose queries read others of these names, also through further ones. */
  readersOf(names: readonly string[]): ReadonlySet<SavedEndpoint> {
    const known = new Set(names)
    const readers = new Set<SavedEndpoint>()
    const nested = this.list().filter(({ definition }) => definition.query.includes('`'))
    for (let size = -1; size !== readers.size; ) {
      size = readers.size
      for (const item of nested) {
        if (!possibleEndpoints(item.definition.query).some((name) => known.has(name))) continue
        readers.add(item)
        known.add(item.name)
      }
    }
    return readers
  }

  /** Paths of metadata that its query reads from JSON text, and that a typed column could hold. */
  paths({ definition }: SavedEndpoint): JsonPath[] {
    const sources = this.#sources()
    // In a sandbox, callers choose which parts of the WITH clause are used.
    const query = queryOf(definition.query)
    const used = definition.sandbox ? query : query.withoutUnused
    return jsonPaths(used, sources.typedColumns).filter(
      ({ source, path }) => sources.has(source) && typedColumnShape.shape.path.safeParse(path).success,
    )
  }

  async version(current: SavedEndpoint, version: number): Promise<SavedEndpoint | undefined> {
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

function read(
  record: CatalogRecord,
  sources: () => KnownSources,
  endpoints: KnownEndpoints,
  catalog: Catalog,
) {
  const saved = readDefinition(record)
  const { name, query, parameters } = saved.definition
  let latest: { sources: KnownSources; compiled: CompiledQuery } | undefined
  const compiledOrBroken = (current: KnownSources): CompiledQuery => {
    try {
      const nesting = { path: [name], expanded: nothingExpanded() }
      return refusedIfUnread(query, bindQuery(query, parameters, { ...current, endpoints }, nesting), catalog)
    } catch (error) {
      // An endpoint that it reads was changed although this breaks it. Requests say so, and lists still show it.
      const inner = new Map(innerDefinitions(query, endpoints))
      return {
        ...bindQuery(query, parameters, current),
        inner,
        check: () => {
          throw error
        },
      }
    }
  }
  return {
    ...saved,
    ...readBody(record, storedColumns),
    // Compiled when it is first needed, and again when a typed column of a source or an endpoint that it reads changes.
    get compiled() {
      const current = sources()
      const isSame = ([inner, definition]: [string, InnerDefinition]) => endpoints.named(inner) === definition
      if (latest?.sources !== current || ![...latest.compiled.inner].every(isSame)) {
        latest = { sources: current, compiled: compiledOrBroken(current) }
      }
      return latest.compiled
    },
  }
}

/** The engine has the rows of a feature that this build lacks, and would return them. */
function refusedIfUnread(query: string, compiled: CompiledQuery, catalog: Catalog): CompiledQuery {
  if (!hasMissingKinds(catalog)) return compiled
  const queries = [query, ...[...compiled.inner.values()].map((inner) => inner.query)]
  const names = queries.flatMap((sql) => queryOf(sql).selects.flatMap(({ tables }) => tables))
  for (const { name = '' } of names) {
    const kind = missingKindOf(catalog, name)
    if (kind === undefined) continue
    return {
      ...compiled,
      check: () => {
        throw invalidQuery(`The query reads the ${kind} ${name}, and this service lacks the feature for it.`)
      },
    }
  }
  return compiled
}

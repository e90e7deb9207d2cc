import { randomUUID } from 'node:crypto'
import { invalidParameter, invalidQuery, nameTaken, versionConflict } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type Catalog, expectVersion, lastWins } from '../../catalog/catalog.ts'
import { typedColumnShape } from '../../catalog/source.ts'
import { type JsonPath, jsonPaths } from '../../sql/paths.ts'
import { withoutUnused } from '../../sql/sent-sql.ts'
import type { Warning } from '../../sql/warnings/warning.ts'
import {
  changedDefinition,
  type EndpointDefinition,
  parseDefinition,
  shippedBy,
  writableFields,
} from '../definition/definition.ts'
import { shownParameters } from '../definition/parameter-declaration.ts'
import { contractChanges, refuseBreaking } from './contract-changes.ts'
import type { WarningsOf } from './endpoint-warnings.ts'
import type { Endpoints, SavedEndpoint } from './endpoints.ts'
import { type CompileOptions, compileStored, type StoredEndpoint, storedChange } from './stored-endpoint.ts'

interface EndpointAdminOptions extends CompileOptions {
  catalog: Catalog
  endpoints: Endpoints
  warningsOf: WarningsOf
  log: Log
}

export type EndpointView = ReturnType<typeof view>

export interface ChangeTerms {
  by: string
  /** Version that the change is based on. Undefined: any version. */
  expected: number | undefined
  breaking: boolean
  note: string
}

const remedy = 'nothing was changed. Set breaking=true to change the endpoint anyway.'

export type ChangedEndpoint = EndpointView & { warnings: Warning[] }

export class EndpointAdmin {
  readonly #options: EndpointAdminOptions

  constructor(options: EndpointAdminOptions) {
    this.#options = options
  }

  /** Stores each shipped endpoint once. Later versions of its file do not replace it. */
  async seed(shipped: readonly EndpointDefinition[]): Promise<void> {
    const { catalog } = this.#options
    const absent = shipped.filter(({ id }) => !this.#options.endpoints.findById(id))
    const known = await catalog.knownIds(
      'endpoint',
      absent.map(({ id }) => id),
    )
    const missing = absent.filter(({ id }) => !known.has(id))
    const compiled = await Promise.all(missing.map((definition) => this.#compileShipped(definition)))
    const stored = compiled.filter((body) => body !== undefined)
    const store = (...bodies: StoredEndpoint[]) =>
      catalog.append(shippedBy, ...bodies.map((body) => storedChange(body, 1)))
    const ignoreConflict = (error: unknown) => {
      if (!nameTaken.is(error) && !versionConflict.is(error)) throw error
    }
    if (stored.length > 0) {
      await store(...stored).catch(async (error) => {
        // Another service that starts at the same time has stored some of them.
        ignoreConflict(error)
        for (const body of stored) await store(body).catch(ignoreConflict)
      })
    }
  }

  list(): EndpointView[] {
    return this.#options.endpoints.list().map(view)
  }

  get(reference: string): EndpointView {
    return view(this.#options.endpoints.get(reference))
  }

  async versions(reference: string): Promise<EndpointView[]> {
    return (await this.#options.endpoints.versions(reference)).map(view)
  }

  /** Paths of metadata that its query reads from JSON text, and that a typed column could hold. */
  paths(reference: string): JsonPath[] {
    const { definition } = this.#options.endpoints.get(reference)
    const sources = this.#options.sources()
    // In a sandbox, callers choose which parts of the WITH clause are used.
    const query = definition.sandbox ? definition.query : withoutUnused(definition.query)
    return jsonPaths(query, sources.typedColumns).filter(
      ({ source, path }) => sources.has(source) && typedColumnShape.shape.path.safeParse(path).success,
    )
  }

  async create(body: unknown, { by, note }: Pick<ChangeTerms, 'by' | 'note'>): Promise<ChangedEndpoint> {
    const fields = writableFields(body)
    const definition = parseDefinition({ id: randomUUID(), ...fields })
    // An id that the service chose is new.
    const known = fields.id === undefined ? [] : [definition.id]
    if ((await this.#options.catalog.knownIds('endpoint', known)).size > 0) throw nameTaken(definition.id)
    if (this.#options.endpoints.findByName(definition.name)) throw nameTaken(definition.name)
    const stored = await compileStored(this.#options, definition, String(fields.query), { note })
    await this.#options.catalog.append(by, storedChange(stored, 1))
    return this.#changed(definition, String(fields.query))
  }

  async restore(reference: string, version: number, terms: ChangeTerms): Promise<ChangedEndpoint> {
    const old = await this.#options.endpoints.version(reference, version)
    if (!old) throw invalidParameter('version', `${reference} has no version ${version}.`)
    return this.change(reference, old.definition, 'default', terms)
  }

  async delete(reference: string, by: string, expected: number | undefined): Promise<void> {
    await lastWins(expected, () => {
      const current = this.#options.endpoints.get(reference)
      expectVersion(current, expected)
      const { id, name } = current.definition
      // The least that can be read as an endpoint.
      const body = { definition: { id, name, query: 'SELECT 1' }, columns: [], created_at: current.createdAt }
      const version = current.version + 1
      return this.#options.catalog.append(by, { kind: 'endpoint', id, version, deleted: true, body })
    })
  }

  /** Omitted fields stay as they are, or get their defaults. */
  change(
    reference: string,
    body: unknown,
    omitted: 'stay' | 'default',
    { by, expected, breaking, note }: ChangeTerms,
  ): Promise<ChangedEndpoint> {
    return lastWins(expected, async () => {
      const current = this.#options.endpoints.get(reference)
      expectVersion(current, expected)
      const kept = omitted === 'stay' ? current.definition : {}
      const fields: Record<string, unknown> = { ...kept, ...writableFields(body) }
      const definition = changedDefinition(current.definition, fields)
      const owner = this.#options.endpoints.findByName(definition.name)
      if (owner && owner.definition.id !== definition.id) throw nameTaken(definition.name)
      const { createdAt } = current
      const stored = await compileStored(this.#options, definition, String(fields.query), { createdAt, note })
      if (!breaking) {
        refuseBreaking([{ name: current.definition.name, changes: contractChanges(current, stored) }], remedy)
      }
      await this.#options.catalog.append(by, storedChange(stored, current.version + 1))
      return this.#changed(definition, String(fields.query))
    })
  }

  async #changed(definition: EndpointDefinition, typed: string): Promise<ChangedEndpoint> {
    return { ...this.get(definition.id), warnings: await this.#options.warningsOf(definition, typed) }
  }

  /** A shipped endpoint that does not fit the stored ones and their sources is skipped, so that the service starts. */
  async #compileShipped(definition: EndpointDefinition): Promise<StoredEndpoint | undefined> {
    const { log, endpoints } = this.#options
    try {
      if (endpoints.find(definition.name)) throw nameTaken(definition.name)
      return await compileStored(this.#options, definition, definition.query, { note: '' })
    } catch (error) {
      if (!invalidQuery.is(error) && !nameTaken.is(error)) throw error
      log.warn({ endpoint: definition.name, reason: error.message }, 'a shipped endpoint is skipped')
      return undefined
    }
  }
}

function view(endpoint: SavedEndpoint) {
  return {
    ...endpoint.definition,
    parameters: shownParameters(endpoint.definition.parameters),
    version: endpoint.version,
    columns: endpoint.columns,
    created_at: endpoint.createdAt,
    updated_at: endpoint.updatedAt,
    updated_by: endpoint.updatedBy,
    note: endpoint.note,
  }
}

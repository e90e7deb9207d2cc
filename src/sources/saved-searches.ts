import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Author } from '../base/author.ts'
import { nameTaken, resourceNotFound } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import { type Catalog, lastWins } from '../catalog/catalog.ts'
import { type CatalogRecord, readBody } from '../catalog/catalog-state.ts'
import type { Sources } from '../catalog/sources.ts'
import { readQuery } from './search/parse-query.ts'

export const newSearchShape = z.strictObject({
  name: z.string().trim().min(1).max(100).describe('Unique among the searches of a source.'),
  source: z.string().min(1).max(128).describe('Name of the source.'),
  query: z.string().default('').describe('In the search language.'),
  project: z
    .string()
    .max(1000)
    .nullable()
    .default(null)
    .describe('Only entries of this project. Null: all projects.'),
  range: z
    .string()
    .max(200)
    .nullable()
    .default(null)
    .describe('The time range, as the page that saved it writes it. Null: its default.'),
})

export type SavedSearch = ReturnType<typeof searchOf>

export class SavedSearches {
  readonly #catalog: Catalog
  readonly #sources: Sources

  readonly #byId = new Map<string, { search: SavedSearch; version: number }>()

  constructor(catalog: Catalog, sources: Sources) {
    this.#catalog = catalog
    this.#sources = sources
    catalog.onChange('search', (changed) => {
      const readings = changed.map((record) => ({ record, search: searchOf(record) }))
      for (const { record, search } of readings) {
        if (record.deleted) this.#byId.delete(record.id)
        else this.#byId.set(record.id, { search, version: record.version })
      }
    })
  }

  list(): SavedSearch[] {
    const saved = [...this.#byId.values()].map(({ search }) => search)
    return saved.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  }

  async create(body: unknown, by: Author): Promise<SavedSearch> {
    const sent = readShape(newSearchShape, body)
    const source = this.#sources.get(sent.source, () => true)
    readQuery(sent.query, source.columns)
    const search = { ...sent, source: source.name }
    if (this.list().some((other) => keyOf(other) === keyOf(search))) throw nameTaken(search.name)
    const id = randomUUID()
    await this.#catalog.append(by, { kind: 'search', id, version: 1, deleted: false, body: search })
    return this.#get(id).search
  }

  async delete(id: string, by: Author): Promise<void> {
    await lastWins(undefined, () => {
      const { version, search } = this.#get(id)
      const body = { source: search.source, name: search.name }
      return this.#catalog.append(by, { kind: 'search', id, version: version + 1, deleted: true, body })
    })
  }

  #get(id: string) {
    const saved = this.#byId.get(id)
    if (!saved) throw resourceNotFound(`No saved search has the id "${id}"`)
    return saved
  }
}

function searchOf(record: CatalogRecord) {
  const { id, changed_at: created_at, changed_by: created_by } = record
  return { id, ...readBody(record, newSearchShape), created_at, created_by }
}

function keyOf({ source, name }: Pick<SavedSearch, 'source' | 'name'>): string {
  return `${source}: ${name}`
}

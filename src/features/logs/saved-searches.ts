import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Author } from '../../core/base/author.ts'
import { nameTaken, resourceNotFound } from '../../core/base/errors.ts'
import { readShape } from '../../core/base/validation.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import { type SavedRecord, SavedRecords } from '../../core/definitions/saved-records.ts'
import { mayRead, type Reader, refuseAudit } from '../../core/definitions/visibility.ts'
import { readQuery } from '../../core/search/parse-query.ts'

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

export type SavedSearch = ReturnType<typeof viewOf>

export class SavedSearches {
  readonly #searches: SavedRecords<z.output<typeof newSearchShape>>
  readonly #sources: Sources

  constructor(catalog: Catalog, sources: Sources) {
    const namesOf = ({ source, name }: Record<string, unknown>) => [`${source}: ${name}`]
    const kind = { name: 'search', plural: 'saved searches', most: 500, namesOf }
    this.#searches = new SavedRecords(catalog, kind, newSearchShape)
    this.#sources = sources
  }

  list(reader: Reader): SavedSearch[] {
    const saved = this.#searches.values().map(viewOf)
    const readable = saved.filter(({ source }) => mayRead(reader, { source }))
    return readable.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  }

  async create(body: unknown, by: Author): Promise<SavedSearch> {
    const sent = readShape(newSearchShape, body)
    const source = this.#sources.get(sent.source, () => true)
    refuseAudit(by, { source: source.name })
    readQuery(sent.query, source.columns)
    const search = { ...sent, source: source.name }
    if (this.list(by).some((other) => keyOf(other) === keyOf(search))) throw nameTaken(search.name)
    const id = randomUUID()
    await this.#searches.put(id, by, () => search)
    return viewOf(this.#get(id, by))
  }

  delete(id: string, by: Author): Promise<void> {
    return this.#searches.delete(
      () => [this.#get(id, by)],
      by,
      ({ source, name }) => ({ source, name }),
    )
  }

  #get(id: string, reader: Reader) {
    const saved = this.#searches.find(id)
    if (!saved || !mayRead(reader, { source: saved.body.source }))
      throw resourceNotFound(`No saved search has the id "${id}"`)
    return saved
  }
}

function viewOf({ id, body, changed_at, changed_by }: SavedRecord<z.output<typeof newSearchShape>>) {
  return { id, ...body, created_at: changed_at, created_by: changed_by }
}

function keyOf({ source, name }: Pick<SavedSearch, 'source' | 'name'>): string {
  return `${source}: ${name}`
}

import type { z } from 'zod'
import type { Author } from '../base/author.ts'
import { type Catalog, lastWins } from '../catalog/catalog.ts'
import { type CatalogKind, type CatalogRecord, readBody } from '../catalog/catalog-state.ts'

export type SavedRecord<Body> = Pick<
  CatalogRecord<Body>,
  'id' | 'version' | 'changed_at' | 'changed_by' | 'body'
>

/** Records of a kind that is not written in files: tokens, people, links and saved searches. */
export class SavedRecords<Body> {
  readonly #catalog: Catalog
  readonly #kind: CatalogKind
  readonly #byId = new Map<string, SavedRecord<Body>>()

  constructor(
    catalog: Catalog,
    kind: CatalogKind,
    shape: z.ZodType<Body>,
    onChange: (record: SavedRecord<Body>, deleted: boolean, before: Body | undefined) => void = () => {},
  ) {
    this.#catalog = catalog
    this.#kind = kind
    catalog.onChange(kind, (changed) => {
      // Read all records before any change: a record that cannot be read must change nothing.
      const bodies = changed.map((record) => readBody(record, shape))
      for (const [index, { id, version, changed_at, changed_by, deleted }] of changed.entries()) {
        const record = { id, version, changed_at, changed_by, body: bodies[index] as Body }
        const before = this.#byId.get(id)?.body
        if (deleted) this.#byId.delete(id)
        else this.#byId.set(id, record)
        onChange(record, deleted, before)
      }
    })
  }

  list(): SavedRecord<Body>[] {
    return [...this.#byId.values()]
  }

  find(id: string): SavedRecord<Body> | undefined {
    return this.#byId.get(id.toLowerCase())
  }

  /** Creates or changes a record. Others may change it at the same time: then it is changed again. */
  put(id: string, by: Author, next: (current: Body | undefined) => Body): Promise<void> {
    return lastWins(undefined, () => {
      const current = this.find(id)
      const record = { kind: this.#kind, id: id.toLowerCase(), deleted: false, body: next(current?.body) }
      return this.#catalog.append(by, { ...record, version: (current?.version ?? 0) + 1 })
    })
  }

  /** Takes what is left of the body, which must have its shape. */
  delete(
    records: () => readonly SavedRecord<Body>[],
    by: Author,
    left: (body: Body) => object,
  ): Promise<void> {
    return lastWins(undefined, async () => {
      const changes = records().map(({ id, version, body }) => {
        return { kind: this.#kind, id, version: version + 1, deleted: true, body: left(body) }
      })
      if (changes.length > 0) await this.#catalog.append(by, ...changes)
    })
  }
}

import type { z } from 'zod'
import type { Author } from '../base/author.ts'
import { versionConflict } from '../base/errors.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type CatalogRecord, type RecordKind, readBody } from '../catalog/catalog-state.ts'
import { Items } from '../catalog/items.ts'

export type SavedRecord<Body> = Pick<
  CatalogRecord<Body>,
  'id' | 'version' | 'changed_at' | 'changed_by' | 'body'
>

const maxAttempts = 10

/** Records of a kind that is not written in files: tokens, people, links and saved searches. */
export class SavedRecords<Body> extends Items<SavedRecord<Body>> {
  readonly #catalog: Catalog
  readonly #kind: string

  constructor(catalog: Catalog, kind: RecordKind, shape: z.ZodType<Body>) {
    super(catalog, kind, (record) => {
      const { id, version, changed_at, changed_by } = record
      return { id, version, changed_at, changed_by, body: readBody(record, shape) }
    })
    this.#catalog = catalog
    this.#kind = kind.name
  }

  /** Creates or changes a record. Others may change it at the same time: then it is changed again. */
  put(id: string, by: Author, next: (current: Body | undefined) => Body): Promise<void> {
    return retried(() => {
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
    return retried(async () => {
      const changes = records().map(({ id, version, body }) => {
        return { kind: this.#kind, id, version: version + 1, deleted: true, body: left(body) }
      })
      if (changes.length > 0) await this.#catalog.append(by, ...changes)
    })
  }
}

/** Of two changes at the same time, both are made. */
async function retried(change: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change()
    } catch (error) {
      if (attempt >= maxAttempts || !versionConflict.is(error)) throw error
    }
  }
}

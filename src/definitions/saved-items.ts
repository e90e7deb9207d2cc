import { z } from 'zod'
import type { Catalog } from '../catalog/catalog.ts'
import { type CatalogKind, type CatalogRecord, readBody } from '../catalog/catalog-state.ts'
import type { Saved } from './kind.ts'

/** Reads versions that consist of what their author wrote, when it was created, and a note. */
export function readerOf<Fields extends { name: string }>(shape: z.ZodType<Fields>) {
  // Versions of earlier releases have no note.
  const stored = z.object({ definition: shape, created_at: z.string(), note: z.string().default('') })
  return (record: CatalogRecord) => {
    const { definition, created_at, note } = readBody<{
      definition: Fields
      created_at: string
      note: string
    }>(record, stored as never)
    return {
      ...{ id: record.id, name: definition.name, version: record.version, definition, created_at, note },
      updated_at: record.changed_at,
      updated_by: record.changed_by,
    }
  }
}

/** Receives a definition before and after a change. Undefined: it did not exist, or was deleted. */
type ChangeListener<Item> = (id: string, before: Item | undefined, after: Item | undefined) => void

/** All definitions of a kind, as the catalog has them. */
export class SavedItems<Item extends Saved> {
  readonly read: (record: CatalogRecord) => Item
  readonly #byName = new Map<string, Item>()
  readonly #byId = new Map<string, Item>()
  readonly #onChange: ChangeListener<Item>[] = []

  constructor(catalog: Catalog, kind: CatalogKind, read: (record: CatalogRecord) => Item) {
    this.read = read
    catalog.onChange(kind, (changed) => this.#take(changed))
  }

  onChange(listener: ChangeListener<Item>): void {
    this.#onChange.push(listener)
  }

  list(): Item[] {
    return [...this.#byName.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  names(): Iterable<string> {
    return this.#byName.keys()
  }

  /** Names come first: one that looks like an id is still a name. */
  find(reference: string): Item | undefined {
    return this.#byName.get(reference) ?? this.#byId.get(reference.toLowerCase())
  }

  findByName(name: string): Item | undefined {
    return this.#byName.get(name)
  }

  findById(id: string): Item | undefined {
    return this.#byId.get(id)
  }

  #take(changed: readonly CatalogRecord[]): void {
    // Read all records before any change: a record that cannot be read must change nothing.
    const changes = changed.map((record) => {
      const item = this.read(record)
      return { id: item.id, before: this.#byId.get(item.id), after: record.deleted ? undefined : item }
    })
    // Definitions can swap names.
    for (const { id, before } of changes) {
      if (before && this.#byName.get(before.name) === before) this.#byName.delete(before.name)
      this.#byId.delete(id)
    }
    for (const { id, after } of changes) {
      if (after) this.#byName.set(after.name, after)
      if (after) this.#byId.set(id, after)
    }
    for (const { id, before, after } of changes) {
      for (const listener of this.#onChange) listener(id, before, after)
    }
  }
}

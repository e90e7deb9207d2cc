import { nameTaken } from '../base/errors.ts'
import { type Catalog, namesOf } from '../catalog/catalog.ts'
import type { Kind, NextDefinitions, Saved } from './kind.ts'

interface ChangedItems {
  /** Undefined: deleted. */
  byId: Map<string, Saved | undefined>
  /** Ids by the names that new versions claim. */
  claims: Map<string, string>
}

/** Collects what a change does. */
export class NextState implements NextDefinitions {
  readonly #catalog: Pick<Catalog, 'ownerOf'>
  readonly #kinds: readonly Kind[]
  readonly #changed = new Map<string, ChangedItems>()
  /** What checks have created for the time of planning, by key. */
  readonly #created = new Map<string, Promise<{ remove(): Promise<void> }>>()

  constructor(catalog: Pick<Catalog, 'ownerOf'>, kinds: readonly Kind[]) {
    this.#catalog = catalog
    this.#kinds = kinds
  }

  list<Item extends Saved>(folder: string): readonly Item[] {
    const kind = this.#kinds.find((each) => each.folder === folder)
    const items = (kind?.items.list() ?? []) as readonly Item[]
    const changed = this.#changed.get(folder)?.byId as Map<string, Item | undefined> | undefined
    if (!changed) return items
    const kept = items.filter(({ id }) => !changed.has(id))
    return [...kept, ...[...changed.values()].filter((item) => item !== undefined)]
  }

  find<Item extends Saved>(folder: string, reference: string): Item | undefined {
    const items = this.list<Item>(folder)
    const id = reference.toLowerCase()
    return items.find(({ name }) => name === reference) ?? items.find((item) => item.id === id)
  }

  isChanged(folder: string): boolean {
    return this.#changed.has(folder)
  }

  usersOf(folder: string, { id, name }: Saved, which: 'all' | 'lost'): string[] {
    const isIt = (reference: string) => reference === name || reference.toLowerCase() === id
    // Another definition can have the name then.
    const isUsed = (reference: string) =>
      isIt(reference) && (which === 'all' || !this.find(folder, reference))
    return this.#kinds.flatMap(({ folder: users, refersTo }) => {
      const isUser = (item: Saved) => refersTo?.[folder]?.(item).some(isUsed)
      return this.list(users).flatMap((item) => (isUser(item) ? `${users}/${item.name}` : []))
    })
  }

  /** Its names are free then. */
  remove({ folder }: Kind, id: string): void {
    this.#changedOf(folder).byId.set(id, undefined)
  }

  put(kind: Kind, item: Saved, body: object): void {
    const { byId, claims } = this.#changedOf(kind.folder)
    for (const name of namesOf(kind.name, body)) this.refuseTaken(kind, name, item.id)
    for (const name of namesOf(kind.name, body)) claims.set(name, item.id)
    byId.set(item.id, item)
  }

  refuseTaken({ name: kind, folder }: Kind, name: string, id: string): void {
    const { byId, claims } = this.#changedOf(folder)
    const owner = this.#catalog.ownerOf(kind, name)
    const isTaken = owner !== undefined && owner !== id && !byId.has(owner)
    if (isTaken || (claims.get(name) ?? id) !== id) throw nameTaken(name)
  }

  shared<T extends { remove(): Promise<void> }>(key: string, create: () => Promise<T>): Promise<T> {
    const created = (this.#created.get(key) as Promise<T> | undefined) ?? create()
    this.#created.set(key, created)
    return created
  }

  async close(): Promise<void> {
    for (const created of this.#created.values()) {
      await created.then(
        (it) => it.remove(),
        () => {},
      )
    }
  }

  #changedOf(folder: string): ChangedItems {
    const changed = this.#changed.get(folder) ?? { byId: new Map(), claims: new Map() }
    this.#changed.set(folder, changed)
    return changed
  }
}

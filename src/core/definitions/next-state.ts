import type { Catalog } from '../catalog/catalog.ts'
import { Claims } from '../catalog/catalog-state.ts'
import { namesOf } from '../catalog/items.ts'
import type { Kind, NextDefinitions, Saved } from './kind.ts'
import { mayReadItem, type Reader, shownName } from './visibility.ts'

/** Collects what a change does. */
export class NextState implements NextDefinitions {
  readonly #catalog: Pick<Catalog, 'claim'>
  readonly #kinds: readonly Kind[]
  readonly #author: Reader
  /** By folder and id. Undefined: deleted. */
  readonly #changed = new Map<string, Map<string, Saved | undefined>>()
  readonly #claims = new Claims()
  /** What checks have created for the time of planning, by key. */
  readonly #created = new Map<string, Promise<{ remove(): Promise<void> }>>()

  constructor(catalog: Pick<Catalog, 'claim'>, kinds: readonly Kind[], author: Reader) {
    this.#catalog = catalog
    this.#kinds = kinds
    this.#author = author
  }

  list<Item extends Saved>(folder: string): readonly Item[] {
    const kind = this.#kinds.find((each) => each.folder === folder)
    const items = (kind?.items.list() ?? []) as readonly Item[]
    const changed = this.#changed.get(folder) as Map<string, Item | undefined> | undefined
    if (!changed) return items
    const kept = items.filter(({ id }) => !changed.has(id))
    return [...kept, ...[...changed.values()].filter((item) => item !== undefined)]
  }

  find<Item extends Saved>(folder: string, reference: string): Item | undefined {
    const items = this.list<Item>(folder)
    const id = reference.toLowerCase()
    const found = items.find(({ name }) => name === reference) ?? items.find((item) => item.id === id)
    const kind = this.#kinds.find((each) => each.folder === folder) as Kind
    return found && mayReadItem(this.#author, this.#kinds, kind, found) ? found : undefined
  }

  isChanged(folder: string): boolean {
    return this.#changed.has(folder)
  }

  async usersOf(folder: string, item: Saved, which: 'all' | 'lost'): Promise<string[]> {
    const names = namesOf(item)
    // Another definition can have the name then.
    const isUsed = (reference: string) =>
      (names.includes(reference) || reference.toLowerCase() === item.id) &&
      (which === 'all' || !this.find(folder, reference))
    const users: string[] = []
    for (const kind of this.#kinds) {
      const referencesOf = kind.refersTo[folder]
      for (const user of referencesOf ? this.list(kind.folder) : []) {
        if (!referencesOf?.(kind.fieldsOf(user)).some(isUsed)) continue
        if (kind.needs && !(await kind.needs(user, folder, item, this))) continue
        users.push(shownName(this.#author, this.#kinds, kind, user))
      }
    }
    return [...new Set(users)]
  }

  /** Its names are free then. */
  remove({ name, folder }: Kind, id: string): void {
    this.#claims.change(name, id)
    this.#changedOf(folder).set(id, undefined)
  }

  put(kind: Kind, item: Saved, body: object): void {
    this.claim(kind, item.id, body)
    this.#changedOf(kind.folder).set(item.id, item)
  }

  /** Throws if another definition has a name. */
  claim({ name: kind }: Kind, id: string, body: object): void {
    this.#catalog.claim({ kind, id, body }, this.#claims)
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

  #changedOf(folder: string): Map<string, Saved | undefined> {
    const changed = this.#changed.get(folder) ?? new Map()
    this.#changed.set(folder, changed)
    return changed
  }
}

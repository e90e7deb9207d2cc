import type { Catalog } from './catalog.ts'
import type { CatalogRecord, RecordKind } from './catalog-state.ts'

/** A record before and after a change. Undefined: it did not exist, or was deleted. */
export interface ItemChange<Item> {
  id: string
  before: Item | undefined
  after: Item | undefined
  /** What the record contains, also that of a deletion. */
  item: Item
}

/** The current state of one kind of records, by id and by names. */
export class Items<Item extends { id: string; name?: string; aliases?: readonly string[] }> {
  readonly read: (record: CatalogRecord) => Item
  /** Another number whenever an item has changed. */
  revision = 0
  readonly #byName = new Map<string, Item>()
  readonly #byId = new Map<string, Item>()
  readonly #followers: ((changes: readonly ItemChange<Item>[]) => void)[] = []

  constructor(catalog: Catalog, kind: RecordKind, read: (record: CatalogRecord) => Item) {
    this.read = read
    catalog.onChange(kind, (changed) => {
      // Read all records before any change: a record that cannot be read must change nothing.
      const read = changed.map((record) => ({ item: this.read(record), deleted: record.deleted }))
      return this.apply(
        read.map(({ item, deleted }) => ({
          id: item.id,
          item,
          before: this.#byId.get(item.id),
          after: deleted ? undefined : item,
        })),
      )
    })
  }

  /** Calls the listener after each change, after those that followed earlier. */
  follow(onChange: (changes: readonly ItemChange<Item>[]) => void): void {
    this.#followers.push(onChange)
  }

  /** By name. */
  list(): Item[] {
    return this.values().sort((one, other) => ((one.name ?? '') < (other.name ?? '') ? -1 : 1))
  }

  values(): Item[] {
    return [...this.#byId.values()]
  }

  /** Names come first: one that looks like an id is still a name. */
  find(reference: string): Item | undefined {
    return this.named(reference) ?? this.withId(reference)
  }

  named(name: string): Item | undefined {
    return this.#byName.get(name)
  }

  withId(id: string): Item | undefined {
    return this.#byId.get(id.toLowerCase())
  }

  protected apply(changes: readonly ItemChange<Item>[]): Promise<void> | void {
    this.take(changes)
  }

  protected take(changes: readonly ItemChange<Item>[]): void {
    this.revision++
    // Definitions can swap names.
    for (const { id } of changes) this.#forget(id)
    for (const { after } of changes) if (after) this.set(after)
    this.changed()
    for (const onChange of this.#followers) onChange(changes)
  }

  /** Called before others follow a change. */
  protected changed(): void {}

  protected set(item: Item): void {
    this.revision++
    this.#forget(item.id)
    this.#byId.set(item.id, item)
    for (const name of namesOf(item)) this.#byName.set(name, item)
  }

  #forget(id: string): void {
    const item = this.#byId.get(id)
    this.#byId.delete(id)
    for (const name of item ? namesOf(item) : []) {
      if (this.#byName.get(name) === item) this.#byName.delete(name)
    }
  }
}

/** Names that changed items have or had. */
export function changedNames(changes: readonly ItemChange<{ name: string }>[]): string[] {
  return changes.flatMap(({ before, after }) =>
    [before?.name, after?.name].filter((name) => name !== undefined),
  )
}

export function namesOf({ name, aliases = [] }: { name?: string; aliases?: readonly string[] }): string[] {
  return name === undefined ? [] : [name, ...aliases]
}

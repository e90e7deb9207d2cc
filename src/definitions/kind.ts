import type { Author } from '../base/author.ts'
import { resourceNotFound, type WellheadError } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import type { CatalogKind, CatalogRecord } from '../catalog/catalog-state.ts'
import type { Warning } from '../sql/warnings/warning.ts'

/** A version of a definition. Kinds add what they need. */
export interface Saved {
  readonly id: string
  readonly name: string
  readonly version: number
}

/** A change that others can notice, and whether it can break what they do. */
export interface DefinitionChange {
  kind: string
  breaking: boolean
  message: string
  parameter?: string
  column?: string
}

/** All definitions as they will be after a change, by folder. */
export interface NextDefinitions {
  list<Item extends Saved>(folder: string): readonly Item[]
  /** Names come first: one that looks like an id is still a name. */
  find<Item extends Saved>(folder: string, reference: string): Item | undefined
  isChanged(folder: string): boolean
  /** What refers to a definition, such as `alerts/errors`; or only what would no longer find it. */
  usersOf(folder: string, item: Saved, which: 'all' | 'lost'): string[]
  /** Creates something that several checks need. It is removed when the plan is made. */
  shared<T extends { remove(): Promise<void> }>(key: string, create: () => Promise<T>): Promise<T>
}

export interface Preparation<Item> {
  id: string
  /** Undefined for a new definition. */
  current: Item | undefined
  /** The state after the change, as far as it is known: all kinds that this one can refer to. */
  next: NextDefinitions
  /** ISO 8601. */
  at: string
  note: string
  dryRun: boolean
  /** Whether it may read everything, also the audit. */
  isAdmin: boolean
}

export interface Prepared {
  /** What the catalog stores. */
  body: object
  warnings?: () => Promise<Warning[]>
  /** What the response to a deployment shows beyond the fields of all kinds. */
  shown?: object
}

/** What sets one kind of definitions apart. `Definitions` does the rest for all of them. */
// biome-ignore lint/suspicious/noExplicitAny: a list of kinds has kinds of different items.
export interface Kind<Item extends Saved = any> {
  readonly name: CatalogKind
  /** In the paths of the API, in deployments and in workspaces. */
  readonly folder: string
  /** Whether a new definition may come with an id. */
  readonly takesId?: boolean
  /** Fields of a response that are ignored when they are sent back. */
  readonly readOnly: readonly string[]
  readonly items: { list(): readonly Item[]; find(reference: string): Item | undefined }
  /** If the error of all kinds is not enough. */
  notFound?(reference: string): WellheadError
  /** Reads a stored version. */
  read(record: CatalogRecord): Item
  /** What its author wrote, with all defaults. */
  fieldsOf(item: Item): Record<string, unknown>
  /** Whether what follows from equal fields is equal, too. */
  isSame?(before: Item, after: Item): boolean
  /** Fields that a deployment leaves as they are if it does not have them. */
  kept?(item: Item): Record<string, unknown>
  /** The least that can be read as a deleted one. */
  deletedBody(item: Item): object
  /** Checks a definition against the state after the change. */
  prepare(fields: Record<string, unknown>, preparation: Preparation<Item>): Promise<Prepared>
  /** Names or ids of what it uses, by folder. */
  readonly refersTo?: Readonly<Record<string, (item: Item) => readonly string[]>>
  changes?(
    before: Item,
    after: Item | undefined,
    next: NextDefinitions,
  ): Promise<DefinitionChange[]> | DefinitionChange[]
  /** Throws if the state after the change needs something that the change takes away. */
  refuseUsed?(before: Item, after: Item | undefined, next: NextDefinitions): Promise<void> | void
  /** Creates what a new version needs, before it is stored. What is left of a failure must not show. */
  extend?(before: Item | undefined, after: Item): Promise<void>
  /** Removes what nobody needs after a deletion. */
  removed?(item: Item, by: Author): Promise<void>
  /** What the API returns; with the previous version, what it returns to those who made the change. */
  views(
    items: readonly Item[],
    change?: { before: Item | undefined; warnings: Warning[] },
  ): Promise<object[]> | object[]
}

export function find(kind: Kind, reference: string): Saved {
  const found = kind.items.find(reference)
  if (found) return found
  if (kind.notFound) throw kind.notFound(reference)
  const names = kind.items.list().map(({ name }) => name)
  throw resourceNotFound(`No ${kind.name} has the id or name "${reference}"`, closestName(reference, names))
}

import { z } from 'zod'
import type { Author } from '../base/author.ts'
import { resourceNotFound, type WellheadError } from '../base/errors.ts'
import type { FileProblem } from '../base/files/file-problem.ts'
import type { TextPosition } from '../base/files/yaml-fields.ts'
import { closestName } from '../base/text/closest-name.ts'
import { writableFields } from '../base/validation.ts'
import { type CatalogRecord, type RecordKind, readBody } from '../catalog/catalog-state.ts'
import { namesOf } from '../catalog/items.ts'
import type { Warning } from '../sql/warnings/warning.ts'
import type { Readable } from './visibility.ts'

/** A version of a definition. Kinds add what they need. */
export interface Saved {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  readonly updated_by: string
  readonly note: string
  readonly aliases?: readonly string[]
}

/** A change that others can notice, and whether it can break what they do. */
export interface DefinitionChange {
  kind: string
  breaking: boolean
  message: string
  /** Stored entries that the change hides and that are deleted later. Every request for such a change has to insist. */
  entries?: number
  /** Timestamp of the oldest of them. */
  oldest?: string | null
  parameter?: string
  column?: string
}

/** A change that can break other definitions, all of one folder. */
export function affectedChange(folder: string, message: string): DefinitionChange {
  return { kind: `${folder}_affected`, breaking: true, message }
}

/** All definitions as they will be after a change, by folder. */
export interface NextDefinitions {
  list<Item extends Saved>(folder: string): readonly Item[]
  /** Finds what the author of the change may read. Names come first: one that looks like an id is still a name. */
  find<Item extends Saved>(folder: string, reference: string): Item | undefined
  isChanged(folder: string): boolean
  /** What refers to a definition, such as `alerts/errors`; or only what would no longer find it. */
  usersOf(folder: string, item: Saved, which: 'all' | 'lost'): Promise<string[]>
  /** Creates something that several checks need. It is removed when the plan is made. */
  shared<T extends { remove(): Promise<void> }>(key: string, create: () => Promise<T>): Promise<T>
}

interface Preparation<Item> {
  id: string
  /** Undefined for a new definition. */
  current: Item | undefined
  /** The state after the change, as far as it is known: all kinds that this one can refer to. */
  next: NextDefinitions
  dryRun: boolean
}

export interface Prepared {
  /** What the catalog stores, besides the time of creation and the note. */
  stored: object
  warnings?: () => Promise<Warning[]>
  /** What the response to a deployment shows beyond the fields of all kinds. */
  shown?: object
}

/** A definition as the API takes it. */
export interface DefinitionFields {
  name: string
  /** Only of kinds whose files have ids. */
  id?: string
  [field: string]: unknown
}

/** An error or a warning of a service. */
export interface Finding {
  code: string
  message: string
  /** Path of a field, with dots. */
  parameter?: string | undefined
  /** In the SQL. */
  line?: number | undefined
  column?: number | undefined
}

export interface FileReading {
  fields: DefinitionFields
  rows?: FileRows
  /** Where the file has what a service found. */
  positionOf(finding: Finding): TextPosition
}

/** Rows of a file beside a definition. */
export interface FileRows {
  file: string
  content: Buffer
  count: number
  digest: string
  /** Fields that are told from the rows. */
  told: readonly string[]
}

/** Values that definitions of a workspace name, from one file. Another file can replace it, so that services can differ. */
export interface NamedValues<Values> {
  /** The file is `<noun>.yaml` at the top of a workspace, unless `--<noun>` or the variable has another. */
  noun: string
  variable: string
  about: string
  read(file: string, content: string): { values: Values } | { problems: FileProblem[] }
  /** Puts the values in place of their names. They are undefined if there is no file. */
  resolve(
    reading: FileReading,
    values: Values | undefined,
    files: { file: string; valuesFile: string },
  ): FileReading | { problems: FileProblem[] }
  /** Puts the names in place of equal values. */
  named(fields: DefinitionFields, values: Values): DefinitionFields
}

/** How files of a workspace contain definitions. All else that a workspace does is the same for every kind. */
export interface FileForm {
  /** Of files that are read, and of those that are written. */
  extension: RegExp
  suffix: string
  /** What lists have before a name. */
  label: string
  /** Whether a deployment can delete what has no file. */
  prunes: boolean
  /** Whether a name is reserved for what every service has. No workspace manages it. */
  isReserved(name: string): boolean
  read(file: string, name: string, content: string): FileReading | { problems: FileProblem[] }
  /** Of a file with rows, beside the definition and among the fixtures. */
  rowsExtension?: RegExp
  withRows?(reading: FileReading, file: string, content: string): FileReading | { problems: FileProblem[] }
  values?: NamedValues<unknown>
  /** The text of a file. Equal definitions have equal texts. */
  write(fields: DefinitionFields): string
  /** Reads what the API returns. The name is checked, because it becomes that of a file. */
  fieldsOf(view: object): DefinitionFields
  /** The definition for a service that has no network. */
  offline?(fields: DefinitionFields): DefinitionFields
  /** The text of a file with an id. Undefined if it has one. */
  withId?(content: string, id: string): string | undefined
}

/** How the API describes a kind. */
interface KindDocs {
  /** What the kind is for. */
  about: string
  /** Name of the fields among the components of OpenAPI. */
  fieldsName: string
  /** What callers may send, if it is more than the fields. */
  fields?: z.ZodObject
  example: object
  changeExample: object
  /** What `views` returns. */
  view: z.ZodRawShape
  /** What only those see who made the change. */
  changed?: z.ZodRawShape
  /** What the response to a deployment shows beyond the fields of all kinds. */
  deployed?: z.ZodRawShape
  referenceExample: string
  /** Who creates, changes and deletes definitions of this kind. Readers see all kinds. */
  changes: 'edit' | 'deploy' | 'admin'
  deletes?: 'admin'
  /** Who may read some of them besides those with a role. See `maySee`. */
  reads?: 'call'
  /** Descriptions of operations, beyond what holds for all kinds. */
  texts?: { reference?: string; create?: string; change?: string; delete?: string; restore?: string }
  /** Whether a change that breaks callers is refused unless the caller insists. */
  refusesBreaking?: boolean
  /** Whether a change can hide entries, which is refused unless the caller insists. */
  hidesEntries?: boolean
  /** Whether more than the definition is deleted, so that the caller has to repeat its name. */
  confirms?: boolean
}

/** What holds for a kind without a service. The catalog, files, routes and documentation use it. */
// biome-ignore lint/suspicious/noExplicitAny: a list of kinds has kinds of different fields.
export interface KindForm<Fields = any> extends RecordKind {
  /** In the paths of the API, in deployments and in workspaces. */
  readonly folder: string
  /** What authors write. */
  readonly fields: z.ZodObject
  /** Whether SQL reads it by name. Such kinds share their names, aliases included. */
  readonly isReadBySql?: boolean
  /** Whether a new definition may come with an id. */
  readonly takesId?: boolean
  /** Names or ids of what it may use, by folder. */
  readonly refersTo: Readonly<Record<string, (fields: Fields) => readonly string[]>>
  /** What its author wrote, with all defaults. */
  // biome-ignore lint/suspicious/noExplicitAny: of the kind's own items.
  fieldsOf(item: any): Record<string, unknown>
  /** The least that can be read as a deleted one. */
  // biome-ignore lint/suspicious/noExplicitAny: of the kind's own items.
  remainder(item: any): object
  readonly file: FileForm
  readonly docs: KindDocs
}

type KindDefaults = 'plural' | 'isReferring' | 'fieldsOf' | 'remainder' | 'refersTo'

/** A kind of most kinds' form: its records have what the author wrote as `definition`. */
export function kindForm<Fields>(
  form: Omit<KindForm<Fields>, KindDefaults> & Partial<Pick<KindForm, KindDefaults>>,
): KindForm<Fields> {
  return {
    refersTo: {},
    fieldsOf: ({ definition }) => definition,
    remainder: ({ name }) => ({ definition: { name } }),
    namesOf: ({ definition }) => [(definition as { name?: unknown } | undefined)?.name],
    ...form,
    plural: form.folder,
    isReferring: true,
  }
}

/** Sorts kinds so that each refers to those before it, and keeps the order otherwise. */
export function byReferences<One extends Pick<KindForm, 'folder' | 'refersTo'>>(
  kinds: readonly One[],
): One[] {
  const sorted = new Set<One>()
  const visit = (kind: One) => {
    for (const other of kinds) {
      if (other !== kind && !sorted.has(other) && kind.refersTo[other.folder] !== undefined) visit(other)
    }
    sorted.add(kind)
  }
  for (const kind of kinds) visit(kind)
  return [...sorted]
}

/** What a definition may use, such as `sources/orders`. */
export function usedBy({ refersTo }: KindForm, fields: object): string[] {
  return Object.entries(refersTo).flatMap(([folder, references]) =>
    references(fields).map((reference) => `${folder}/${reference}`),
  )
}

/** What sets one kind of definitions apart in a service. `Definitions` does the rest for all of them. */
// biome-ignore lint/suspicious/noExplicitAny: a list of kinds has kinds of different items.
export interface Kind<Item extends Saved = any> extends KindForm {
  readonly items: {
    list(): readonly Item[]
    find(reference: string): Item | undefined
    /** Reads a stored version. */
    read(record: CatalogRecord): Item
  }
  /** If the error of all kinds is not enough. Takes the names that the reader may know of. */
  notFound?(reference: string, names: readonly string[]): WellheadError
  /** Whether what follows from equal fields is equal, too. */
  isSame?(before: Item, after: Item): boolean
  /** Whether endpoints that read it can have other results. */
  changesReaders?(before: Item, after: Item): boolean
  /** Fields that a deployment leaves as they are if it does not have them. */
  kept?(item: Item): Record<string, unknown>
  /** Checks a definition against the state after the change. */
  prepare(fields: Record<string, unknown>, preparation: Preparation<Item>): Promise<Prepared>
  /** What it reads itself, from fields that may be malformed. See `mayRead`. */
  reads?(fields: Readonly<Record<string, unknown>>): Readable
  /** Whether it needs what it may use. Undefined: always. */
  needs?(item: Item, folder: string, used: Saved, next: NextDefinitions): Promise<boolean>
  /** Whether a caller may see it who has no role. */
  maySee?(caller: object, item: Item): boolean
  changes?(
    before: Item,
    after: Item | undefined,
    next: NextDefinitions,
  ): Promise<DefinitionChange[]> | DefinitionChange[]
  /** What others notice of a new definition. */
  creation?(after: Item, next: NextDefinitions): Promise<DefinitionChange[]>
  /** Throws if the state after the change needs something that the change takes away. */
  refuseUsed?(before: Item, after: Item | undefined, next: NextDefinitions): Promise<void> | void
  /** Creates what a new version needs, before it is stored. What is left of a failure must not show. */
  extend?(before: Item | undefined, after: Item): Promise<void>
  /** Removes what nobody needs after a deletion. */
  removed?(item: Item, by: Author): Promise<void>
  /**
   * What the API returns beside the fields of all kinds and those that authors write, or in place of them; with the previous
   * version, what it returns to those who made the change.
   */
  views?(
    items: readonly Item[],
    change?: { before: Item | undefined; warnings: Warning[] },
  ): Promise<object[]> | object[]
}

/** Fields of all kinds that only the service sets. */
export const commonView = {
  version: z.int().min(1).describe('Increases with every change.'),
  created_at: z.iso.datetime().describe('When it was created.'),
  updated_at: z.iso.datetime().describe('When this version was created.'),
  updated_by: z.string().describe('Id of the person or token that created this version.'),
  updated_by_name: z.string().nullable().describe('Their name. Null: unknown.'),
  note: z.string().describe('Why this version was created. Set with the parameter `note`.'),
}

/** What was sent of a definition, without fields that only the service sets. Clients send them back as they read them. */
export function sentFields({ fields, takesId, docs }: KindForm, body: unknown): Record<string, unknown> {
  const shown = Object.keys({ ...commonView, ...docs.view, ...docs.changed })
  const readOnly = shown.filter((name) => !Object.hasOwn(fields.shape, name))
  return writableFields(body, takesId ? readOnly : [...readOnly, 'id'])
}

/** A definition as the API returns it, of a kind whose `views` are `More`. */
export type DefinitionView<Fields, More> = Omit<Fields, keyof More> &
  More & { id: string } & { [Field in keyof typeof commonView]: z.output<(typeof commonView)[Field]> }

/** The kind with a part of it that needs the service. */
export type Opened<Item extends Saved> = Omit<Kind<Item>, keyof KindForm>

/** Reads versions that consist of what their author wrote, when it was created, and a note. */
export function readerOf<Fields extends { name: string }>(shape: z.ZodType<Fields>) {
  const stored = z.object({ definition: shape, created_at: z.string(), note: z.string() })
  return (record: CatalogRecord) => {
    const { definition, created_at, note } = readBody(record, stored)
    return {
      id: record.id,
      name: definition.name,
      version: record.version,
      definition,
      created_at,
      note,
      updated_at: record.changed_at,
      updated_by: record.changed_by,
    }
  }
}

export function find(kind: Kind, reference: string, isVisible: (item: Saved) => boolean): Saved {
  const found = kind.items.find(reference)
  if (found && isVisible(found)) return found
  // The same error whether or not it exists.
  const names = (kind.items.list() as readonly Saved[]).filter(isVisible).flatMap(namesOf)
  if (kind.notFound) throw kind.notFound(reference, names)
  throw resourceNotFound(`No ${kind.name} has the id or name "${reference}"`, closestName(reference, names))
}

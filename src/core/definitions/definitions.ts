import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { Author } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import {
  deletedId,
  engineUnavailable,
  invalidParameter,
  invalidQuery,
  nameTaken,
  versionConflict,
  type WellheadError,
} from '../base/errors.ts'
import { withArticle } from '../base/text/with-article.ts'
import { readShape } from '../base/validation.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type Deployment, deploymentShape, expectationShape } from './deployment.ts'
import { byReferences, find, type Kind, type Saved, sentFields } from './kind.ts'
import { type Admit, planChange, type RunTerms } from './plan-change.ts'
import {
  catalogChanges,
  type DeployedDefinition,
  naming,
  refuseBreaking,
  refuseRepeated,
  type Step,
  shownStep,
  type Wanted,
} from './step.ts'
import { auditRefused, mayReadItem, type Reader } from './visibility.ts'

type IsVisible = (item: Saved) => boolean

interface DefinitionsOptions {
  catalog: Catalog
  clock: Clock
  /** Name of the person or token that made a change. Null: unknown. */
  nameOf: (id: string) => string | null
}

export interface ChangeTerms {
  by: Author
  /** Version that the change is based on. Undefined: any version. */
  expected: number | undefined
  breaking: boolean
  note: string
}

/** Author of the versions that the service ships. Other authors are ids of tokens. */
export const shippedBy = 'wellhead'

/** Others can change the same definitions at the same time, so a change without expected versions is retried. */
const maxAttempts = 10

const remedies = {
  one: 'nothing was changed. Set breaking=true to change it anyway.',
  deletion: 'nothing was deleted. Set breaking=true to delete it anyway.',
  deployment: 'nothing was deployed. Send "allow_breaking": true to deploy anyway.',
}

/** Everything that is defined, of all kinds. Every change is one batch of the catalog: all of it is stored, or nothing. */
export class Definitions {
  readonly #options: DefinitionsOptions
  #kinds: readonly Kind[] = []
  #deploymentShape: z.ZodType<Deployment> | undefined
  /** The end of the queue of changes. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: DefinitionsOptions) {
    this.#options = options
  }

  /** In the order of references: a kind refers to those before it. */
  get kinds(): readonly Kind[] {
    return this.#kinds
  }

  add(kind: Kind): void {
    if (this.#kinds.some(({ folder }) => folder === kind.folder)) {
      throw new Error(`There are two kinds of definitions with the name ${kind.folder}.`)
    }
    this.#kinds = byReferences([...this.#kinds, kind])
    this.#deploymentShape = undefined
  }

  async list(folder: string, reader: Reader, isVisible: IsVisible = () => true): Promise<object[]> {
    const kind = this.#kind(folder)
    return this.#views(kind, kind.items.list().filter(this.#readable(kind, reader)).filter(isVisible))
  }

  async get(folder: string, reference: string, reader: Reader, isVisible?: IsVisible): Promise<object> {
    const [view] = await this.#views(this.#kind(folder), [this.find(folder, reference, reader, isVisible)])
    return view as object
  }

  maySee(folder: string, caller: object, item: Saved): boolean {
    return this.#kind(folder).maySee?.(caller, item) ?? true
  }

  /** The item itself, for what its kind can do beyond being defined. */
  find<Item extends Saved>(
    folder: string,
    reference: string,
    reader: Reader,
    isVisible: IsVisible = () => true,
  ): Item {
    const kind = this.#kind(folder)
    const isReadable = this.#readable(kind, reader)
    return find(kind, reference, (item) => isReadable(item) && isVisible(item)) as Item
  }

  /** Every version that is kept and that the reader may read, newest first. */
  async versions(folder: string, reference: string, reader: Reader): Promise<object[]> {
    const kind = this.#kind(folder)
    const { id } = this.find(folder, reference, reader)
    const records = await this.#options.catalog.log.versions(kind.name, id)
    const versions = records.reverse().map((record) => kind.items.read(record) as Saved)
    return this.#views(kind, versions.filter(this.#readable(kind, reader)))
  }

  create(folder: string, body: unknown, terms: Omit<ChangeTerms, 'expected'>): Promise<object> {
    const kind = this.#kind(folder)
    return this.#changeOne(kind, { ...terms, expected: undefined }, async () => {
      const fields = sentFields(kind, body)
      const id = givenId(kind, fields)
      if (id !== undefined && (await this.#isKnown(kind, id))) throw nameTaken(id)
      return { kind, id: id ?? randomUUID(), current: undefined, fields }
    })
  }

  /** Omitted fields stay as they are, or get their defaults. A function makes the fields of the current definition. */
  change<Item extends Saved>(
    folder: string,
    reference: string,
    body: unknown | ((current: Item) => object),
    omitted: 'stay' | 'default',
    terms: ChangeTerms,
  ): Promise<object> {
    const kind = this.#kind(folder)
    return this.#changeOne(kind, terms, async () => {
      const current = expected(this.find(folder, reference, terms.by), terms)
      const sent = sentFields(kind, typeof body === 'function' ? body(current) : body)
      const kept = omitted === 'stay' ? kind.fieldsOf(current) : { name: current.name }
      const id = givenId(kind, sent)
      if (id !== undefined && id !== current.id) {
        throw invalidParameter('id', `The id of ${withArticle(kind.name)} cannot be changed.`)
      }
      return { kind, id: current.id, current, fields: { ...kept, ...sent } }
    })
  }

  restore(folder: string, reference: string, version: number, terms: ChangeTerms): Promise<object> {
    const kind = this.#kind(folder)
    return this.#changeOne(kind, terms, async () => {
      const current = expected(this.find(folder, reference, terms.by), terms)
      const record = await this.#options.catalog.log.version(kind.name, current.id, version)
      if (!record) throw invalidParameter('version', `${reference} has no version ${version}.`)
      return { kind, id: current.id, current, fields: kind.fieldsOf(kind.items.read(record)) }
    })
  }

  async delete(folder: string, reference: string, terms: Omit<ChangeTerms, 'note'>) {
    const kind = this.#kind(folder)
    const refused = terms.breaking ? undefined : ({ which: 'hidden', remedy: remedies.deletion } as const)
    await this.#run({ by: terms.by, note: '', refused }, terms.expected === undefined, async () => {
      const current = expected(this.find(folder, reference, terms.by), terms)
      return [{ kind, id: current.id, current, fields: undefined }]
    })
  }

  /** Creates, changes and deletes definitions of all kinds. Either all of it is stored, or nothing. */
  async deploy(body: unknown, by: Author, admit: Admit) {
    const { delete: deleted, dry_run, allow_breaking, note, ...sent } = readShape(this.#shape(), body)
    const resolve = async () => {
      const wanted: Wanted[] = []
      for (const kind of this.#kinds) {
        for (const [index, fields] of (sent[kind.folder] ?? []).entries()) {
          const { name } = fields
          const place = { index, name: typeof name === 'string' ? name : undefined }
          wanted.push(await naming({ kind, place }, () => this.#deployed(kind, fields, place, by)))
        }
        for (const reference of new Set(deleted[kind.folder])) {
          const place = { index: -1, name: reference }
          const current = await naming({ kind, place }, () => this.find<Saved>(kind.folder, reference, by))
          wanted.push({ kind, id: current.id, current, fields: undefined, place })
        }
      }
      await refuseRepeated(wanted)
      return wanted
    }
    const refused = allow_breaking ? undefined : ({ which: 'breaking', remedy: remedies.deployment } as const)
    const steps = await this.#run(
      { by, note, refused, dryRun: dry_run, skipsUnchanged: true, admit },
      true,
      resolve,
    )
    const shown: Record<string, DeployedDefinition[]> = {}
    for (const { folder } of this.#kinds) {
      const own = steps.filter(({ kind, current, after = current }) => {
        return kind.folder === folder && this.#readable(kind, by)(after as Saved)
      })
      shown[folder] = await Promise.all(own.map(shownStep))
    }
    return { dry_run, ...shown }
  }

  async #deployed(
    kind: Kind,
    sent: Record<string, unknown>,
    place: Wanted['place'],
    by: Author,
  ): Promise<Wanted> {
    const { expected_version, ...rest } = sent
    const fields = sentFields(kind, rest)
    const { id: sentId } = rest
    const id = kind.takesId ? givenId(kind, fields) : typeof sentId === 'string' ? sentId : undefined
    const found = kind.items.find(id ?? String(fields.name))
    // An alias of a source is not its name.
    const current =
      found && (id === undefined ? found.name === fields.name : found.id === id) ? found : undefined
    if (current && !this.#readable(kind, by)(current)) throw auditRefused()
    if (!current && id !== undefined && kind.takesId && (await this.#isKnown(kind, id))) throw deletedId(id)
    const { expected_version: version } = readShape(expectationShape, { expected_version })
    refuseVersion(current, version)
    const kept = current && kind.kept?.(current)
    const isNew = id !== undefined && kind.takesId
    return {
      kind,
      current,
      fields: { ...kept, ...fields },
      id: current?.id ?? (isNew ? id : randomUUID()),
      ...(place && { place }),
    }
  }

  /** Stores what the service ships, each once. What does not fit the stored definitions is skipped. */
  async seed(
    folder: string,
    shipped: readonly Record<string, unknown>[],
    onSkipped: (name: unknown, reason: string) => void,
  ): Promise<void> {
    const kind = this.#kind(folder)
    const ids = shipped.map(({ id }) => String(id)).filter((id) => !kind.items.find(id))
    const known = await this.#options.catalog.log.knownIds(kind.name, ids)
    const missing = shipped.filter(({ id }) => ids.includes(String(id)) && !known.has(String(id)))
    const store = (definitions: readonly Record<string, unknown>[]) =>
      this.#run({ by: shippedBy, note: '' }, false, async () =>
        definitions.map((fields) => ({ kind, id: String(fields.id), current: undefined, fields })),
      )
    await store(missing).catch(async (error) => {
      // One of them does not fit, or another service that starts at the same time has stored some.
      if (!isMisfit(error)) throw error
      for (const each of missing) {
        await store([each]).catch((reason) => {
          if (!isMisfit(reason)) throw reason
          if (!kind.items.find(String(each.id))) onSkipped(each.name, reason.message)
        })
      }
    })
  }

  async #views(kind: Kind, ...shown: Parameters<NonNullable<Kind['views']>>): Promise<object[]> {
    const own = (await kind.views?.(...shown)) ?? []
    const items: readonly Saved[] = shown[0]
    return items.map((item, index) => {
      const { id, version, created_at, updated_at, updated_by, note } = item
      const updated_by_name = this.#options.nameOf(updated_by)
      const common = { version, created_at, updated_at, updated_by, updated_by_name, note }
      return { id, ...kind.fieldsOf(item), ...own[index], ...common }
    })
  }

  #readable(kind: Kind, reader: Reader): IsVisible {
    return (item) => mayReadItem(reader, this.#kinds, kind, item)
  }

  #shape(): z.ZodType<Deployment> {
    this.#deploymentShape ??= deploymentShape(this.#kinds.map(({ folder }) => folder))
    return this.#deploymentShape
  }

  #kind(folder: string): Kind {
    return this.#kinds.find((kind) => kind.folder === folder) as Kind
  }

  async #isKnown(kind: Kind, id: string): Promise<boolean> {
    return (await this.#options.catalog.log.knownIds(kind.name, [id])).size > 0
  }

  async #changeOne(kind: Kind, terms: ChangeTerms, resolve: () => Promise<Wanted>): Promise<object> {
    const which = kind.docs.refusesBreaking ? 'breaking' : 'hidden'
    const refused = terms.breaking ? undefined : ({ which, remedy: remedies.one } as const)
    const isRetried = terms.expected === undefined
    const [step] = await this.#run({ ...terms, refused }, isRetried, async () => [await resolve()])
    const { id, current: before, prepared } = step as Step
    const item = kind.items.find(id) ?? (step as Step).after
    const warnings = (await prepared.warnings?.()) ?? []
    const [view] = await this.#views(kind, [item], { before, warnings })
    return view as object
  }

  /** One change at a time: between its plan and its end, nothing may start to use what it takes away. */
  #run(terms: RunTerms, isRetried: boolean, resolve: () => Promise<Wanted[]>): Promise<Step[]> {
    if (terms.dryRun) return this.#attempts(terms, isRetried, resolve)
    const run = this.#last.then(() => this.#attempts(terms, isRetried, resolve))
    this.#last = run.catch(() => {})
    return run
  }

  async #attempts(terms: RunTerms, isRetried: boolean, resolve: () => Promise<Wanted[]>): Promise<Step[]> {
    const { catalog } = this.#options
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const { revision } = catalog
      const planned = await planChange({ ...this.#options, kinds: this.#kinds }, await resolve(), terms)
      if (terms.dryRun) return planned
      refuseBreaking(planned, terms.refused)
      const steps = planned.filter(({ action }) => action !== 'unchanged')
      if (steps.length === 0) return planned
      try {
        for (const { kind, current, after } of steps) if (after) await kind.extend?.(current, after)
        // Another service may have changed what the plan rests on.
        if (!(await catalog.appendPlanned(revision, terms.by, catalogChanges(steps)))) continue
        for (const { kind, current, after } of steps) if (!after) await kind.removed?.(current, terms.by)
        return planned
      } catch (error) {
        // Somebody else came first. Planning again finds what they did, and reports which definition it concerns.
        const isOvertaken = versionConflict.is(error) || nameTaken.is(error)
        if (!isRetried || attempt >= maxAttempts || !isOvertaken) throw error
      }
    }
    throw engineUnavailable('Other services change definitions at the moment. Try again.')
  }
}

function expected(current: Saved, { expected: wanted }: { expected: number | undefined }): Saved {
  refuseVersion(current, wanted)
  return current
}

/** 0: it must not exist yet. Undefined: any version. */
function refuseVersion(current: Saved | undefined, expected: number | undefined): void {
  const version = current?.version ?? 0
  if (expected !== undefined && expected !== version) throw versionConflict(String(expected), version)
}

function isMisfit(error: unknown): error is WellheadError {
  return nameTaken.is(error) || versionConflict.is(error) || invalidQuery.is(error)
}

/** Other values are refused when the definition is read. */
function givenId(kind: Kind, { id }: Record<string, unknown>): string | undefined {
  return kind.takesId && typeof id === 'string' ? id.toLowerCase() : undefined
}

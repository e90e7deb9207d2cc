import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { type Author, authorId } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import {
  deletedId,
  engineUnavailable,
  invalidParameter,
  invalidQuery,
  nameTaken,
  versionConflict,
  WellheadError,
} from '../base/errors.ts'
import { withArticle } from '../base/text/with-article.ts'
import { readShape, writableFields } from '../base/validation.ts'
import { type Catalog, expectVersion, refuseLarge } from '../catalog/catalog.ts'
import { namesOf } from '../catalog/items.ts'
import { auditRefused, mayReadItem, type Reader, refuseAudit, shownName } from './audit-rule.ts'
import { type Deployment, deploymentShape, expectationShape } from './deployment.ts'
import { commonReadOnly, find, type Kind, type Saved } from './kind.ts'
import { NextState } from './next-state.ts'
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

type IsVisible = (item: Saved) => boolean

interface DefinitionsOptions {
  catalog: Catalog
  clock: Clock
  /** In the order of references: a kind refers to those before it. */
  kinds: readonly Kind[]
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

interface RunTerms {
  by: Author
  note: string
  /** Whether a definition that stays the same keeps its version. */
  skipsUnchanged?: boolean
  /** What the caller can do about changes that break something. Undefined: they are made. */
  breaking?: string | undefined
  dryRun?: boolean
  /** Throws if the author may not make such a change. Not called for what stays the same. */
  admit?: Admit
}

type Admit = (folder: string, action: Step['action']) => void

/** Author of the versions that the service ships. Other authors are ids of tokens. */
export const shippedBy = 'wellhead'

/** Others can change the same definitions at the same time, so a change without expected versions is retried. */
const maxAttempts = 10

const remedies = {
  one: 'nothing was changed. Set breaking=true to change it anyway.',
  deployment: 'nothing was deployed. Send "allow_breaking": true to deploy anyway.',
}

/** Everything that is defined, of all kinds. Every change is one batch of the catalog: all of it is stored, or nothing. */
export class Definitions {
  readonly #options: DefinitionsOptions
  readonly #deploymentShape: z.ZodType<Deployment>
  /** The end of the queue of changes. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: DefinitionsOptions) {
    this.#options = options
    this.#deploymentShape = deploymentShape(options.kinds.map(({ folder }) => folder))
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

  create(folder: string, body: unknown, terms: Pick<ChangeTerms, 'by' | 'note'>): Promise<object> {
    const kind = this.#kind(folder)
    return this.#changeOne({ ...terms, expected: undefined, breaking: true }, async () => {
      const fields = fieldsIn(kind, body)
      const id = givenId(kind, fields)
      if (id !== undefined && (await this.#isKnown(kind, id))) throw nameTaken(id)
      return { kind, id: id ?? randomUUID(), current: undefined, fields }
    })
  }

  /** Omitted fields stay as they are, or get their defaults. */
  change(
    folder: string,
    reference: string,
    body: unknown,
    omitted: 'stay' | 'default',
    terms: ChangeTerms,
  ): Promise<object> {
    const kind = this.#kind(folder)
    return this.#changeOne(terms, async () => {
      const current = expected(this.find(folder, reference, terms.by), terms)
      const sent = fieldsIn(kind, body)
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
    return this.#changeOne(terms, async () => {
      const current = expected(this.find(folder, reference, terms.by), terms)
      const record = await this.#options.catalog.log.version(kind.name, current.id, version)
      if (!record) throw invalidParameter('version', `${reference} has no version ${version}.`)
      return { kind, id: current.id, current, fields: kind.fieldsOf(kind.items.read(record)) }
    })
  }

  async delete(folder: string, reference: string, terms: Pick<ChangeTerms, 'by' | 'expected'>) {
    const kind = this.#kind(folder)
    await this.#run({ by: terms.by, note: '' }, terms.expected === undefined, async () => {
      const current = expected(this.find(folder, reference, terms.by), terms)
      return [{ kind, id: current.id, current, fields: undefined }]
    })
  }

  /** Creates, changes and deletes definitions of all kinds. Either all of it is stored, or nothing. */
  async deploy(body: unknown, by: Author, admit: Admit) {
    const { delete: deleted, dry_run, allow_breaking, note, ...sent } = readShape(this.#deploymentShape, body)
    const resolve = async () => {
      const wanted: Wanted[] = []
      for (const kind of this.#options.kinds) {
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
    const breaking = allow_breaking ? undefined : remedies.deployment
    const steps = await this.#run(
      { by, note, breaking, dryRun: dry_run, skipsUnchanged: true, admit },
      true,
      resolve,
    )
    const shown: Record<string, DeployedDefinition[]> = {}
    for (const { folder } of this.#options.kinds) {
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
    const fields = fieldsIn(kind, rest)
    const { id: sentId } = rest
    const id = kind.takesId ? givenId(kind, fields) : typeof sentId === 'string' ? sentId : undefined
    const found = kind.items.find(id ?? String(fields.name))
    // An alias of a source is not its name.
    const current =
      found && (id === undefined ? found.name === fields.name : found.id === id) ? found : undefined
    if (current && !this.#readable(kind, by)(current)) throw auditRefused()
    if (!current && id !== undefined && kind.takesId && (await this.#isKnown(kind, id))) throw deletedId(id)
    const { expected_version: version } = readShape(expectationShape, { expected_version })
    if (version !== undefined && version !== (current?.version ?? 0)) {
      throw versionConflict(String(version), current?.version ?? 0)
    }
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

  async #views(kind: Kind, ...shown: Parameters<Kind['views']>): Promise<object[]> {
    const views = (await kind.views(...shown)) as { updated_by?: string }[]
    return views.map((view) => ({ ...view, updated_by_name: this.#options.nameOf(view.updated_by ?? '') }))
  }

  #readable(kind: Kind, reader: Reader): IsVisible {
    return (item) => mayReadItem(reader, this.#options.kinds, kind, item)
  }

  #kind(folder: string): Kind {
    return this.#options.kinds.find((kind) => kind.folder === folder) as Kind
  }

  async #isKnown(kind: Kind, id: string): Promise<boolean> {
    return (await this.#options.catalog.log.knownIds(kind.name, [id])).size > 0
  }

  async #changeOne(terms: ChangeTerms, resolve: () => Promise<Wanted>): Promise<object> {
    const breaking = terms.breaking ? undefined : remedies.one
    const isRetried = terms.expected === undefined
    const [step] = await this.#run({ ...terms, breaking }, isRetried, async () => [await resolve()])
    const { kind, id, current: before, prepared } = step as Step
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
      const planned = await this.#plan(await resolve(), terms)
      if (terms.dryRun) return planned
      refuseBreaking(planned, terms.breaking)
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

  /** Checks every definition against the state after the change, those first that others refer to. */
  async #plan(wanted: readonly Wanted[], terms: RunTerms): Promise<Step[]> {
    const { catalog, kinds, clock } = this.#options
    const next = new NextState(catalog, kinds, terms.by)
    const at = new Date(clock.now()).toISOString()
    const steps: Step[] = []
    try {
      for (const kind of kinds) {
        const own = wanted.filter((each) => each.kind === kind)
        // Definitions can swap names.
        for (const { current } of own) if (current) next.remove(kind, current.id)
        for (const each of inOrder(kind, own)) {
          const step = await naming(each, () => {
            // Before anything that takes time, or reads.
            if (kind.reads && each.fields) refuseAudit(terms.by, kind.reads(each.fields))
            return this.#step(each, next, at, terms)
          })
          if (step.action !== 'unchanged') await naming(each, () => terms.admit?.(kind.folder, step.action))
          steps.push(step)
        }
        if (kind.refersTo[kind.folder]) steps.push(...(await this.#readAgain(kind, steps, next, at, terms)))
      }
      // Before anything is created, and in a dry run as well.
      for (const step of steps) await naming(step, () => catalogChanges([step]).forEach(refuseLarge))
      catalog.refuseMany(catalogChanges(steps))
      for (const step of steps) {
        const { kind, current, after } = step
        if (!current || step.action === 'unchanged') continue
        await naming(step, () => kind.refuseUsed?.(current, after, next))
        step.changes.push(...((await kind.changes?.(current, after, next)) ?? []))
      }
      return steps
    } finally {
      await next.close()
    }
  }

  /**
   * Checks what refers to changed definitions of its own kind. What follows from it can change, such as the columns of its result:
   * then it gets a new version. What no longer works is a breaking change of what it refers to.
   */
  async #readAgain(kind: Kind, steps: readonly Step[], next: NextState, at: string, terms: RunTerms) {
    const { kinds } = this.#options
    const references = kind.refersTo[kind.folder] as (fields: object) => readonly string[]
    const again: Step[] = []
    const known = new Set(steps.filter((step) => step.kind === kind).map(({ id }) => id))
    const causes = steps.filter((step) => step.kind === kind && step.action === 'updated')
    for (const cause of causes) {
      const names = new Set(namesOf(cause.after as Saved))
      for (let grew = true; grew; ) {
        grew = false
        for (const item of next.list<Saved>(kind.folder)) {
          if (known.has(item.id) || !references(kind.fieldsOf(item)).some((name) => names.has(name))) continue
          known.add(item.id)
          for (const name of namesOf(item)) names.add(name)
          grew = true
          const wanted = { kind, id: item.id, current: item, fields: kind.fieldsOf(item) }
          try {
            const step = await this.#step(wanted, next, at, { ...terms, skipsUnchanged: true })
            if (step.action !== 'unchanged') again.push(step)
          } catch (error) {
            if (!(error instanceof WellheadError)) throw error
            const reason = this.#readable(kind, terms.by)(item) ? `: ${error.message}` : '.'
            const message = `${shownName(terms.by, kinds, kind, item)} would no longer work${reason}`
            cause.changes.push({ kind: `${kind.folder}_affected`, breaking: true, message })
          }
        }
      }
    }
    return again
  }

  async #step(
    wanted: Wanted,
    next: NextState,
    at: string,
    { by, note, skipsUnchanged = false, dryRun = false }: RunTerms,
  ): Promise<Step> {
    const { kind, id, current, fields } = wanted
    const version = (current?.version ?? 0) + 1
    if (!fields) {
      const { name } = current as Saved
      const prepared = { body: kind.deletedBody(current) }
      return { ...wanted, name, action: 'deleted', version, changes: [], prepared, after: undefined }
    }
    if (typeof fields.name === 'string')
      next.claim(kind, id, { name: fields.name, definition: { name: fields.name } })
    const prepared = await kind.prepare(fields, { id, current, next, at, note, dryRun })
    const record = { kind: kind.name, id, version, deleted: false, body: prepared.body }
    const after = kind.items.read({ ...record, entry: '', changed_at: at, changed_by: authorId(by) })
    next.put(kind, after, prepared.body)
    // Prepared definitions have their fields in the same order.
    const textOf = (item: Saved) => JSON.stringify(kind.fieldsOf(item))
    const isSame = current && textOf(current) === textOf(after) && (kind.isSame?.(current, after) ?? true)
    const action = !current ? 'created' : isSame && skipsUnchanged ? 'unchanged' : 'updated'
    const kept = action === 'unchanged' && current ? current.version : version
    return { ...wanted, name: after.name, action, version: kept, changes: [], prepared, after }
  }
}

/** Those first that others of the same kind refer to. */
function inOrder(kind: Kind, wanted: readonly Wanted[]): readonly Wanted[] {
  const references = kind.refersTo[kind.folder]
  if (!references || wanted.length < 2) return wanted
  const ordered = new Set<Wanted>()
  const add = (each: Wanted, around: readonly Wanted[]): void => {
    if (ordered.has(each) || around.includes(each)) return
    for (const name of each.fields ? references(each.fields) : []) {
      const inner = wanted.find(({ fields }) => fields?.name === name)
      if (inner) add(inner, [...around, each])
    }
    ordered.add(each)
  }
  for (const each of wanted) add(each, [])
  return [...ordered]
}

function expected(current: Saved, { expected }: { expected: number | undefined }): Saved {
  expectVersion(current, expected)
  return current
}

function isMisfit(error: unknown): error is WellheadError {
  return nameTaken.is(error) || versionConflict.is(error) || invalidQuery.is(error)
}

function fieldsIn(kind: Kind, body: unknown): Record<string, unknown> {
  return writableFields(body, [...commonReadOnly, ...kind.readOnly, ...(kind.takesId ? [] : ['id'])])
}

/** Other values are refused when the definition is read. */
function givenId(kind: Kind, { id }: Record<string, unknown>): string | undefined {
  return kind.takesId && typeof id === 'string' ? id.toLowerCase() : undefined
}

import { type Author, authorId } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import { invalidQuery, WellheadError } from '../base/errors.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { refuseLarge } from '../catalog/catalog-log.ts'
import { namesOf } from '../catalog/items.ts'
import { affectedChange, type Kind, type Saved } from './kind.ts'
import { NextState } from './next-state.ts'
import { refuseSharedNames } from './shared-names.ts'
import { catalogChanges, naming, type Refused, type Step, type Wanted } from './step.ts'
import { mayReadItem, refuseAudit, shownName } from './visibility.ts'

interface PlanOptions {
  catalog: Catalog
  clock: Clock
  /** In the order of references: a kind refers to those before it. */
  kinds: readonly Kind[]
}

export interface RunTerms {
  by: Author
  note: string
  /** Whether a definition that stays the same keeps its version. */
  skipsUnchanged?: boolean
  /** The changes that are refused, and what the caller can do about them. Undefined: all are made. */
  refused?: Refused | undefined
  dryRun?: boolean
  /** Throws if the author may not make such a change. Not called for what stays the same. */
  admit?: Admit
}

export type Admit = (folder: string, action: Step['action']) => void

/** Checks every definition against the state after the change, those first that others refer to. */
export async function planChange(
  { catalog, kinds, clock }: PlanOptions,
  wanted: readonly Wanted[],
  terms: RunTerms,
): Promise<Step[]> {
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
          return stepOf(each, next, at, terms)
        })
        if (step.action !== 'unchanged') await naming(each, () => terms.admit?.(kind.folder, step.action))
        steps.push(step)
      }
      if (kind.refersTo[kind.folder]) steps.push(...(await readAgain(kind, kinds, steps, next, at, terms)))
    }
    await refuseSharedNames(kinds, steps, next, catalog)
    // Before anything is created, and in a dry run as well.
    for (const step of steps) await naming(step, () => catalogChanges([step]).forEach(refuseLarge))
    catalog.refuseMany(catalogChanges(steps))
    for (const step of steps) {
      const { kind, current, after } = step
      if (step.action === 'unchanged') continue
      if (!current) {
        step.changes.push(...((await kind.creation?.(after as Saved, next)) ?? []))
        continue
      }
      await naming(step, () => kind.refuseUsed?.(current, after, next))
      step.changes.push(...((await kind.changes?.(current, after, next)) ?? []))
    }
    return steps
  } finally {
    await next.close()
  }
}

/**
 * Checks what refers to changed definitions of its own kind, or to tables with other columns. What follows from it can change, such as the columns of its result:
 * then it gets a new version. What no longer works is a breaking change of what it refers to.
 */
async function readAgain(
  kind: Kind,
  kinds: readonly Kind[],
  steps: readonly Step[],
  next: NextState,
  at: string,
  terms: RunTerms,
) {
  const again: Step[] = []
  const known = new Set(steps.filter((step) => step.kind === kind).map(({ id }) => id))
  const causes = steps.filter(
    ({ kind: of, action, current, after }) =>
      action === 'updated' && (of === kind || of.changesReaders?.(current as Saved, after as Saved)),
  )
  for (const cause of causes) {
    const references = (item: Saved) =>
      [...new Set([cause.kind.folder, kind.folder])].flatMap(
        (folder) => kind.refersTo[folder]?.(kind.fieldsOf(item)) ?? [],
      )
    const names = new Set(namesOf(cause.after as Saved))
    for (let grew = true; grew; ) {
      grew = false
      for (const item of next.list<Saved>(kind.folder)) {
        if (known.has(item.id) || !references(item).some((name) => names.has(name))) continue
        known.add(item.id)
        for (const name of namesOf(item)) names.add(name)
        grew = true
        const wanted = { kind, id: item.id, current: item, fields: kind.fieldsOf(item) }
        try {
          const step = await stepOf(wanted, next, at, { ...terms, skipsUnchanged: true })
          if (step.action !== 'unchanged') again.push(step)
        } catch (error) {
          if (!(error instanceof WellheadError)) throw error
          const reason = mayReadItem(terms.by, kinds, kind, item) ? `: ${error.message}` : '.'
          const message = `${shownName(terms.by, kinds, kind, item)} would no longer work${reason}`
          cause.changes.push(affectedChange(kind.folder, message))
        }
      }
    }
  }
  return again
}

async function stepOf(
  wanted: Wanted,
  next: NextState,
  at: string,
  { by, note, skipsUnchanged = false, dryRun = false }: RunTerms,
): Promise<Step> {
  const { kind, id, current, fields } = wanted
  const version = (current?.version ?? 0) + 1
  const storedWith = (stored: object) => ({ ...stored, created_at: current?.created_at ?? at, note })
  if (!fields) {
    const { name } = current as Saved
    const prepared = { stored: kind.remainder(current) }
    const body = storedWith(prepared.stored)
    return { ...wanted, name, action: 'deleted', version, changes: [], prepared, body, after: undefined }
  }
  if (typeof fields.name === 'string')
    next.claim(kind, id, { name: fields.name, definition: { name: fields.name } })
  const prepared = await kind.prepare(fields, { id, current, next, dryRun })
  const body = storedWith(prepared.stored)
  const record = { kind: kind.name, id, version, deleted: false, body }
  const after = kind.items.read({ ...record, entry: '', changed_at: at, changed_by: authorId(by) })
  next.put(kind, after, body)
  // Prepared definitions have their fields in the same order.
  const textOf = (item: Saved) => JSON.stringify(kind.fieldsOf(item))
  const isSame = current && textOf(current) === textOf(after) && (kind.isSame?.(current, after) ?? true)
  const action = !current ? 'created' : isSame && skipsUnchanged ? 'unchanged' : 'updated'
  const kept = action === 'unchanged' && current ? current.version : version
  return { ...wanted, name: after.name, action, version: kept, changes: [], prepared, body, after }
}

/** Those first that others of the same kind refer to. */
function inOrder(kind: Kind, wanted: readonly Wanted[]): readonly Wanted[] {
  const references = kind.refersTo[kind.folder]
  if (!references || wanted.length < 2) return wanted
  const ordered = new Set<Wanted>()
  const add = (each: Wanted, around: readonly Wanted[]): void => {
    if (ordered.has(each)) return
    if (around.includes(each)) {
      const circle = [...around.slice(around.indexOf(each)), each]
        .map(({ fields }) => fields?.name)
        .join(' → ')
      throw invalidQuery(`${kind.folder} cannot read each other in a circle: ${circle}.`)
    }
    for (const name of each.fields ? references(each.fields) : []) {
      const inner = wanted.find(({ fields }) => fields?.name === name)
      if (inner) add(inner, [...around, each])
    }
    ordered.add(each)
  }
  for (const each of wanted) add(each, [])
  return [...ordered]
}

import { nameTaken } from '../base/errors.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { namesOf } from '../catalog/items.ts'
import type { Kind, NextDefinitions } from './kind.ts'
import { naming, type Step } from './step.ts'

/** Records that SQL reads by name. A build can lack the feature of a kind; the rows stay, and so do the names. */
const recordsReadBySql = ['endpoint', 'source', 'table']

type Unread = Pick<Catalog, 'hasUnread'>

/** The kind of a name that SQL could read if this build had its feature. */
export function missingKindOf(catalog: Unread, name: string): string | undefined {
  return recordsReadBySql.find((kind) => catalog.hasUnread(kind, name))
}

/** Whether there can be such names. */
export function hasMissingKinds(catalog: Unread): boolean {
  return recordsReadBySql.some((kind) => catalog.hasUnread(kind))
}

/**
 * SQL reads sources, tables and endpoints by name, so each name stands for one of them. The state after the change counts, so
 * that one change can hand a name on. Definitions that had the same name before such a check existed keep it and are reported.
 */
export async function refuseSharedNames(
  kinds: readonly Kind[],
  steps: readonly Step[],
  next: Pick<NextDefinitions, 'list'>,
  catalog: Unread,
): Promise<void> {
  const readKinds = kinds.filter(({ isReadBySql }) => isReadBySql)
  const changed = steps.filter(({ kind, action }) => readKinds.includes(kind) && action !== 'unchanged')
  if (!changed.some(({ after }) => after)) return
  const ownersOf = new Map<string, Set<Kind>>()
  for (const kind of readKinds) {
    for (const name of next.list(kind.folder).flatMap(namesOf)) {
      ownersOf.set(name, (ownersOf.get(name) ?? new Set()).add(kind))
    }
  }
  for (const step of changed) {
    const { kind, current, after } = step
    const previousNames = current ? namesOf(current) : []
    for (const name of after ? namesOf(after) : []) {
      const otherKind = [...(ownersOf.get(name) ?? [])].find((owner) => owner !== kind)
      const other = otherKind?.name ?? missingKindOf(catalog, name)
      if (other === undefined) continue
      if (!previousNames.includes(name)) {
        await naming(step, () => {
          throw nameTaken(name, other)
        })
      }
      const message = `the name ${name} is also that of another ${other}, and SQL reads only one of them; rename one`
      step.changes.push({ kind: 'name_shared', breaking: false, message })
    }
  }
}

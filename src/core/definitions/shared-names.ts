import { nameTaken } from '../base/errors.ts'
import { namesOf } from '../catalog/items.ts'
import type { Kind, NextDefinitions } from './kind.ts'
import { naming, type Step } from './step.ts'

/**
 * SQL reads sources, tables and endpoints by name, so each name stands for one of them. The state after the change counts, so
 * that one change can hand a name on. Definitions that had the same name before such a check existed keep it and are reported.
 */
export async function refuseSharedNames(
  kinds: readonly Kind[],
  steps: readonly Step[],
  next: Pick<NextDefinitions, 'list'>,
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
      const other = [...(ownersOf.get(name) ?? [])].find((owner) => owner !== kind)
      if (!other) continue
      if (!previousNames.includes(name)) {
        await naming(step, () => {
          throw nameTaken(name, other.name)
        })
      }
      const message = `the name ${name} is also that of another ${other.name}, and SQL reads only one of them; rename one`
      step.changes.push({ kind: 'name_shared', breaking: false, message })
    }
  }
}

import { expect, test } from 'vitest'
import type { Kind } from './kind.ts'
import { catalogChanges, type Step } from './step.ts'

const kind = { name: 'source', folder: 'sources' } as Kind
const step = (action: Step['action'], version: number): Step => {
  const times = { created_at: '', updated_at: '', updated_by: '', note: '' }
  const after = action === 'deleted' ? undefined : { id: action, name: action, version, ...times }
  const body = { name: action }
  return {
    ...{ kind, id: action, current: undefined, fields: {}, name: action, action, version, changes: [] },
    ...{ prepared: { stored: {} }, body, after },
  }
}

test('a definition that stays the same counts neither against a limit nor is it stored again', () => {
  const steps = [step('created', 1), step('unchanged', 1), step('updated', 4), step('deleted', 3)]
  expect(catalogChanges(steps).map(({ id, version, deleted }) => [id, version, deleted])).toEqual([
    ['created', 1, false],
    ['updated', 4, false],
    ['deleted', 3, true],
  ])
})

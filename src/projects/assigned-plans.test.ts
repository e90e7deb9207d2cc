import { expect, test } from 'vitest'
import { AssignedPlans } from './assigned-plans.ts'

test('projects that no longer have a plan make room for others', () => {
  const assigned = new AssignedPlans(2)
  for (let n = 0; n < 2_000; n++) {
    assigned.set(`project-${n}`, 'FREE')
    expect(assigned.isFull).toBe(n > 0)
    // The one before leaves.
    assigned.set(`project-${n - 1}`, 'default')
    expect(assigned.isFull).toBe(false)
  }
  expect([assigned.count('FREE'), assigned.get('project-1999')]).toEqual([1, 'FREE'])
})

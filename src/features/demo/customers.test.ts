import { expect, test } from 'vitest'
import { customerRequests } from './traffic.ts'
import { projects } from './world.ts'

test('three customers request mostly cached results, some that are not, and make a few mistakes', () => {
  const requests = customerRequests(1)
  const made = Array.from({ length: 1_000 }, () => requests.next().value as { project: string; path: string })
  expect(new Set(made.map(({ project }) => project))).toEqual(new Set(projects.map(({ ref }) => ref)))
  const share = (pattern: RegExp) => made.filter(({ path }) => pattern.test(path)).length / made.length
  expect(share(/usage|functions/)).toBeGreaterThan(0.6)
  expect(share(/weekly|yesterday/)).toBeGreaterThan(0.01)
  expect(share(/weekly|yesterday/)).toBeLessThan(0.1)
  expect(share(/demo\./)).toBeGreaterThan(0)
  expect(share(/demo\./)).toBeLessThan(0.03)
})

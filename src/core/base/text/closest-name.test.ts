import { expect, test } from 'vitest'
import { closestName } from './closest-name.ts'

test.each([
  ['projct', ['now', 'project', 'project_tier'], 'project'],
  ['edge_log', ['auth_logs', 'edge_logs'], 'edge_logs'],
  ['PROJECT', ['project'], 'project'],
  ['request.pth', ['request.path', 'request.method'], 'request.path'],
  ['form', new Set(['to', 'from']).values(), 'from'],
  ['ot', ['to'], undefined],
  ['hours', ['project'], undefined],
  ['x', [], undefined],
  ['b', ['a'], undefined],
  ['pp', ['p'], 'p'],
  ['x'.repeat(201), ['x'.repeat(201)], undefined],
])('finds what %s most likely means', (name, candidates, closest) => {
  expect(closestName(name, candidates)).toBe(closest)
})

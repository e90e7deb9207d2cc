import { expect, test } from 'vitest'
import type { SavedEndpoint } from '../../core/endpoints/manage/endpoints.ts'
import { toolNames } from './endpoint-tools.ts'
import { builtInNames } from './tool.ts'

const endpoint = (name: string, id: string, created_at: string) =>
  ({ definition: { name, id }, created_at }) as SavedEndpoint
const idOf = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`

/** Names of the tools, by name of the endpoint. */
function named(...endpoints: SavedEndpoint[]): Record<string, string> {
  const names = toolNames(endpoints)
  expect([...names.keys()]).toEqual([...names.keys()].sort())
  expect(names.size).toBe(endpoints.length)
  for (const name of names.keys()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,128}$/)
  return Object.fromEntries([...names].map(([tool, { definition }]) => [definition.name, tool]))
}

test('a tool has the name of its endpoint, with underscores', () => {
  expect(named(endpoint('logs.all', idOf(1), '2026'), endpoint('a-b_c.D', idOf(2), '2026'))).toEqual({
    'logs.all': 'logs_all',
    'a-b_c.D': 'a-b_c_D',
  })
})

test('the oldest endpoint keeps a name that several would have', () => {
  const older = endpoint('a.b', idOf(2), '2025')
  const newer = endpoint('a_b', idOf(1), '2026')
  const expected = { 'a.b': 'a_b', a_b: 'a_b_11111111' }
  expect(named(older, newer)).toEqual(expected)
  expect(named(newer, older)).toEqual(expected)
  expect(named(newer)).toEqual({ a_b: 'a_b' })
})

test('names of built-in tools stay theirs', () => {
  for (const name of builtInNames) {
    expect(named(endpoint(name, idOf(3), '2026'))).toEqual({ [name]: `${name}_33333333` })
  }
})

test('long names and repeated clashes still differ', () => {
  const long = 'x'.repeat(126)
  named(
    endpoint(`${long}.a`, idOf(1), '2025'),
    endpoint(`${long}_a`, idOf(2), '2026'),
    endpoint('a_b', idOf(4), '2024'),
    endpoint('a_b_55555555', idOf(6), '2024'),
    endpoint('a.b', idOf(5), '2026'),
  )
})

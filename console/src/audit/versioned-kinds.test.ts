import { expect, test } from 'vitest'
import { versionedKind } from './versioned-kinds.ts'

test('versions can be compared where a service stores them and has the feature of the kind', () => {
  expect(versionedKind('endpoint.update')).toEqual(['endpoints', 'query'])
  expect(versionedKind('alert.create')).toEqual(['alerts'])
  for (const action of ['alert.delete', 'token.create', 'session']) {
    expect([action, versionedKind(action)]).toEqual([action, undefined])
  }
  const has = (feature: string) => feature === 'tables'
  expect(['endpoint.update', 'table.update'].map((action) => versionedKind(action, has)?.[0])).toEqual([
    'endpoints',
    'tables',
  ])
  expect(['alert.update', 'dashboard.create'].map((action) => versionedKind(action, has))).toEqual([
    undefined,
    undefined,
  ])
})

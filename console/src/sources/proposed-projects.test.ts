import { expect, test } from 'vitest'
import type { SourcePath } from '../api/shapes.ts'
import { proposedProjects } from './proposed-projects.ts'

const seen = (path: string, entries: number, ...examples: string[]) =>
  ({ path, entries, sampled: 100, examples }) as SourcePath

test('proposes the paths that look like what entries belong to', () => {
  const paths = [
    seen('project_ref', 100, 'abc'),
    seen('request.client.address', 100, '10.0.0.1'),
    seen('attributes.tenant%2Eid', 60, 't1'),
    seen('customer.id', 98, 'cus_1'),
    seen('customer.tier', 98, 'gold'),
    seen('orgId', 70, '17'),
    seen('team', 10, 'rare'),
    seen('account', 100, '["a"]'),
    seen('shop.name', 100, 'My shop'),
  ]
  expect(proposedProjects(paths).map(({ path }) => path)).toEqual([
    'customer.id',
    'orgId',
    'attributes.tenant%2Eid',
  ])
})

import { expect, test } from 'vitest'
import { isOwnerPath } from './owner-paths.ts'

test('finds the paths that identify whom an entry belongs to', () => {
  const owners = ['project', 'user.tenant_id', 'customerId', 'shop-id', 'attributes.org%2Eslug']
  const others = ['id', 'projects', 'reorg', 'request.id', 'accounting', 'team.name']
  expect([...owners, ...others].filter(isOwnerPath)).toEqual(owners)
})

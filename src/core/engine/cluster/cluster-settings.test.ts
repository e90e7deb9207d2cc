import { expect, test } from 'vitest'
import { insertSettings, quorumOf, readSettings, schemaSettings } from './cluster-settings.ts'
import type { ClusterLayout } from './topology.ts'

const layout = (replicas: number, replicated = true, mostReplicas = replicas): ClusterLayout => ({
  database: 'wellhead',
  cluster: 'main',
  replicated,
  replicas,
  mostReplicas,
  shardsChanged: false,
})

test.each([
  [1, undefined, 1],
  [2, undefined, 2],
  [3, undefined, 2],
  [3, 3, 3],
  [2, 1, 1],
])('with %i replicas and quorum %s, %i replicas acknowledge', (replicas, wanted, quorum) => {
  expect(quorumOf(layout(replicas), wanted)).toBe(quorum)
})

test('a quorum larger than a shard is refused', () => {
  expect(() => quorumOf(layout(2), 3)).toThrow('Set it to at most 2.')
})

const foreground = { distributed_foreground_insert: 1 }
const quorumOfTwo = { ...foreground, insert_quorum: 2, insert_quorum_timeout: 20_000 }
const majority = { ...quorumOfTwo, insert_quorum: 'auto' }

test.each([
  ['all replicas', 2, 2, 'edge_logs', { ...quorumOfTwo, insert_quorum_parallel: 1 }],
  ['some replicas, in order', 3, 2, 'edge_logs', { ...quorumOfTwo, insert_quorum_parallel: 0 }],
  ['one replica', 2, 1, 'edge_logs', foreground],
  ['two nodes', 2, 2, '_idempotency', { ...quorumOfTwo, insert_quorum_parallel: 1 }],
  ['two nodes', 3, 2, '_idempotency', { ...quorumOfTwo, insert_quorum_parallel: 1 }],
  ['a majority of the nodes, in order', 3, 2, '_catalog', { ...majority, insert_quorum_parallel: 0 }],
  ['a majority of the nodes, in order', 2, 1, '_catalog', { ...majority, insert_quorum_parallel: 0 }],
  ['one replica', 2, 1, '_token_uses', foreground],
])('%s of %i with quorum %i store rows of %s', (_name, replicas, quorum, table, settings) => {
  expect(insertSettings(layout(replicas), quorum, table)).toEqual(settings)
})

test('an insert needs no quorum where nothing is replicated', () => {
  expect(insertSettings(layout(1, false), 1, '_catalog')).toEqual(foreground)
  expect(schemaSettings(layout(1, false))).toEqual({})
})

test('reads wait for the newest entries only if some replicas may lack them', () => {
  const waits = (replicas: number, quorum: number) =>
    'select_sequential_consistency' in readSettings(layout(replicas), quorum)
  expect([waits(1, 1), waits(2, 2), waits(3, 2), waits(3, 3), waits(3, 1)]).toEqual([
    false,
    false,
    true,
    false,
    false,
  ])
  // The quorum is all replicas of the smaller shard, but not of the larger one.
  expect(readSettings(layout(2, true, 3), 2)).toHaveProperty('select_sequential_consistency')
  expect(insertSettings(layout(2, true, 3), 2, 'edge_logs')).toMatchObject({ insert_quorum_parallel: 0 })
})

test('reads ask one shard for a project, unless the shards changed', () => {
  expect(readSettings(layout(2), 2)).toMatchObject({ optimize_skip_unused_shards: 1 })
  expect(readSettings({ ...layout(2), shardsChanged: true }, 2)).toMatchObject({
    optimize_skip_unused_shards: 0,
  })
})

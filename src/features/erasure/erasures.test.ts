import { expect, test } from 'vitest'
import { log } from '../../../test/support/engines.ts'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { ErasureFile } from './erasure-file.ts'
import { Erasures } from './erasures.ts'

test('counts an entry once, however many replicas its shard has', async () => {
  const directory = scratchDirectory()
  // Three replicas of the first shard have the same entries. The second shard has two, without entries.
  const query: Engine['query'] = async ({ sql }) => {
    const rows = sql.includes('clusterAllReplicas(') ? '300' : '100'
    return {
      body: Buffer.from(`${JSON.stringify({ place: 0, rows: [rows], newest: ['0'] })}\n`),
      readRows: 0,
      readBytes: 0,
    }
  }
  const layout = { database: 'logs', cluster: 'c', replicated: true, replicas: 2, mostReplicas: 3 }
  const erasures = new Erasures({
    ...{ engine: { query } as unknown as Engine, time: manualTime(), log, shared: true },
    ...{ topology: () => layout, sourceOf: (name) => name },
    sources: () => [{ id: '1', name: 'edge_logs', project: null }],
    holdEntries: async () => () => {},
    file: new ErasureFile(directory.path),
    eraseTables: async () => true,
  })
  const { rows } = erasures.read({ project: 'demo', ids: ['a'] })
  expect(await erasures.count(rows)).toMatchObject({ entries: 100 })
  directory.remove()
})

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepMetadataAsText } from '../../../src/catalog/migrations/metadata-text-migration.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { embeddedEngine, log } from '../../support/engines.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'

/** A data directory of version 0.1.0 with a retention of ten years. */
const packed = fileURLToPath(new URL('../../data/data-directory-0.1.0.tar.gz', import.meta.url))

const directory = scratchDirectory()
const dataDir = `${directory.path}/data`
let service: RunningService | undefined
let interruptions = 0

const open = () => openService({ dataDir, environment: { WELLHEAD_ADMIN_TOKEN: 'admin-token-0123456789' } })

/** An engine that fails after some statements. */
function endingAfter(engine: Engine, statements: number): Engine {
  let left = statements
  const counted = <T>(run: () => Promise<T>): Promise<T> => {
    if (left-- <= 0) throw new Error('interrupted')
    return run()
  }
  return {
    database: engine.database,
    query: (...given) => counted(() => engine.query(...given)),
    insert: (...given) => counted(() => engine.insert(...given)),
    command: (...given) => counted(() => engine.command(...given)),
    state: () => engine.state(),
    close: () => engine.close(),
  }
}

beforeAll(async () => {
  execFileSync('tar', ['xzf', packed, '-C', directory.path])
  const engine = embeddedEngine(dataDir)
  try {
    await engine.start()
    // Before and after each step of migrating the first day of a source.
    for (const statements of [4, 9, 13, 15, 17, 20]) {
      await expect(
        keepMetadataAsText(
          endingAfter(engine, statements),
          { database: 'wellhead', cluster: undefined, replicated: false },
          log,
        ),
      ).rejects.toThrow('interrupted')
      interruptions++
    }
  } finally {
    await engine.close()
  }
  service = await open()
})
afterAll(async () => {
  await service?.close()
  directory.remove()
})

// biome-ignore lint/suspicious/noExplicitAny: the test knows the shape.
async function get(path: string): Promise<any> {
  const response = await (service as RunningService).call(path)
  expect(response.status).toBe(200)
  return response.json()
}

test('every entry of an older data directory exists once after an interrupted upgrade', async () => {
  expect(interruptions).toBe(6)
  const edge = await get('/api/sources/edge_logs/recent?limit=1000')
  const days = ['2026-10-01', '2026-10-02', '2026-11-10']
  const ids = days.flatMap((day) => Array.from({ length: 40 }, (_, i) => `${day}-${i}`))
  expect(edge.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort())
  expect(edge.find(({ id }: { id: string }) => id === '2026-10-02-7')).toEqual({
    id: '2026-10-02-7',
    timestamp: Date.UTC(2026, 9, 2, 7) * 1000 + 7,
    project: 'p3',
    event_message: 'GET /rest/7',
    metadata: {
      request: {
        url: 'https://p3.example.com/rest/v1/7',
        path: '/rest/v1/7',
        headers: { 'x-a.b': 'dot', n: 9007199254740992 },
      },
      response: { status_code: 207, tags: ['a', 'b'], ok: true, ratio: 0.5 },
    },
  })
  expect(await get('/api/sources/shop/recent?limit=1000')).toHaveLength(25)
  expect(await get('/api/sources/function_edge_logs/recent?limit=1000')).toHaveLength(10)
})

test('an endpoint saved by an older version reads paths, typed columns and metadata as before', async () => {
  const { result } = await get('/api/endpoints/query/shop.cities')
  expect(result).toHaveLength(25)
  expect(result.find(({ id }: { id: string }) => id === 's7')).toEqual({
    id: 's7',
    city: 'Köln',
    total: 10.5,
    path_total: 10.5,
    metadata: { 'a%b': 'x', order: { city: 'Köln', lines: [{ sku: 7 }], total: 10.5 } },
  })
})

test('copied entries expire like others', async () => {
  const { body } = await (service as RunningService).engine.query(
    {
      sql: "SELECT table, min(delete_ttl_info_max) > now() AS expires FROM system.parts WHERE active AND rows > 0 AND table IN ('edge_logs', 'shop') GROUP BY table ORDER BY table",
      format: 'TabSeparatedRaw',
    },
    { deadlineMs: 60_000 },
  )
  expect(body.toString()).toBe('edge_logs\t1\nshop\t1\n')
})

test('a built-in source of an older version gets new typed columns, with values for older entries', async () => {
  const response = await (service as RunningService).call('/api/endpoints', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name: 'old.status',
      query: "SELECT id, status_code FROM edge_logs WHERE id = '2026-10-01-5'",
    }),
  })
  expect(response.status).toBe(201)
  const { result } = await get('/api/endpoints/query/old.status')
  expect(result).toEqual([{ id: '2026-10-01-5', status_code: 205 }])
})

test('endpoints saved by an older version are published, except for those about the service', async () => {
  const endpoints: { name: string; published: boolean }[] = await get('/api/endpoints')
  const unpublished = endpoints.flatMap(({ name, published }) => (published ? [] : name))
  expect(endpoints.length).toBeGreaterThan(2)
  expect(unpublished).toEqual(
    endpoints.map(({ name }) => name).filter((name) => name.startsWith('wellhead.')),
  )
})

const shopSettings = async () => {
  const sql = "SELECT engine_full FROM system.tables WHERE database = 'wellhead' AND name = 'shop'"
  const { body } = await (service as RunningService).engine.query(
    { sql, format: 'TabSeparatedRaw' },
    { deadlineMs: 60_000 },
  )
  return body.toString()
}

test('a restart keeps changed columns, up to the maximum number, and gives older tables the current settings', async () => {
  const settings = ['merge_selector_base', 'min_age_to_force_merge_seconds', 'min_bytes_for_wide_part']
  await (service as RunningService).engine.command(
    { sql: `ALTER TABLE wellhead.shop RESET SETTING ${settings.join(', ')}` },
    { deadlineMs: 60_000 },
  )
  for (const setting of settings) expect(await shopSettings()).not.toContain(setting)
  const { hot_fields: fields } = await get('/api/sources/edge_logs')
  const kept = fields.filter(({ column }: { column: string }) => column !== 'country')
  const own = Array.from({ length: 32 - kept.length }, (_, i) => ({
    column: `own_${i}`,
    path: `own.p${i}`,
    type: 'text',
  }))
  const changed = await (service as RunningService).call('/api/sources/edge_logs', {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ hot_fields: [...kept, ...own] }),
  })
  expect(changed.status).toBe(200)
  await service?.close()
  service = await open()
  const columns = (await get('/api/sources/edge_logs')).hot_fields.map(
    ({ column }: { column: string }) => column,
  )
  expect(columns).toHaveLength(32)
  expect(columns).not.toContain('country')
  for (const setting of settings) expect(await shopSettings()).toContain(setting)
})

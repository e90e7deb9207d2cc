import { deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { version } from '../../../src/core/base/package-file.ts'
import { type Migration, migrate, migrations, schemaVersion } from '../../../src/core/catalog/migrations.ts'
import { coreTables } from '../../../src/core/catalog/own-tables.ts'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { many } from '../../support/engines.ts'
import { logClient } from '../../support/log-client.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { describeLogCallers } from './callers.ts'
import { describeHostedDrains } from './hosted-drains.ts'
import { hostileEntries } from './hostile-entries.ts'
import { describeLogLimits } from './limits.ts'
import { liveJourneys } from './live.ts'
import { describeRepeatedRequests } from './repeated-requests.ts'
import { describeRules } from './rules.ts'
import { describeLogSenders } from './senders.ts'
import { describeSentMetadata } from './sent-metadata.ts'
import { describeSources } from './sources.ts'

describe('sending logs', () => {
  let service: RunningService
  beforeAll(async () => {
    service = await openService()
  })
  afterAll(() => service?.close())

  const { send, recent } = logClient(() => service)

  test('has the nine sources, quarantine, otel_logs and those of the service from the first start', async () => {
    const sources = (await (await service.call('/api/sources')).json()) as {
      name: string
      retention_days: number
    }[]
    expect(sources.map(({ name }) => name)).toEqual([
      'alert_events',
      'audit_events',
      'auth_logs',
      'edge_logs',
      'endpoint_requests',
      'function_edge_logs',
      'function_logs',
      'otel_logs',
      'pgbouncer_logs',
      'postgres_logs',
      'postgrest_logs',
      'quarantine',
      'realtime_logs',
      'storage_logs',
    ])
    const days = sources.map((source) => source.retention_days)
    expect(new Set(days)).toEqual(new Set([90, 30]))
  })

  test('shows an accepted entry to the next query, under the name or alias of its source', async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
    const sent = await send(
      'cloudflare.logs.prod',
      JSON.stringify({
        id: 'my id',
        timestamp: `${yesterday}T10:20:30.123456789+02:00`,
        project: 'abc',
        event_message: 'GET /rest',
        metadata: { request: { url: 'https://abc.example.com/rest/v1' }, 'key.with.dots': 1 },
        extra: ['kept'],
      }),
    )
    expect(sent).toEqual({ status: 200, body: { message: 'Logged!', accepted: 1, rejected: 0, errors: [] } })
    expect(await recent('edge_logs')).toEqual([
      {
        id: 'my id',
        timestamp: Date.parse(`${yesterday}T08:20:30Z`) * 1000 + 123456,
        project: 'abc',
        event_message: 'GET /rest',
        metadata: {
          request: { url: 'https://abc.example.com/rest/v1' },
          'key.with.dots': 1,
          extra: ['kept'],
        },
      },
    ])
  })

  test('accepts every form of body and compression', async () => {
    const entry = (id: string) => ({ id, project: 'forms' })
    const ndjson = `${JSON.stringify(entry('n1'))}\n\n${JSON.stringify(entry('n2'))}`
    const forms: [string | Buffer, Record<string, string>, number][] = [
      [JSON.stringify(entry('o')), {}, 1],
      [JSON.stringify([entry('a1'), entry('a2')]), {}, 2],
      [JSON.stringify({ batch: [entry('b1')] }), { 'Content-Type': 'application/json' }, 1],
      [ndjson, { 'Content-Type': 'application/x-ndjson' }, 2],
      [ndjson.replaceAll('"n', '"m'), { 'Content-Type': 'text/plain' }, 2],
      [gzipSync(JSON.stringify(entry('g'))), { 'Content-Encoding': 'gzip' }, 1],
      [deflateSync(JSON.stringify(entry('d'))), { 'Content-Encoding': 'deflate' }, 1],
    ]
    for (const [body, headers, accepted] of forms) {
      expect((await send('auth_logs', body, headers)).body).toMatchObject({ accepted, rejected: 0 })
    }
    const ids = (await recent('auth_logs')).map(({ id }) => id)
    expect(ids.sort()).toEqual(['a1', 'a2', 'b1', 'd', 'g', 'm1', 'm2', 'n1', 'n2', 'o'])
  })

  test('takes the project from project, metadata.project_ref or metadata.project, in this order', async () => {
    await send(
      'storage_logs',
      JSON.stringify([
        { id: '1', project: 'a', metadata: { project_ref: 'b', project: 'c' } },
        { id: '2', metadata: { project_ref: 'b', project: 'c' } },
        { id: '3', metadata: { project: 'c' } },
        { id: '4' },
      ]),
    )
    const projects = Object.fromEntries(
      (await recent('storage_logs')).map(({ id, project }) => [id, project]),
    )
    expect(projects).toEqual({ 1: 'a', 2: 'b', 3: 'c', 4: '' })
  })

  test('rejects an invalid entry with index and reason, keeps it in quarantine, and stores the others', async () => {
    const sent = await send(
      'postgres_logs',
      JSON.stringify([
        { id: 'good' },
        'no object',
        { timestamp: 'yesterday' },
        { timestamp: Date.now() + 3_700_000 },
        { id: 'x'.repeat(129) },
        { event_message: 'x'.repeat(2 ** 20) },
        { metadata: { half: '\ud800' } },
        { timestamp: Date.now() - 90 * 86_400_000 - 60_000 },
      ]).replace('"\ud800"', '"\\ud800"'),
    )
    expect(sent.status).toBe(200)
    expect([sent.body.accepted, sent.body.rejected]).toEqual([1, 7])
    expect(sent.body.errors.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(sent.body.errors[6]?.reason).toBe("timestamp is older than the source's retention of 90 days")
    expect(sent.body.errors[1]?.reason).toMatch(/^timestamp must be ISO 8601/)
    expect((await recent('postgres_logs')).map(({ id }) => id)).toEqual(['good'])
    const kept = (await recent('quarantine')).filter(({ metadata }) => metadata.source === 'postgres_logs')
    expect(kept).toHaveLength(7)
    expect(kept.map(({ event_message }) => event_message)).toContain('{"timestamp":"yesterday"}')
  })

  test('refuses a whole request that is invalid, too large, or for an unknown source or encoding', async () => {
    const cases: [string, string | Buffer, Record<string, string>, number, string][] = [
      ['edge_logs', '', {}, 400, 'invalid_body'],
      ['edge_logs', 'no json', {}, 400, 'invalid_body'],
      ['edge_logs', '[{"id":1}', {}, 400, 'invalid_body'],
      ['edge_logs', '[\n{"id":"a"},\n{"id":"b"}\n', {}, 400, 'invalid_body'],
      ['edge_logs', '{"id":\n1', { 'Content-Type': 'application/json' }, 400, 'invalid_body'],
      ['edge_logs', '{}', { 'Content-Encoding': 'constructor' }, 415, 'unsupported_media_type'],
      ['edge_logs', Buffer.alloc(2 ** 20, 'x'), { 'Content-Encoding': 'gzip' }, 400, 'invalid_body'],
      ['edge_logs', `[${'{},'.repeat(50_000)}{}]`, {}, 413, 'too_large'],
      ['edge_logs', Buffer.from([0xff, 0xfe]), {}, 400, 'invalid_body'],
      ['edge_logs', 'not gzip', { 'Content-Encoding': 'gzip' }, 400, 'invalid_body'],
      ['edge_logs', '{}', { 'Content-Encoding': 'br' }, 415, 'unsupported_media_type'],
      ['edge_logs', Buffer.alloc(12 * 2 ** 20 + 1, 32), {}, 413, 'too_large'],
      [
        'edge_logs',
        gzipSync(Buffer.alloc(65 * 2 ** 20, 32)),
        { 'Content-Encoding': 'gzip' },
        413,
        'too_large',
      ],
      ['no_such_source', '{}', {}, 404, 'source_not_found'],
      ['', '{}', {}, 400, 'invalid_parameter'],
    ]
    for (const [source, body, headers, status, code] of cases) {
      const sent = await send(source, body, headers)
      expect([sent.status, sent.body.error?.code]).toEqual([status, code])
    }
  })

  test('stores a large body, decoded on a worker thread, like a small one', async () => {
    const entries = Array.from({ length: 1_000 }, (_, i) =>
      i % 100 === 99 ? i : { id: `big-${i}`, project: 'threads', metadata: { text: 'x'.repeat(100) } },
    )
    const sent = await send('auth_logs', JSON.stringify(entries))
    expect([sent.status, sent.body.accepted, sent.body.rejected]).toEqual([200, 990, 10])
    expect(sent.body.errors[9]).toEqual({ index: 999, reason: 'an entry must be a JSON object' })
    const refused = await send('auth_logs', `[${'{},'.repeat(20_000)}`)
    expect([refused.status, refused.body.error?.code]).toEqual([400, 'invalid_body'])
  })

  describeSentMetadata(() => service)

  test('stores or rejects hostile entries without a server error', async () => {
    const answers: [number, number][] = []
    for (const body of hostileEntries) {
      const sent = await send('pgbouncer_logs', body)
      expect(sent.status).toBe(200)
      answers.push([sent.body.accepted, sent.body.rejected])
    }
    expect(answers).toEqual([
      [0, 1],
      [0, 1],
      [many(40, 12), 0],
      [7, 0],
      [0, 1],
      [0, 1],
      [1, 0],
      [1, 0],
      [1, 0],
      [1, 0],
    ])
    expect(await recent('pgbouncer_logs')).toHaveLength(11 + many(40, 12))
    const schema = (await (await service.call('/api/sources/pgbouncer_logs/schema')).json()) as {
      paths: number
    }[]
    expect(schema[0]?.paths).toBeGreaterThan(many(40, 12) * 250)
  })

  test('groups concurrent requests into few inserts', async () => {
    const requests = many(500, 100)
    // The first insert waits until all requests have arrived, however slow the machine is.
    const arrived = new Promise<void>((resolve) => {
      let count = 0
      const { server } = service.http
      const note = () => {
        if (++count < requests) return
        server.off('request', note)
        resolve()
      }
      server.on('request', note)
    })
    const insert = service.engine.insert.bind(service.engine)
    const held = vi.spyOn(service.engine, 'insert').mockImplementation(async (...sent) => {
      await arrived
      return insert(...sent)
    })
    onTestFinished(() => held.mockRestore())
    const sent = await Promise.all(
      Array.from({ length: requests }, (_, i) => send('postgrest_logs', JSON.stringify({ id: `c${i}` }))),
    )
    expect(sent.every(({ status, body }) => status === 200 && body.accepted === 1)).toBe(true)
    const { body } = await service.engine.query(
      {
        // Every insert gets the next block number, which merges keep.
        sql: "SELECT sum(rows), max(max_block_number) FROM system.parts WHERE database = currentDatabase() AND table IN ('postgrest_logs', 'postgrest_logs_local') AND active",
        format: 'TabSeparatedRaw',
      },
      { deadlineMs: 60_000 },
    )
    const [rows, inserts] = body.toString().trim().split('\t').map(Number)
    expect(rows).toBe(requests)
    expect(inserts).toBeLessThan(requests / 10)
  })

  describeSources(() => service)

  test('runs migrations once and in order, and refuses data of newer versions', async () => {
    const topology = topologyOf(service.engine)
    const table = (id: number) => ({
      id,
      statements: () => [`CREATE TABLE _migrated_${id} (a UInt8) ENGINE = MergeTree ORDER BY a`],
    })
    const kept: number[] = []
    const run = (known: readonly Migration[] = migrations) =>
      migrate(service.engine, topology, {
        tables: coreTables,
        known,
        keepCopy: async (schema) => void kept.push(schema),
      })
    expect(await run()).toEqual([])
    expect(kept).toEqual([])
    const known = [...migrations, table(1001), table(1002)]
    expect(await run(known)).toEqual([1001, 1002])
    // Neither statement can run twice.
    expect(await run(known)).toEqual([])
    expect(kept).toEqual([schemaVersion])
    await expect(run()).rejects.toThrow(
      `has schema 1002; this version supports schemas up to ${schemaVersion}. Start Wellhead ${version} or newer`,
    )
  })

  test('returns 401 without a token', async () => {
    const response = await fetch(`${service.url}/api/logs?source=edge_logs`, { method: 'POST', body: '{}' })
    expect(response.status).toBe(401)
  })

  describeHostedDrains(() => service)
  describeLogSenders(() => service)
  describeRules(() => service)
  describeLogCallers(() => service)
  describeRepeatedRequests(() => service)
  describeLogLimits(() => service)
  liveJourneys(() => service)
})

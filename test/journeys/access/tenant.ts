import { beforeAll, describe, expect, test } from 'vitest'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { randomOf } from '../../../src/features/demo/random.ts'
import { ask, type JsonResponse, type MadeToken, makeToken } from '../../support/callers.ts'
import { many, natively } from '../../support/engines.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'
import {
  entriesOf,
  failingReaders,
  foreignRows,
  idsOf,
  innerEndpoints,
  leakedProjects,
  listReaders,
  nestedReaders,
  projects,
  readers,
  secretOf,
  tableReaders,
} from './ways-to-read.ts'

/** All ways to read, or a quarter of them where the engine is emulated. */
const allWays = [...readers, ...failingReaders, ...tableReaders, ...nestedReaders, ...listReaders]
  .map((sql, n) => ({ sql, name: `tenants.way-${n}` }))
  .filter((_, n) => n % natively(1, 4) === 0)
const isWithList = ({ sql }: { sql: string }) => sql.includes('@others')
const pathOf = (way: { name: string; sql: string }, project: string) => {
  const others = isWithList(way) ? '&others=Tenant-A&others=x,y' : ''
  return `${way.name}?mine=${encodeURIComponent(idsOf(project))}${others}`
}

export function tenantJourneys(running: () => RunningService, clock: ManualClock): void {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const query = (token: MadeToken, path: string, body?: unknown) =>
    ask(running(), token.token, body === undefined ? 'GET' : 'POST', `/api/endpoints/query/${path}`, body)

  describe('tenants', () => {
    const tokens = new Map<string, MadeToken>()
    const tokenOf = (project: string) => tokens.get(project) as MadeToken

    let ways: typeof allWays
    /** Responses of the first tenant, before and after others had entries. */
    let alone: unknown[]
    let among: unknown[]
    const rows: object[] = []
    const send = async (senders: readonly string[]) => {
      const at = new Date(clock.now() - 60_000).toISOString()
      for (const source of ['edge_logs', 'auth_logs']) {
        const entries = senders.flatMap((project) => entriesOf(project, at))
        expect((await admin('POST', `/api/logs?source=${source}`, entries)).body.rejected).toBe(0)
      }
      rows.push(...senders.flatMap((project) => entriesOf(project, at)).map(({ metadata: _, ...row }) => row))
      for (const table of ['edge_rows', 'auth_rows']) {
        expect((await admin('PUT', `/api/tables/${table}/rows`, rows)).status).toBe(200)
      }
    }
    const responses = async (token: string, project: string) => {
      const all: { sql: string; status: number; body: unknown }[] = []
      for (const way of ways) {
        const path = `/api/endpoints/query/${pathOf(way, project)}`
        const { status, body } = await ask(running(), token, 'GET', path)
        all.push({ sql: way.sql, status, body: body.result ?? body })
      }
      return all
    }

    beforeAll(async () => {
      for (const project of projects) {
        tokens.set(project, await makeToken(running(), { scopes: ['query', 'ingest'], project }))
      }
      // ClickHouse refuses correlated subqueries over distributed tables.
      const onCluster = topologyOf(running().engine).cluster !== undefined
      ways = allWays.filter(({ sql }) => !(onCluster && sql.includes('EXISTS')))
      const columns = ['project', 'id', 'event_message'].map((name) => ({ name, type: 'text' }))
      columns.push({ name: 'timestamp', type: 'timestamp' })
      const tables = ['edge_rows', 'auth_rows'].map((name) => ({ name, columns }))
      const endpoints = ways.map((way) => ({
        ...{ name: way.name, query: way.sql, published: true },
        ...(isWithList(way) && { parameters: { others: { type: 'list' } } }),
      }))
      const all = { tables, endpoints: [...innerEndpoints, ...endpoints] }
      const made = await admin('POST', '/api/deployments', all)
      expect(made.status, JSON.stringify(made.body)).toBe(200)
      const [first, ...others] = projects
      await send([first])
      alone = await responses(tokenOf(first).token, first)
      await send(others)
      among = await responses(tokenOf(first).token, first)
    })

    test('a tenant gets the same whether or not others have entries, however a source is read', async () => {
      expect(among).toEqual(alone)
      expect(among).toEqual(ways.map(({ sql }) => ({ sql, status: 200, body: expect.any(Array) })))
    })

    test('each of these ways shows entries of others to an admin, so it would show a leak', async () => {
      const all = await responses(running().adminToken.token, projects[0])
      for (const [n, response] of all.entries()) expect(response, response.sql).not.toEqual(among[n])
    })

    test.each(projects)('%s sees only its own rows', async (project) => {
      for (const way of ways.filter((_, n) => n % 4 === 0)) {
        const { status, body } = await query(tokenOf(project), pathOf(way, project))
        const text = JSON.stringify(body)
        expect(status, `${way.sql} ${text}`).toBe(200)
        expect([leakedProjects(text, project), foreignRows(text, project)], way.sql).toEqual([[], 0])
      }
    })

    test("parameters cannot override the token's project", async () => {
      const token = tokenOf('tenant-a')
      const [refused, twice, fine] = [403, 400, 200]
      const cases: [string, unknown, number][] = [
        ['logs.all', undefined, fine],
        ['logs.all?project=tenant-a', undefined, fine],
        ['logs.all', { project: null }, fine],
        ['logs.all?project=Tenant-A', undefined, refused],
        ['logs.all?project=tenant-a%25', undefined, refused],
        ['logs.all?project=tenant%252Da', undefined, refused],
        ['logs.all?project=', undefined, refused],
        ['logs.all?project=.*', undefined, refused],
        ['logs.all?project=tenant-a&project=Tenant-A', undefined, twice],
        ['logs.all?project=tenant-a', { project: 'Tenant-A' }, twice],
        ['logs.all', { project: 'Tenant-A' }, refused],
        ['logs.all', { project: ['tenant-a'] }, twice],
        ['logs.all?Project=Tenant-A&PROJECT=x&project%00=x', undefined, fine],
        ['logs.all?project%20=Tenant-A', undefined, fine],
        ['tenants.way-0?project=Tenant-A', undefined, refused],
        ['usage.api-counts?interval=daily&project=.*', undefined, refused],
        ['usage.api-counts?interval=daily&project=tenant-a|.*', undefined, refused],
        ['logs.all?sql=SELECT%20*%20FROM%20edge_logs', undefined, fine],
        ['logs.all?_explain=1', undefined, refused],
        ['logs.all?_version=1&_format=ndjson', undefined, fine],
        ['tenants.way-0?project=tenant-a&_strict=1', undefined, fine],
        ['tenants.way-0?other=tenant-a&_strict=1', undefined, twice],
      ]
      for (const [path, body, status] of cases) {
        const answer = await query(token, path, body)
        expect(answer.status, `${path} ${JSON.stringify(body)}`).toBe(status)
        const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
        for (const other of projects.slice(1)) expect(text, path).not.toContain(secretOf(other))
      }
    })

    test('a tenant cannot distinguish existing projects from missing ones', async () => {
      const [there, notThere] = await Promise.all(
        ['Tenant-A', 'nobody-at-all'].map((project) =>
          query(tokenOf('tenant-a'), `logs.all?project=${project}`),
        ),
      )
      const { request_id: _one, ...one } = (there as JsonResponse).body.error
      const { request_id: _other, ...other } = (notThere as JsonResponse).body.error
      expect(one).toEqual(other)
    })

    test('a tenant can send entries for its own project only', async () => {
      const sent = await ask(running(), tokenOf('tenant-a').token, 'POST', '/api/logs?source=storage_logs', [
        { event_message: 'no project said' },
        { event_message: 'own', project: 'tenant-a' },
        { event_message: 'foreign', project: 'Tenant-A' },
        { event_message: 'foreign inside', metadata: { project_ref: 'Tenant-A' } },
      ])
      expect(sent.body).toMatchObject({ accepted: 2, rejected: 2 })
      expect(sent.body.errors.map(({ index }: { index: number }) => index)).toEqual([2, 3])
      const { body } = await admin('GET', '/api/sources/storage_logs/recent')
      expect(body.map(({ project }: { project: string }) => project)).toEqual(['tenant-a', 'tenant-a'])
    })

    test('no concurrent caller sees rows of another project, even if requests fail or are aborted', async () => {
      await admin('POST', '/api/endpoints', {
        published: true,
        name: 'tenants.failing',
        query:
          'SELECT id, event_message, intDiv(1, number < 100) AS q FROM edge_logs CROSS JOIN numbers(1000) AS n ORDER BY number',
      })
      await admin('POST', '/api/endpoints', {
        published: true,
        name: 'tenants.slow',
        query:
          'SELECT event_message FROM edge_logs UNION ALL SELECT toString(sum(sipHash64(number))) FROM numbers(100000000000)',
        timeout_seconds: 1,
      })
      await admin('POST', '/api/endpoints', {
        published: true,
        name: 'tenants.sandbox',
        sandbox: true,
        query: 'WITH entries AS (SELECT id, project, event_message FROM edge_logs) SELECT * FROM entries',
      })
      const sandboxed = [
        'SELECT * FROM entries',
        "SELECT count() AS n FROM entries WHERE project != 'x'",
        'SELECT max(event_message) AS m FROM entries WHERE toUInt8OrZero(id) = 0',
        'SELECT a.event_message AS m FROM entries AS a JOIN entries AS b ON a.id = b.id',
        'SELECT event_message FROM entries WHERE id IN (SELECT id FROM entries)',
      ]
      const paths = [
        ...ways.filter(({ sql }) => readers.includes(sql)).map(({ name }) => name),
        ...['logs.all', 'usage.api-counts?interval=daily', 'functions.invocation-stats?interval=7day'],
        ...sandboxed.map((sql) => `tenants.sandbox?sql=${encodeURIComponent(sql)}`),
      ]
      const seed = Number(process.env.WELLHEAD_TEST_SEED ?? Date.now() % 100_000)
      const random = randomOf(seed).next
      const below = (limit: number) => Math.floor(random() * limit)
      const leaked: string[] = []
      let left = many(natively(10_000, 300), 30)
      const caller = async () => {
        while (left-- > 0) {
          const project = projects[below(projects.length)] as string
          const dice = below(100)
          const trouble = dice < 15 ? 'tenants.failing' : dice < 18 ? 'tenants.slow' : undefined
          const path = trouble ?? (paths[below(paths.length)] as string)
          const { status, body } = await query(tokenOf(project), path)
          const details = `seed ${seed}, ${path} ${JSON.stringify(body).slice(0, 200)}`
          if (trouble) expect([422, 504], details).toContain(status)
          else expect(status, details).toBe(200)
          const text = JSON.stringify(body)
          if (leakedProjects(text, project).length > 0) leaked.push(`${project}: ${details}`)
        }
      }
      await Promise.all(Array.from({ length: 6 }, caller))
      expect(leaked).toEqual([])
    })
  })
}

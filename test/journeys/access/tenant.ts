import { beforeAll, describe, expect, test } from 'vitest'
import { randomOf } from '../../../src/demo/random.ts'
import { ask, type JsonResponse, type MadeToken, makeToken } from '../../support/callers.ts'
import { many, natively } from '../../support/engines.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'
import { counters, oracles, projects, readers, secretOf } from './tenant-queries.ts'

export function tenantJourneys(running: () => RunningService, clock: ManualClock): void {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const query = (token: MadeToken, path: string, body?: unknown) =>
    ask(running(), token.token, body === undefined ? 'GET' : 'POST', `/api/endpoints/query/${path}`, body)

  describe('tenants', () => {
    const tokens = new Map<string, MadeToken>()
    const tokenOf = (project: string) => tokens.get(project) as MadeToken

    beforeAll(async () => {
      const at = new Date(clock.now() - 60_000).toISOString()
      const url = 'https://any.example.com/rest/v1'
      for (const source of ['edge_logs', 'auth_logs']) {
        const entries = projects.flatMap((project) =>
          [1, 2].map((n) => ({
            id: `${project}/${n}`,
            project,
            timestamp: at,
            event_message: secretOf(project),
            metadata: { request: { url, path: '/rest/v1' } },
          })),
        )
        expect((await admin('POST', `/api/logs?source=${source}`, entries)).body.accepted).toBe(8)
      }
      await Promise.all(
        projects.map(async (project) =>
          tokens.set(project, await makeToken(running(), { scopes: ['query', 'ingest'], project })),
        ),
      )
      await Promise.all(
        Object.entries({ ...readers, ...counters, ...oracles }).map(async ([name, sql]) => {
          const made = await admin('POST', '/api/endpoints', {
            published: true,
            name: `tenants.${name}`,
            query: sql,
          })
          expect(made.status, `${name} ${JSON.stringify(made.body)}`).toBe(201)
        }),
      )
    })

    test.each(projects)('%s sees only its own rows, however a source is read', async (project) => {
      for (const name of Object.keys(readers)) {
        const { status, body } = await query(tokenOf(project), `tenants.${name}`)
        expect(status, JSON.stringify(body)).toBe(200)
        const rows = body.result as { id: string; project: string }[]
        expect(rows.length, name).toBeGreaterThan(0)
        expect([...new Set(rows.map((row) => row.project))], name).toEqual([project])
        expect(
          rows.every(({ id }) => id.startsWith(`${project}/`)),
          name,
        ).toBe(true)
      }
    })

    test("counts include only the tenant's rows", async () => {
      for (const name of Object.keys(counters)) {
        const { body } = await query(tokenOf('tenant-a'), `tenants.${name}`)
        expect(body.result[0].n, name).toBe(name === 'max-of-two' ? 0 : 2)
      }
    })

    test('a query that fails on rows of other projects succeeds, because it reads none', async () => {
      for (const name of Object.keys(oracles)) {
        const mine = encodeURIComponent(secretOf('tenant-a'))
        const own = await query(tokenOf('tenant-a'), `tenants.${name}?mine=${mine}`)
        expect(own.status, `${name} ${JSON.stringify(own.body)}`).toBe(200)
        // It fails for an admin, so the query is a valid test.
        expect((await admin('GET', `/api/endpoints/query/tenants.${name}?mine=${mine}`)).status, name).toBe(
          422,
        )
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
        ['tenants.plain?project=Tenant-A', undefined, refused],
        ['usage.api-counts?interval=daily&project=.*', undefined, refused],
        ['usage.api-counts?interval=daily&project=tenant-a|.*', undefined, refused],
        ['logs.all?sql=SELECT%20*%20FROM%20edge_logs', undefined, fine],
        ['logs.all?_explain=1', undefined, refused],
        ['logs.all?_version=1&_format=ndjson', undefined, fine],
        ['tenants.plain?project=tenant-a&_strict=1', undefined, fine],
        ['tenants.plain?other=tenant-a&_strict=1', undefined, twice],
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
        ...Object.keys(readers).map((name) => `tenants.${name}`),
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
          for (const other of projects) {
            // As in a row, and as in an error that quotes it.
            const secret = JSON.stringify(secretOf(other)).slice(1, -1)
            if (other !== project && text.includes(secret)) leaked.push(`${project}: ${details}`)
          }
        }
      }
      await Promise.all(Array.from({ length: 6 }, caller))
      expect(leaked).toEqual([])
    })
  })
}

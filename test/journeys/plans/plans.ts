import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { type EventReader, openEvents } from '../../support/network/event-reader.ts'
import type { RunningService } from '../../support/service.ts'

const dayMs = 86_400_000
const query = '/api/endpoints/query'

/** Projects have names of their own, since other journeys share the service. */
export function planJourneys(running: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, path, body, headers)
  const assign = async (project: string, plan: string) => {
    const path = `/api/projects/${encodeURIComponent(project)}?breaking=true`
    const { status, body } = await admin('PUT', path, { plan })
    expect([status, body]).toMatchObject([200, { project, plan }])
  }
  const at = (days: number) => new Date(Date.now() - days * dayMs).toISOString()
  const send = (source: string, entries: object[]) => admin('POST', `/api/logs?source=${source}`, entries)

  describe('plans', () => {
    const readers: EventReader[] = []
    let tenant: MadeToken
    const tenantAsks = (method: string, path: string, body?: unknown) =>
      ask(running(), tenant.token, method, path, body)
    const idsOf = ({ body }: { body: { result: { id: string }[] } }) => body.result.map(({ id }) => id)
    const lines = (body: string | { id: string }[]): string[] => {
      const entries =
        typeof body === 'string'
          ? body
              .split('\n')
              .filter(Boolean)
              .map((line) => JSON.parse(line))
          : body
      return entries.map(({ id }: { id: string }) => id)
    }

    beforeAll(async () => {
      await admin('POST', '/api/sources', { name: 'plan_logs', published: true })
      const plans = [
        { name: 'PLAN_DAY', retention_days: 1 },
        { name: 'PLAN_WEEK', retention_days: 7 },
        { name: 'PLAN_FEW', requests_per_minute: 5 },
      ]
      expect((await admin('POST', '/api/deployments', { plans })).body.plans).toHaveLength(3)
      const all = 'SELECT id, timestamp FROM plan_logs ORDER BY timestamp DESC'
      for (const [name, more] of [
        ['plan.all', { cache_seconds: 600 }],
        ['plan.fresh', {}],
        ['plan.box', { sandbox: true, query: 'WITH logs AS (SELECT * FROM plan_logs) SELECT id FROM logs' }],
      ] as const) {
        const made = await admin('POST', '/api/endpoints', { name, query: all, published: true, ...more })
        expect(made.status, JSON.stringify(made.body)).toBe(201)
      }
      tenant = await makeToken(running(), { scopes: ['query', 'search', 'ingest'], project: 'plan-a' })
      const entries = [0, 3, 20].map((days) => ({ id: `d${days}`, project: 'plan-a', timestamp: at(days) }))
      const others = entries.map((entry) => ({ ...entry, project: 'plan-b' }))
      expect((await send('plan_logs', [...entries, ...others])).body).toMatchObject({ accepted: 6 })
    })
    afterAll(() => {
      for (const reader of readers) reader.close()
    })

    const ways: [string, () => Promise<string[]>][] = [
      ['a cached endpoint', async () => idsOf(await tenantAsks('GET', `${query}/plan.all`))],
      ['an endpoint', async () => idsOf(await tenantAsks('GET', `${query}/plan.fresh`))],
      [
        'a sandbox',
        async () =>
          idsOf(
            await tenantAsks(
              'GET',
              `${query}/plan.box?sql=${encodeURIComponent('SELECT id FROM logs ORDER BY id')}`,
            ),
          ),
      ],
      [
        'a search',
        async () =>
          lines(
            (await tenantAsks('POST', '/api/sources/plan_logs/search', { from: at(80), limit: 10 })).body,
          ),
      ],
      [
        'an export',
        async () => lines((await tenantAsks('POST', '/api/sources/plan_logs/export', { from: at(80) })).body),
      ],
      [
        'a tool',
        async () => {
          const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
          const params = { name: 'plan_fresh', arguments: {} }
          const { body } = await tenantAsks('POST', '/mcp', { ...call, params })
          return [...JSON.stringify(body.result.content).matchAll(/d(?:0|3|20)\b/g)].map(([id]) => id)
        },
      ],
    ]
    const seen = async () => {
      const all: Record<string, string[]> = {}
      for (const [name, read] of ways) all[name] = (await read()).sort()
      return all
    }
    const expected = (...ids: string[]) => Object.fromEntries(ways.map(([name]) => [name, ids]))

    test('bound how far back a tenant sees, at once and everywhere, and give back what is stored', async () => {
      expect(await seen()).toEqual(expected('d0', 'd20', 'd3'))
      await assign('plan-a', 'PLAN_DAY')
      expect(await seen()).toEqual(expected('d0'))
      await assign('plan-a', 'PLAN_WEEK')
      expect(await seen()).toEqual(expected('d0', 'd3'))
      await admin('PATCH', '/api/plans/PLAN_WEEK', { retention_days: 30 })
      expect(await seen()).toEqual(expected('d0', 'd20', 'd3'))
      await admin('PATCH', '/api/plans/PLAN_WEEK?breaking=true', { retention_days: 7 })
      expect((await admin('GET', `${query}/plan.fresh`)).body.result).toHaveLength(6)
      await assign('plan-a', 'default')
    })

    test('cannot be escaped by an entry, its context, counts or values', async () => {
      await assign('plan-a', 'PLAN_DAY')
      const post = (path: string, body: object) => tenantAsks('POST', `/api/sources/plan_logs/${path}`, body)
      expect((await tenantAsks('GET', '/api/sources/plan_logs/entries/d3')).status).toBe(404)
      const { body: counted } = await post('histogram', { from: at(80) })
      expect(counted.buckets.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(1)
      expect((await post('values', { from: at(80), path: 'id' })).body).toEqual([{ value: 'd0', count: 1 }])
      const recent = await tenantAsks('GET', '/api/sources/plan_logs/recent')
      expect(recent.body.map(({ id }: { id: string }) => id)).toEqual(['d0'])
      await assign('plan-a', 'default')
    })

    test('end live streams that were begun with another plan, and hold for live entries', async () => {
      await assign('plan-a', 'PLAN_WEEK')
      const open = async () => {
        const reader = await openEvents(`${running().url}/api/sources/plan_logs/tail`, tenant.token)
        readers.push(reader)
        return reader
      }
      const before = await open()
      await assign('plan-a', 'PLAN_DAY')
      await expect.poll(async () => (await before.next()) === undefined).toBe(true)
      const after = await open()
      const entry = (id: string, days: number) => ({ id, project: 'plan-a', timestamp: at(days) })
      await send('plan_logs', [entry('old', 2), entry('new', 0)])
      expect(JSON.parse((await after.next())?.data ?? '').id).toBe('new')
      await assign('plan-a', 'default')
    })

    test('limit requests per minute over all tokens of a project', async () => {
      await assign('plan-few', 'PLAN_FEW')
      const tokens = await Promise.all(
        [1, 2].map(() => makeToken(running(), { scopes: ['query'], project: 'plan-few' })),
      )
      const statuses: number[] = []
      for (let i = 0; i < 7; i++) {
        const { token } = tokens[i % 2] as MadeToken
        const { status, headers, body } = await ask(running(), token, 'GET', `${query}/plan.fresh`)
        statuses.push(status)
        if (status !== 429) continue
        expect(body.error.message).toBe(
          'All tokens of this project together are limited to 5 requests per minute.',
        )
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
      // Refused requests are not billed.
      const usage = () => admin('GET', '/api/project-usage?project=plan-few')
      await expect.poll(async () => (await usage()).body).toMatchObject([{ requests: 5 }])
      await assign('plan-few', 'default')
      expect((await ask(running(), tokens[0]?.token, 'GET', `${query}/plan.fresh`)).status).toBe(200)
    })

    test('fix a parameter of all tokens of their projects, also of sessions', async () => {
      const query = "SELECT 'tier ' || @project_tier AS tier"
      await admin('POST', '/api/endpoints', { name: 'plan.tier', query, published: true, strict: true })
      const one = { project: 'plan-tier', scopes: ['query', 'search'] }
      const { token } = await makeToken(running(), one)
      const chosen = await makeToken(running(), { ...one, parameters: { project_tier: 'CHOSEN' } })
      const tierOf = async (secret: string | undefined, tier = '') => {
        const path = `/api/endpoints/query/plan.tier${tier && `?project_tier=${tier}`}`
        const { status, body } = await ask(running(), secret, 'GET', path)
        return status === 200 ? body.result[0].tier : status
      }
      const session = async (secret: string, parameters = {}) => {
        const fields = { minutes: 5, parameters }
        const path = '/api/access-tokens/self/session'
        const { status, body } = await ask(running(), secret, 'POST', path, fields)
        return status === 201 ? (body.token as string) : `${status} ${body.error.parameter}`
      }
      const early = await session(token, { project_tier: 'PLAN_WEEK' })
      expect(await tierOf(early)).toBe('tier PLAN_WEEK')
      await assign('plan-tier', 'PLAN_DAY')
      expect([await tierOf(token), await tierOf(token, 'PLAN_WEEK')]).toEqual(['tier PLAN_DAY', 403])
      expect(await tierOf(chosen.token)).toBe('tier CHOSEN')
      expect(await session(token, { project_tier: 'PLAN_WEEK' })).toBe('400 parameters.project_tier')
      expect(await tierOf(early)).toBe(401)
      const plain = await session(token)
      expect(await tierOf(plain)).toBe('tier PLAN_DAY')
      const search = await ask(running(), plain, 'POST', '/api/sources/plan_logs/search', {})
      expect(search.status).toBe(200)
      // Who has the tokens of all projects may choose.
      const fields = {
        minutes: 5,
        scopes: ['query'],
        project: 'plan-tier',
        parameters: { project_tier: 'PAYG' },
      }
      const made = await admin('POST', '/api/access-tokens/self/session', fields)
      expect(await tierOf(made.body.token)).toBe('tier PAYG')
      await assign('plan-tier', 'PLAN_WEEK')
      expect(await tierOf(plain)).toBe('tier PLAN_WEEK')
      await assign('plan-tier', 'default')
    })

    test('hold for projects without another plan if they are called default', async () => {
      const made = await admin('POST', '/api/plans?breaking=true', { name: 'default', retention_days: 7 })
      expect(made.status).toBe(201)
      expect(await seen()).toMatchObject({ 'an endpoint': expect.not.arrayContaining(['d20']) })
      expect((await admin('DELETE', '/api/plans/default')).status).toBe(204)
      expect(await seen()).toMatchObject({ 'an endpoint': expect.arrayContaining(['d20']) })
    })

    test('that projects have are deleted or renamed only if the caller insists', async () => {
      await admin('POST', '/api/plans', { name: 'PLAN_USED' })
      await assign('plan-used', 'PLAN_USED')
      const message = expect.stringContaining(
        '; project plan-used gets the plan default; no entries are hidden',
      )
      const changes = [{ definition: 'plans/PLAN_USED', message, entries: 0, oldest: null }]
      const refused = { error: { code: 'breaking_change', changes } }
      const deleted = await admin('DELETE', '/api/plans/PLAN_USED')
      expect([deleted.status, deleted.body]).toMatchObject([409, refused])
      const renamed = await admin('PATCH', '/api/plans/PLAN_USED', { name: 'PLAN_OTHER' })
      expect([renamed.status, renamed.body]).toMatchObject([409, refused])
      const owner = await makeToken(running(), { scopes: ['query'], project: 'plan-used' })
      const shown = async () => [
        (await admin('GET', '/api/projects/plan-used')).body.plan,
        (await ask(running(), owner.token, 'GET', '/api/projects/plan-used')).body.plan,
        (await ask(running(), owner.token, 'GET', '/api/whoami')).body.plan.name,
        ...(await admin('GET', '/api/projects?search=plan-used')).body.map(
          ({ plan }: { plan: string }) => plan,
        ),
      ]
      expect(await shown()).toEqual(Array(4).fill('PLAN_USED'))
      expect((await admin('DELETE', '/api/plans/PLAN_USED?breaking=true')).status).toBe(204)
      expect(await shown()).toEqual(Array(4).fill('default'))
      await admin('POST', '/api/plans', { name: 'PLAN_USED' })
      await assign('plan-used', 'default')
      expect((await admin('DELETE', '/api/plans/PLAN_USED')).status).toBe(204)
    })

    test.each([
      ['a'.repeat(1000), 'project', 'at most 256 characters'],
      ['a\u0007b', 'project', 'control characters'],
    ])('refuse the project %j', async (project, parameter, message) => {
      const path = `/api/projects/${encodeURIComponent(project)}`
      const { status, body } = await admin('PUT', path, { plan: 'default' })
      expect([status, body.error.parameter, body.error.message]).toEqual([
        400,
        parameter,
        expect.stringContaining(message),
      ])
    })

    test.each([
      [{ plan: 'ABSENT' }, 'No plan has the name "ABSENT"'],
      [{ plan: 5 }, 'must be the name of a plan'],
      [{}, 'is required'],
      [{ plan: 'default', more: 1 }, 'more'],
    ])('refuse %j for a project', async (body, message) => {
      const refused = await admin('PUT', '/api/projects/plan-bad', body)
      expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining(message)])
    })

    test('take names of projects with every character that a token can have', async () => {
      await admin('POST', '/api/plans', { name: 'PLAN_ODD', retention_days: 5 })
      const odd = `${'ö'.repeat(200)}/%'"\\ {x}`
      await assign(odd, 'PLAN_ODD')
      expect((await admin('GET', `/api/projects/${encodeURIComponent(odd)}`)).body.plan).toBe('PLAN_ODD')
      await assign(odd, 'default')
    })

    test('are changed and assigned by admins only, and each change is in the audit', async () => {
      const editor = await makeToken(running(), { scopes: ['edit'] })
      for (const [method, path] of [
        ['POST', '/api/plans'],
        ['PUT', '/api/projects/plan-x'],
        ['POST', '/api/erasures'],
      ] as const) {
        expect((await ask(running(), editor.token, method, path, {})).status).toBe(403)
      }
      expect((await ask(running(), editor.token, 'GET', '/api/projects')).status).toBe(200)
      expect((await ask(running(), tenant.token, 'GET', '/api/projects')).status).toBe(403)
      await assign('plan-audited', 'PLAN_DAY')
      const { body } = await admin('POST', '/api/sources/audit_events/search', { query: 'plan-audited' })
      expect(body[0].metadata).toMatchObject({
        action: 'project.update',
        target: 'plan-audited',
        note: 'plan PLAN_DAY',
      })
      await assign('plan-audited', 'default')
    })
  })
}

import { describe, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'

let service: RunningService
sharedService((shared) => {
  service = shared
})
const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  ask(service, service.adminToken.token, method, path, body, headers)
const deploy = (body: object) => admin('POST', '/api/deployments', body)
const status = async (path: string) => (await admin('GET', path)).status

const total = { name: 'total', path: 'total', type: 'number' }
const shopOf = (name: string) => ({
  sources: [{ name, columns: [total] }],
  endpoints: [
    {
      name: `${name}.sum`,
      query: `SELECT sum(total) AS total, count() AS n FROM ${name} AS o WHERE o.total > 0`,
    },
  ],
  alerts: [{ name: `${name}-many`, endpoint: `${name}.sum`, when: 'any(total) > 5', enabled: false }],
})
const pathsOf = (name: string) => [
  `/api/sources/${name}`,
  `/api/endpoints/${name}.sum`,
  `/api/alerts/${name}-many`,
]
const tables = async (name: string) => {
  const sql = `SELECT name FROM system.tables WHERE database = currentDatabase() AND (name = '${name}' OR name LIKE 'scratch%')`
  const { body } = await service.engine.query({ sql, format: 'TabSeparated' }, { deadlineMs: 30_000 })
  return body.toString().trim()
}

describe('a deployment', () => {
  test('creates a source, an endpoint that reads it and an alert on that together', async () => {
    const shop = shopOf('shop_new')
    const planned = await deploy({ ...shop, dry_run: true })
    expect([planned.status, await tables('shop_new')]).toEqual([200, ''])
    for (const path of pathsOf('shop_new')) expect(await status(path)).toBe(404)
    const { status: code, body } = await deploy({ ...shop, note: 'a shop' })
    expect([code, body]).toMatchObject([
      200,
      {
        dry_run: false,
        sources: [{ name: 'shop_new', action: 'created', version: 1, changes: [], warnings: [] }],
        endpoints: [
          {
            name: 'shop_new.sum',
            action: 'created',
            columns: [{ type: 'Nullable(Float64)' }, { name: 'n' }],
          },
        ],
        alerts: [{ name: 'shop_new-many', action: 'created', version: 1 }],
      },
    ])
    for (const path of pathsOf('shop_new')) {
      expect((await admin('GET', path)).body).toMatchObject({
        version: 1,
        note: 'a shop',
        updated_by: 'admin',
      })
    }
    await admin('POST', '/api/logs?source=shop_new', [{ metadata: { total: 3 } }, { metadata: { total: 4 } }])
    const { body: called } = await admin('GET', '/api/endpoints/query/shop_new.sum')
    expect(called.result).toEqual([{ total: 7, n: 2 }])
    const again = (await deploy(shop)).body
    expect(['sources', 'endpoints', 'alerts'].map((kind) => again[kind][0].action)).toEqual(
      Array(3).fill('unchanged'),
    )
  })

  test.each([
    ['alerts/shop_bad-many', { alerts: [{ ...shopOf('shop_bad').alerts[0], when: 'any(absent) > 5' }] }, 400],
    [
      'endpoints/shop_bad.sum',
      { endpoints: [{ name: 'shop_bad.sum', query: 'SELECT absent FROM shop_bad' }] },
      422,
    ],
    [
      'sources/edge_logs',
      { sources: [...shopOf('shop_bad').sources, { name: 'edge_logs', columns: 5 }] },
      400,
    ],
    ['endpoints/no.such', { delete: { endpoints: ['no.such'] } }, 404],
  ])('with %s that is wrong stores nothing', async (definition, part, code) => {
    const { status: refused, body } = await deploy({ ...shopOf('shop_bad'), ...part })
    expect([refused, body.error.definition]).toEqual([code, definition])
    for (const path of pathsOf('shop_bad')) expect(await status(path)).toBe(404)
    expect(await tables('shop_bad')).toBe('')
  })

  test('adds a column and reads it, and removes it once nothing reads it', async () => {
    await deploy(shopOf('shop_columns'))
    await admin('POST', '/api/logs?source=shop_columns', [{ metadata: { total: 1, size: 'L' } }])
    const size = { name: 'size', path: 'size', type: 'text' }
    const query = 'SELECT size, total FROM shop_columns'
    const sized = { name: 'shop_columns.sizes', query }
    const added = await deploy({
      sources: [{ name: 'shop_columns', columns: [total, size] }],
      endpoints: [sized],
    })
    expect([added.status, added.body.sources[0].changes]).toMatchObject([200, [{ kind: 'column_added' }]])
    expect((await admin('GET', '/api/endpoints/query/shop_columns.sizes')).body.result).toEqual([
      { size: 'L', total: 1 },
    ])
    const without = { sources: [{ name: 'shop_columns', columns: [total] }] }
    expect((await deploy(without)).body.error).toMatchObject({
      code: 'invalid_parameter',
      definition: 'sources/shop_columns',
      message: expect.stringContaining('shop_columns.sizes'),
    })
    const less = { ...sized, query: 'SELECT total FROM shop_columns' }
    const both = await deploy({ ...without, endpoints: [less], allow_breaking: true })
    expect([both.status, both.body.sources[0].changes[0].kind]).toEqual([200, 'column_removed'])
    expect((await admin('GET', '/api/endpoints/query/shop_columns.sizes')).body.result).toEqual([
      { total: 1 },
    ])
  })

  test('deletes what is used only with its users, and entries only if that is allowed', async () => {
    await deploy(shopOf('shop_old'))
    const refusals = [
      await admin('DELETE', '/api/endpoints/shop_old.sum'),
      await admin('DELETE', '/api/sources/shop_old?confirm=shop_old'),
      await deploy({ delete: { sources: ['shop_old'], alerts: ['shop_old-many'] }, allow_breaking: true }),
    ]
    expect(refusals.map(({ status: code, body }) => [code, body.error.code, body.error.users])).toEqual([
      [409, 'in_use', ['alerts/shop_old-many']],
      [409, 'in_use', ['endpoints/shop_old.sum']],
      [409, 'in_use', ['endpoints/shop_old.sum']],
    ])
    const all = { sources: ['shop_old'], endpoints: ['shop_old.sum'], alerts: ['shop_old-many'] }
    expect((await deploy({ delete: all })).body.error.code).toBe('breaking_change')
    const { body } = await deploy({ delete: all, allow_breaking: true })
    for (const kind of Object.keys(all)) expect(body[kind]).toMatchObject([{ action: 'deleted', version: 1 }])
    for (const path of pathsOf('shop_old')) expect(await status(path)).toBe(404)
    expect(await tables('shop_old')).toBe('')
  })

  test('can swap the names of alerts, and leaves a mute alone', async () => {
    await deploy(shopOf('shop_names'))
    const [alert] = shopOf('shop_names').alerts as [object]
    const muted_until = '2100-01-01T00:00:00Z'
    await admin('POST', '/api/alerts', { ...alert, name: 'shop_names-b', when: 'rows > 1', muted_until })
    const [one, other] = await Promise.all(
      ['shop_names-many', 'shop_names-b'].map(
        async (name) => (await admin('GET', `/api/alerts/${name}`)).body,
      ),
    )
    const swapped = await deploy({
      alerts: [
        { ...alert, id: one.id, name: 'shop_names-b' },
        { ...alert, id: other.id, name: 'shop_names-many', when: 'rows > 2' },
      ],
    })
    expect(swapped.body.alerts.map(({ action }: { action: string }) => action)).toEqual([
      'updated',
      'updated',
    ])
    expect((await admin('GET', '/api/alerts/shop_names-many')).body).toMatchObject({
      id: other.id,
      muted_until,
      when: 'rows > 2',
    })
  })

  test('that is too large leaves nothing behind, and says so in a dry run', async () => {
    const large = { name: 'shop_large.notes', query: 'SELECT 1 AS n', description: 'x'.repeat(300_000) }
    for (const dry_run of [true, false]) {
      const { status: code, body } = await deploy({
        ...shopOf('shop_large'),
        endpoints: [large],
        alerts: [],
        dry_run,
      })
      expect([code, body.error.definition]).toEqual([413, 'endpoints/shop_large.notes'])
    }
    const other = { name: 'other', path: 'other', type: 'text' }
    await admin('POST', '/api/sources', { name: 'shop_large', columns: [other] })
    expect((await admin('POST', '/api/sql', { query: 'SELECT other FROM shop_large' })).body.result).toEqual(
      [],
    )
  })

  test('checks an alert that stays the same with the endpoint that changes', async () => {
    await deploy(shopOf('shop_checked'))
    const [alert] = shopOf('shop_checked').alerts
    const renamed = { name: 'shop_checked.sum', query: 'SELECT count() AS entries FROM shop_checked' }
    const { status: code, body } = await deploy({
      endpoints: [renamed],
      alerts: [alert],
      allow_breaking: true,
    })
    expect([code, body.error.definition]).toEqual([400, 'alerts/shop_checked-many'])
  })

  test('renames an endpoint only with the alerts that use its name', async () => {
    await deploy(shopOf('shop_renamed'))
    const [alert] = shopOf('shop_renamed').alerts
    const path = '/api/endpoints/shop_renamed.sum'
    const { id, query } = (await admin('GET', path)).body
    const alone = await admin('PATCH', `${path}?breaking=true`, { name: 'shop_renamed.total' })
    expect([alone.status, alone.body.error.users]).toEqual([409, ['alerts/shop_renamed-many']])
    const together = await deploy({
      endpoints: [{ id, name: 'shop_renamed.total', query }],
      alerts: [{ ...alert, endpoint: 'shop_renamed.total' }],
      allow_breaking: true,
    })
    expect(together.status).toBe(200)
  })

  test('stores the columns of an endpoint that changed with its source', async () => {
    await deploy(shopOf('shop_typed'))
    const [endpoint] = shopOf('shop_typed').endpoints as [object & { name: string; query: string }]
    const read = { ...endpoint, name: 'shop_typed.read', query: 'SELECT total FROM shop_typed' }
    await deploy({ endpoints: [read] })
    const text = { ...total, type: 'text' }
    await deploy({ delete: { endpoints: [endpoint.name], alerts: ['shop_typed-many'] } })
    const { body } = await deploy({
      sources: [{ name: 'shop_typed', columns: [text] }],
      endpoints: [read],
      allow_breaking: true,
    })
    expect(body.endpoints[0].action).toBe('updated')
    const { body: saved } = await admin('GET', '/api/endpoints/shop_typed.read')
    expect(saved.columns).toEqual([{ name: 'total', type: 'String' }])
  })

  test('replaces an endpoint by another of the same name, although an alert uses it', async () => {
    await deploy(shopOf('shop_same'))
    const [endpoint] = shopOf('shop_same').endpoints as [object]
    const { body: before } = await admin('GET', '/api/endpoints/shop_same.sum')
    const id = '7b9d2e53-3a41-4d0e-9d6c-2f1a4b5c6d7e'
    const { status: code } = await deploy({
      endpoints: [{ ...endpoint, id }],
      delete: { endpoints: [before.id] },
    })
    expect([code, (await admin('GET', '/api/endpoints/shop_same.sum')).body.id]).toEqual([200, id])
  })

  test('and an alert on what it deletes cannot both succeed', async () => {
    for (let round = 0; round < 4; round++) {
      const name = `shop_raced_${round}`
      const [endpoint] = shopOf(name).endpoints as [object]
      await deploy({ sources: shopOf(name).sources, endpoints: [endpoint] })
      const [deleted, made] = await Promise.all([
        admin('DELETE', `/api/endpoints/${name}.sum`),
        admin('POST', '/api/alerts', shopOf(name).alerts[0]),
      ])
      expect([deleted.status === 204, made.status === 201].filter(Boolean)).toHaveLength(1)
    }
  })

  test('of several at once leaves one whole state', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, index) => {
        const shop = shopOf('shop_race')
        const note = `from ${index}`
        return deploy({ ...shop, note, alerts: shop.alerts.map((each) => ({ ...each, description: note })) })
      }),
    )
    expect(outcomes.map(({ status: code }) => code)).toEqual(Array(6).fill(200))
    const versions = (await admin('GET', '/api/alerts/shop_race-many/versions')).body
    expect(versions.map(({ version }: { version: number }) => version)).toEqual([6, 5, 4, 3, 2, 1])
    expect(await status('/api/endpoints/query/shop_race.sum')).toBe(200)
  })
})

describe.each(['sources', 'endpoints', 'alerts', 'dashboards'])('every definition: %s', (kind) => {
  const name = `kind_${kind}`
  const fields: Record<string, object> = {
    sources: { name },
    endpoints: { name, query: 'SELECT 1 AS n' },
    alerts: { name, endpoint: 'kind_watched', when: 'rows > 1', enabled: false },
    dashboards: { name, rows: [{ items: [{ endpoint: 'kind_watched' }, { markdown: 'Text' }] }] },
  }
  test('has versions, an ETag, a note and an author, and is found by id', async () => {
    await deploy({ endpoints: [{ name: 'kind_watched', query: 'SELECT 1 AS n' }] })
    const made = await admin('POST', `/api/${kind}?note=made`, fields[kind])
    const { id } = made.body
    const path = `/api/${kind}/${id}`
    expect([made.status, made.headers.get('etag'), made.headers.get('location')]).toEqual([201, '"1"', path])
    const change = { description: 'changed' }
    expect((await admin('PATCH', path, change, { 'If-Match': '"2"' })).status).toBe(412)
    const changed = await admin('PATCH', `${path}?note=why`, change, { 'If-Match': '"1"' })
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2"'])
    // What was read can be sent back.
    expect((await admin('PUT', path, { ...changed.body, description: 'again' })).status).toBe(200)
    const restored = await admin('POST', `/api/${kind}/${name}/versions/2/restore?note=back`)
    expect(restored.body).toMatchObject({ id, name, version: 4, description: 'changed', note: 'back' })
    const versions = (await admin('GET', `${path}/versions`)).body
    expect(versions).toMatchObject([
      { version: 4, note: 'back' },
      { version: 3, note: '', description: 'again' },
      { version: 2, note: 'why', updated_by: 'admin', created_at: made.body.created_at },
      { version: 1, note: 'made', description: '' },
    ])
    expect((await admin('POST', `/api/${kind}`, fields[kind])).body.error.code).toBe('name_taken')
    const confirm = kind === 'sources' ? `?confirm=${name}` : ''
    expect((await admin('DELETE', path + confirm, undefined, { 'If-Match': '"3"' })).status).toBe(412)
    expect((await admin('DELETE', path + confirm, undefined, { 'If-Match': '"4"' })).status).toBe(204)
    expect(await status(path)).toBe(404)
  })
})

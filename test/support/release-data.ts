import { expect } from 'vitest'
import { ask } from './callers.ts'
import { CookieJar, type Issuer } from './network/issuer.ts'
import type { RunningService } from './service.ts'

type Service = Pick<RunningService, 'url' | 'adminToken'>

/** What an archive of a release must still contain for a later version. */
export interface Expected {
  version: string
  /** A token of a tenant, and a link, as their users have them. */
  token: string
  link: string
  responses: Record<string, unknown>
}

export const ofRelease = 'kept'
const at = Date.UTC(2026, 0, 31, 12) * 1000

/** Longer than anybody upgrades over. */
const retention_days = 3650

const asAdmin = async (service: Service, method: string, path: string, body?: unknown) => {
  const { status, body: response } = await ask(service, service.adminToken.token, method, path, body)
  expect([path, status, response], JSON.stringify(response)).toEqual([
    path,
    expect.toSatisfy(isFine),
    response,
  ])
  return response
}
const isFine = (status: number) => status >= 200 && status < 300

/** Stores something of every kind that a service keeps. */
export async function fillRelease(service: Service, issuer: Issuer): Promise<Omit<Expected, 'responses'>> {
  const admin = (method: string, path: string, body?: unknown) => asAdmin(service, method, path, body)
  await admin('POST', '/api/sources', {
    ...{ name: 'shop_logs', retention_days, list_columns: ['tier'], project: 'customer.id' },
    columns: [
      { name: 'tier', path: 'tier', type: 'text' },
      { name: 'amount', path: 'amount', type: 'number' },
    ],
  })
  for (const { name } of await admin('GET', '/api/sources')) {
    if (isOwn(name)) continue
    await admin('PATCH', `/api/sources/${name}`, { retention_days })
    await admin(
      'POST',
      `/api/logs?source=${name}`,
      [1, 2].map((n) => entry(name, n)),
    )
  }
  await admin('POST', '/api/logs?source=edge_logs', [{ id: 'late', timestamp: 'never', project: ofRelease }])
  const log = { timeUnixNano: `${at}000`, body: { stringValue: 'an OTLP record' } }
  const resource = { attributes: [{ key: 'project', value: { stringValue: ofRelease } }] }
  await admin('POST', '/v1/logs', { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [log] }] }] })

  const query =
    'SELECT tier, count() AS n, sum(amount) AS total FROM shop_logs WHERE project = @project GROUP BY tier ORDER BY tier'
  const endpoint = { name: 'shop.tiers', query, cache_seconds: 900, warm_seconds: 300, published: true }
  await admin('POST', '/api/endpoints', {
    ...endpoint,
    description: 'The first version',
    parameters: { project: { required: true } },
  })
  await admin('PATCH', '/api/endpoints/shop.tiers', { description: 'The second version' })
  await admin('POST', '/api/alerts', {
    ...{
      name: 'shop',
      endpoint: 'shop.tiers',
      parameters: { project: ofRelease },
      when: 'rows > 1',
      every_seconds: 5,
    },
    notify: [{ type: 'webhook', url: 'http://127.0.0.1:9/hook' }],
  })
  await admin('POST', '/api/dashboards', {
    ...{ name: 'shop', title: 'Shop', parameters: { project: { required: true } } },
    rows: [{ items: [{ endpoint: 'shop.tiers', parameters: { project: '@project' } }] }],
  })
  const { url: link } = await admin('POST', '/api/dashboards/shop/links', { project: ofRelease })
  await admin('POST', '/api/searches', { source: 'shop_logs', name: 'Bigger', query: 'amount:>1' })
  const { token } = await admin('POST', '/api/access-tokens', {
    ...{ description: 'A tenant', scopes: ['query', 'search'], project: ofRelease },
  })
  issuer.account = 'ada'
  issuer.claims.ada = { name: 'Ada Lovelace', email: 'ada@example.com', groups: ['dev'] }
  await new CookieJar().follow(`${service.url}/auth/login?return_to=/console/logs`, `${service.url}/console`)
  await admin('GET', `/api/endpoints/query/shop.tiers?project=${ofRelease}`)
  await expect
    .poll(async () => (await admin('GET', '/api/alerts/shop')).state, { interval: 500 })
    .toBe('firing')
  const { version } = await admin('GET', '/api/status')
  return { version, token, link: new URL(link).pathname + new URL(link).search }
}

/** Sources that only the service writes to. */
const isOwn = (name: string) => /^(?:endpoint_requests|alert_events|audit_events|quarantine)$/.test(name)

function entry(source: string, n: number) {
  const metadata = {
    ...{
      tier: n === 1 ? 'free' : 'paid',
      amount: n * 1.5,
      big: 12345678901234567890n.toString(),
      nothing: null,
      empty: {},
    },
    ...{ 'key.with.dots': [1, { deep: 'ß' }], customer: { id: ofRelease } },
    request: { path: '/rest/v1/orders', url: `https://${ofRelease}.example.com/rest/v1/orders` },
  }
  return {
    id: `${source}-${n}`,
    timestamp: at + n,
    project: ofRelease,
    event_message: `entry ${n} of ${source}`,
    metadata,
  }
}

/** Fields that change by themselves while a service runs. */
const moving = new Set([
  'last_used_at',
  'last_seen',
  'evaluated_at',
  'value',
  'error',
  'deliveries',
  'statistics',
  'usage',
])

const settled = (_key: string, value: unknown) => (moving.has(_key) ? undefined : value)

/** Everything that can be read of what was stored above, by the request that reads it. */
export async function readRelease(service: Service): Promise<Record<string, unknown>> {
  const responses: Record<string, unknown> = {}
  const keep = (what: string, body: unknown) => {
    responses[what] = JSON.parse(JSON.stringify(body), settled)
  }
  const get = async (path: string) => {
    const body = await asAdmin(service, 'GET', path)
    keep(path, body)
    return body
  }
  for (const path of ['endpoints', 'alerts', 'dashboards', 'access-tokens', 'people', 'searches']) {
    await get(`/api/${path}`)
  }
  for (const path of [
    'endpoints/shop.tiers/versions',
    'sources/shop_logs/versions',
    'dashboards/shop/links',
  ]) {
    await get(`/api/${path}`)
  }
  await get(`/api/endpoints/query/shop.tiers?project=${ofRelease}`)
  for (const { name } of await get('/api/sources')) {
    const columns = name === 'shop_logs' ? ', tier, amount' : ''
    const query =
      name === 'audit_events'
        ? 'SELECT uniqExact(id) > 10 AS kept FROM audit_events'
        : name === 'alert_events'
          ? 'SELECT count() > 0 AS kept FROM alert_events'
          : `SELECT id, timestamp, project, event_message, metadata${columns} FROM ${name} WHERE project = '${ofRelease}' ORDER BY id`
    if (name !== 'endpoint_requests') keep(name, await asAdmin(service, 'POST', '/api/sql', { query }))
  }
  return responses
}

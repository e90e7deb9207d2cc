import { beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'

let service: RunningService
sharedService((shared) => {
  service = shared
})
const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const asking =
  (token: string) =>
  (path: string, method = 'GET', body?: unknown) =>
    ask(service, token, method, path, body)

const items = {
  published: true,
  name: 'dash.items',
  query:
    "SELECT @project AS owner, @size AS size, @kind AS kind, toInt64(1) AS n, project FROM edge_logs WHERE project LIKE 'dash-%' ORDER BY project",
  parameters: {
    project: { required: true },
    size: { enum: ['s', 'm', 'l'], default: 's' },
    kind: { default: 'any' },
  },
}
const secret = { name: 'dash.secret', query: 'SELECT 1 AS n' }
const panel = {
  endpoint: 'dash.items',
  parameters: { project: '@project', size: '@size', kind: 'fixed' },
  chart: 'table',
  y: ['owner', 'n'],
}
const traffic = {
  name: 'dash.traffic',
  title: 'Traffic',
  parameters: { project: { required: true }, size: { enum: ['s', 'm'], default: 'm' } },
  rows: [{ items: [panel, { markdown: 'Text', width: 4 }] }],
}
const callOf = (values: object) =>
  `/api/endpoints/query/dash.items?${new URLSearchParams({ project: 'dash-a', size: 'm', kind: 'fixed', ...values })}`

beforeAll(async () => {
  await admin('POST', '/api/deployments', { endpoints: [items, secret], dashboards: [traffic] })
  const entries = ['dash-a', 'dash-b'].map((project) => ({ event_message: 'x', project }))
  await admin('POST', '/api/logs?source=edge_logs', entries)
})

describe('saving a dashboard', () => {
  const change = (fields: object) => ({ ...traffic, name: 'dash.wrong', ...fields })
  const withPanel = (fields: object) => change({ rows: [{ items: [{ ...panel, ...fields }] }] })
  const many = Array.from({ length: 25 }, () => ({ markdown: 'x' }))
  test.each<[string, string, object, string]>([
    ['an unknown endpoint', 'rows.0.items.0.endpoint', withPanel({ endpoint: 'no.such' }), 'No endpoint has'],
    ['an unknown parameter', 'rows.0.items.0.parameters.x', withPanel({ parameters: { x: '1' } }), 'Unknown'],
    [
      'an undeclared parameter',
      'rows.0.items.0.parameters.project',
      withPanel({ parameters: { project: '@owner' } }),
      'does not declare the parameter owner',
    ],
    ['a missing parameter', 'rows.0.items.0.parameters.project', withPanel({ parameters: {} }), 'project'],
    [
      'an optional parameter where one is required',
      'rows.0.items.0.parameters.project',
      change({ parameters: { project: {}, size: { default: 's' } } }),
      'must be required or have a default',
    ],
    [
      'a value that the endpoint refuses',
      'rows.0.items.0.parameters.size',
      change({ parameters: { project: { required: true }, size: { enum: ['s', 'xl'] } } }),
      'must be one of s, m, l',
    ],
    ['an unknown column', 'rows.0.items.0.y.0', withPanel({ y: ['absent'] }), 'has no column "absent"'],
    [
      'a label of an unknown column',
      'rows.0.items.0.labels.absent',
      withPanel({ labels: { absent: 'x' } }),
      'absent',
    ],
    ['text as a number', 'rows.0.items.0.y.0', withPanel({ chart: 'bars', y: ['owner'] }), 'is not a number'],
    [
      'both an endpoint and text',
      'rows.0.items.0',
      withPanel({ markdown: 'x' }),
      'either endpoint or markdown',
    ],
    ['a width of 13', 'rows.0.items.0.width', withPanel({ width: 13 }), '1 to 12'],
    ['an unknown field', 'rows.0.items.0.html', withPanel({ html: 'x' }), 'Unknown field'],
    ['25 items', 'rows', change({ rows: [{ items: many }] }), 'at most 24 items'],
    ['a wrong interval', 'refresh', change({ refresh: 1 }), 'number of seconds'],
  ])('refuses %s', async (_what, parameter, body, message) => {
    const { status, body: refused } = await admin('POST', '/api/dashboards', body)
    expect([status, refused.error?.parameter]).toEqual([400, parameter])
    expect(refused.error.message).toContain(message)
  })

  test('returns the columns of its endpoints', async () => {
    const { body } = await admin('GET', '/api/dashboards/dash.traffic')
    expect(body.endpoints).toMatchObject([
      { name: 'dash.items', columns: [{ name: 'owner' }, {}, {}, {}, {}] },
    ])
  })
})

describe('an endpoint on a dashboard', () => {
  test('cannot be deleted or renamed alone, and a breaking change names the dashboard', async () => {
    const path = '/api/endpoints/dash.items'
    for (const refused of [
      await admin('DELETE', path),
      await admin('PATCH', `${path}?breaking=true`, { name: 'dash.other' }),
    ]) {
      expect([refused.status, refused.body.error.code, refused.body.error.users]).toEqual([
        409,
        'in_use',
        ['dashboards/dash.traffic'],
      ])
    }
    const { status, body } = await admin('PATCH', path, {
      parameters: { ...items.parameters, area: { required: true } },
    })
    expect([status, body.error.changes]).toMatchObject([
      409,
      [
        { kind: 'parameter_required', parameter: 'area' },
        { kind: 'dashboards_affected', message: 'These use the endpoint: dashboards/dash.traffic.' },
      ],
    ])
  })
})

describe('the scope of a dashboard', () => {
  test('allows to read it and to call exactly its panels', async () => {
    const { token } = await makeToken(service, { scopes: ['dashboard:dash.traffic'] })
    const get = asking(token)
    expect((await get('/api/dashboards/dash.traffic')).status).toBe(200)
    expect((await get('/api/dashboards')).body.map(({ name }: { name: string }) => name)).toEqual([
      'dash.traffic',
    ])
    const called = await get(callOf({}))
    expect([called.status, called.body.result.length]).toEqual([200, 2])
    // Again, from the cache of requests.
    expect((await get(callOf({}))).status).toBe(200)
    const outcomes = [
      callOf({ kind: 'any' }),
      callOf({ extra: '1' }),
      callOf({ _version: '1' }),
      callOf({ size: 'l' }),
      '/api/endpoints/query/dash.items?project=dash-a&kind=fixed',
      '/api/endpoints/query/dash.secret',
      '/api/endpoints/query/no.such',
      '/api/dashboards/dash.traffic/versions',
      '/api/dashboards/dash.traffic/links',
    ]
    const statuses = await Promise.all(outcomes.map(async (path) => (await get(path)).status))
    expect(statuses).toEqual([403, 403, 403, 400, 403, 403, 403, 403, 403])
    expect((await get('/api/dashboards/no.such')).body.error.message).toBe(
      'No dashboard has the id or name "no.such".',
    )
  })

  test('names the parameter that a call omits, of the panel that is closest to it', async () => {
    const endpoint = {
      name: 'dash.span',
      query: 'SELECT @size AS size, @since AS since, @until AS until',
      parameters: { size: { required: true }, since: { type: 'integer' }, until: { type: 'integer' } },
    }
    const panels = ['s', 'm'].map((size) => ({
      endpoint: 'dash.span',
      parameters: { size, since: '@day', until: '@day' },
    }))
    const dashboard = {
      name: 'dash.span',
      parameters: { day: { type: 'integer' } },
      rows: [{ items: panels }],
    }
    await admin('POST', '/api/deployments', { endpoints: [endpoint], dashboards: [dashboard] })
    const { token } = await makeToken(service, { scopes: ['dashboard:dash.span'] })
    const outcome = async (query: string) => {
      const { status, body } = await asking(token)(`/api/endpoints/query/dash.span?${query}`)
      return [status, body.error?.message.split('; ')[1]]
    }
    expect(await outcome('size=s&since=1&until=1')).toEqual([200, undefined])
    expect(await outcome('size=s&until=1')).toEqual([403, 'send the parameter since.'])
    expect(await outcome('size=s&since=1')).toEqual([403, 'send the parameter until.'])
    expect(await outcome('since=1&until=1')).toEqual([403, 'send the parameter size.'])
    expect(await outcome('size=s&since=1&until=2')).toEqual([403, 'change the parameter until.'])
    expect(await outcome('size=m&since=1&until=1&x=1')).toEqual([403, 'omit the parameter x.'])
    expect(
      (await asking(token)('/api/endpoints/query/dash.span?size=m&since=x&until=x')).body.error,
    ).toMatchObject({ code: 'invalid_parameter', parameter: 'since' })

    // A link fixes a number as a panel does.
    const path = '/api/dashboards/dash.span/links'
    const link = { all_projects: true, parameters: { day: 7 } }
    const { status, body } = await admin('POST', path, link)
    expect([status, (await admin('GET', path)).body]).toMatchObject([
      201,
      [{ id: body.id, parameters: { day: '7' } }],
    ])
    const refused = await admin('POST', path, { ...link, parameters: { day: [7] } })
    expect(refused.body.error).toMatchObject({ code: 'invalid_parameter', parameter: 'parameters.day' })
  })

  test('keeps to the project of its token', async () => {
    const { token } = await makeToken(service, { scopes: ['dashboard:dash.traffic'], project: 'dash-a' })
    const get = asking(token)
    expect((await get(callOf({}))).body.result).toMatchObject([{ project: 'dash-a' }])
    expect((await get('/api/endpoints/query/dash.items?size=m&kind=fixed')).body.result).toHaveLength(1)
    expect((await get(callOf({ project: 'dash-b' }))).status).toBe(403)
    expect((await get(callOf({ constructor: '1' }))).status).toBe(403)
  })

  test('ends with the panel', async () => {
    await admin('POST', '/api/dashboards', { ...traffic, name: 'dash.brief' })
    const { token } = await makeToken(service, { scopes: ['dashboard:dash.brief'] })
    expect((await asking(token)(callOf({}))).status).toBe(200)
    const headers = { 'X-API-KEY': token, Accept: 'text/event-stream' }
    const stream = await fetch(service.url + callOf({}), { headers })
    await admin('PATCH', '/api/dashboards/dash.brief', { title: 'Other' })
    const { token: reader } = await makeToken(service, { scopes: ['query'] })
    const other = await fetch(service.url + callOf({}), { headers: { ...headers, 'X-API-KEY': reader } })
    await admin('PATCH', '/api/dashboards/dash.brief', { rows: [] })
    expect((await asking(token)(callOf({}))).status).toBe(403)
    // It ends, and the one of a token that does not need the dashboard stays.
    expect(await stream.text()).toContain('event: result')
    expect((await admin('GET', '/metrics')).body).toContain('wellhead_live_streams 1\n')
    await other.body?.cancel()
  })

  test('is not needed for a customer who may call all endpoints of a published dashboard', async () => {
    await admin('POST', '/api/dashboards', { ...traffic, name: 'dash.open', published: true })
    const { token } = await makeToken(service, { scopes: ['query:dash.items'], project: 'dash-a' })
    const names = (await asking(token)('/api/dashboards')).body.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['dash.open'])
    expect((await asking(token)('/api/dashboards/dash.traffic')).status).toBe(404)
    const { token: other } = await makeToken(service, { scopes: ['query:dash.secret'], project: 'dash-a' })
    expect((await asking(other)('/api/dashboards/dash.open')).status).toBe(404)
  })
})

describe('a link', () => {
  const path = '/api/dashboards/dash.traffic/links'
  const open = async (url: string) => {
    const response = await fetch(`${url.replace(/^.*(?=\/shared)/, service.url)}/session`, { method: 'POST' })
    return { status: response.status, body: (await response.json()) as { token: string; dashboard: string } }
  }

  test('shows the dashboard of one project, with the parameters that it fixes, until it is deleted', async () => {
    const { status, body } = await admin('POST', path, { project: 'dash-b', parameters: { size: 's' } })
    expect([status, body]).toMatchObject([201, { url: expect.stringMatching(/\/shared\/[0-9A-Za-z]{32}$/) }])
    const { body: opened } = await open(body.url)
    expect(opened).toMatchObject({ project: 'dash-b', parameters: { size: 's' } })
    const get = asking(opened.token)
    const shown = { title: 'Traffic', updated_by: '', updated_by_name: null, note: '' }
    expect((await get(`/api/dashboards/${opened.dashboard}`)).body).toMatchObject(shown)
    expect((await get('/api/dashboards')).body).toMatchObject([shown])
    expect((await admin('GET', '/api/dashboards/dash.traffic')).body.updated_by).toBe('admin')
    expect((await get(callOf({ project: 'dash-b', size: 's' }))).body.result).toMatchObject([
      { project: 'dash-b', size: 's' },
    ])
    expect((await get(callOf({ project: 'dash-b', size: 'm' }))).status).toBe(403)
    expect((await get(callOf({ project: 'dash-a', size: 's' }))).status).toBe(403)
    expect((await get('/api/dashboards')).body).toHaveLength(1)
    expect((await asking(body.url.slice(-32))('/api/whoami')).status).toBe(401)
    const { body: listed } = await admin('GET', path)
    expect(JSON.stringify(listed)).not.toContain(body.url.slice(-32))
    expect(listed).toMatchObject([{ id: body.id, project: 'dash-b', created_by: 'admin' }])
    expect((await admin('DELETE', `${path}/${body.id}`)).status).toBe(204)
    expect((await get('/api/whoami')).status).toBe(401)
    expect((await open(body.url)).status).toBe(404)
    expect((await admin('DELETE', `${path}/${body.id}`)).status).toBe(404)
  })

  test.each<[string, object, string]>([
    ['without a project', {}, 'project'],
    ['with a project and all projects', { project: 'a', all_projects: true }, 'project'],
    ['with an unknown parameter', { project: 'a', parameters: { x: '1' } }, 'parameters.x'],
    ['with a value outside of the enum', { project: 'a', parameters: { size: 'l' } }, 'parameters.size'],
    ['with the project as a parameter', { project: 'a', parameters: { project: 'b' } }, 'parameters.project'],
    ['that has expired', { project: 'a', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
  ])('%s is refused', async (_what, body, parameter) => {
    const refused = await admin('POST', path, body)
    expect([refused.status, refused.body.error?.parameter]).toEqual([400, parameter])
  })

  test('of a project needs published endpoints', async () => {
    const name = 'dash.inside'
    await admin('POST', '/api/dashboards', { name, rows: [{ items: [{ endpoint: 'dash.secret' }] }] })
    const { status, body } = await admin('POST', `/api/dashboards/${name}/links`, { project: 'a' })
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringContaining('Publish the endpoint dash.secret'),
    ])
    expect((await admin('POST', `/api/dashboards/${name}/links`, { all_projects: true })).status).toBe(201)
  })

  test('stops when the token that created it loses its role or is revoked', async () => {
    const maker = await makeToken(service, { scopes: ['edit'] })
    const { body } = await asking(maker.token)(path, 'POST', { all_projects: true })
    const { body: opened } = await open(body.url)
    expect((await asking(opened.token)(callOf({}))).body.result).toHaveLength(2)
    const token = `/api/access-tokens/${maker.id}`
    await admin('PATCH', token, { scopes: ['read'] })
    expect((await asking(opened.token)(callOf({}))).status).toBe(401)
    expect((await open(body.url)).status).toBe(404)
    await admin('PATCH', token, { scopes: ['edit'] })
    expect((await asking(opened.token)(callOf({}))).status).toBe(200)
    await admin('DELETE', token)
    expect((await asking(opened.token)(callOf({}))).status).toBe(401)
    expect((await open(body.url)).status).toBe(404)
  })

  test('shows nothing once its dashboard lacks a parameter that it fixes', async () => {
    const name = 'dash.renamed'
    await admin('POST', '/api/dashboards', { ...traffic, name })
    const fields = { all_projects: true, parameters: { size: 's' } }
    const { body } = await admin('POST', `/api/dashboards/${name}/links`, fields)
    const get = asking((await open(body.url)).body.token)
    expect((await get(callOf({ size: 's' }))).status).toBe(200)
    const { project, size: extent } = traffic.parameters
    const rows = [{ items: [{ ...panel, parameters: { ...panel.parameters, size: '@extent' } }] }]
    const changed = await admin('PATCH', `/api/dashboards/${name}`, { parameters: { project, extent }, rows })
    expect(changed.status).toBe(200)
    for (const size of ['s', 'm']) {
      const { status, body: refused } = await get(callOf({ size }))
      expect([status, refused.error.message]).toEqual([403, expect.stringContaining('fixes size')])
    }
  })

  test('ends with its dashboard', async () => {
    const name = 'dash.gone'
    await admin('POST', '/api/dashboards', { ...traffic, name })
    const { body } = await admin('POST', `/api/dashboards/${name}/links`, { all_projects: true })
    const { body: opened } = await open(body.url)
    await admin('DELETE', `/api/dashboards/${name}`)
    expect([(await open(body.url)).status, (await asking(opened.token)('/api/whoami')).status]).toEqual([
      404, 401,
    ])
  })

  test('opens a page that is not indexed and sends no referrer', async () => {
    const { headers, status } = await fetch(`${service.url}/shared/${'x'.repeat(32)}`)
    expect([status, headers.get('referrer-policy'), headers.get('x-robots-tag')]).toEqual([
      200,
      'no-referrer',
      'noindex',
    ])
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('cache-control')).toBe('no-store')
  })
})

describe('a dashboard of 24 slow panels', () => {
  test('does not keep another caller waiting', async () => {
    const endpoint = {
      name: 'dash.slow',
      query: 'SELECT count() AS n FROM numbers(3000000000) WHERE (number + @panel) % 7 = 1',
      parameters: { panel: { required: true, type: 'integer' } },
    }
    const items = Array.from({ length: 24 }, (_, panel) => ({ endpoint: 'dash.slow', parameters: { panel } }))
    const dashboards = [{ name: 'dash.slow', rows: [{ items }] }]
    await admin('POST', '/api/deployments', { endpoints: [endpoint], dashboards })
    const { token } = await makeToken(service, { scopes: ['dashboard:dash.slow'] })
    const ender = new AbortController()
    let settled = 0
    const panels = items.map(async (_, panel) => {
      const url = `${service.url}/api/endpoints/query/dash.slow?panel=${panel}`
      await fetch(url, { headers: { 'X-API-KEY': token }, signal: ender.signal }).catch(() => {})
      settled++
    })
    const { status, body } = await admin('GET', callOf({ kind: 'of another caller' }))
    expect([status, body.error, settled]).toEqual([200, undefined, 0])
    ender.abort()
    await Promise.all(panels)
  })
})

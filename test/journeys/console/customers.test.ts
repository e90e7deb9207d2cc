import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { elsewhere, homeOf, linksOf, routesOf } from '../../../console/src/navigation.ts'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { follow } from './stage/browser.ts'
import { projects } from './stage/data.ts'
import { onPage, openStage } from './stage/stage.ts'

const [shop, notes] = projects
const query = '/api/endpoints/query'

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage
const tenantOf = (project: string) =>
  makeToken(stage.service(), { description: `app of ${project}`, scopes: ['query', 'search'], project })

describe('a tenant', () => {
  let mine: MadeToken
  beforeAll(async () => {
    mine = await tenantOf(shop)
    const other = await tenantOf(notes)
    await ask(stage.service(), mine.token, 'GET', `${query}/logs.all`)
    await ask(stage.service(), mine.token, 'GET', `${query}/usage.api-counts?interval=never`)
    for (let n = 0; n < 5; n++) await ask(stage.service(), other.token, 'GET', `${query}/logs.all`)
    await ask(stage.service(), other.token, 'GET', `${query}/functions.invocation-stats?interval=never`)
    await stage.service().statistics?.flush()
  })

  test('sees its project and nothing of another, and reads how to request an endpoint', () =>
    visit('/console/usage', mine, async (page) => {
      const responses: string[] = []
      await page.route('**/api/**', async (route) => {
        const response = await route.fetch()
        responses.push(await response.text())
        await route.fulfill({ response })
      })
      await page.goto('/')
      const pages = page.getByRole('navigation').getByRole('link')
      const open = (name: string) => pages.filter({ hasText: name }).click()
      await page.getByText(`app of ${shop}`).waitFor()
      expect((await pages.allTextContents()).map((text) => text.trim())).toEqual([
        'Endpoints',
        'Logs',
        'Usage',
      ])
      await page.getByRole('heading', { name: 'Endpoints' }).waitFor()
      await page.getByRole('link', { name: 'logs.all' }).waitFor()
      expect(await page.getByText('wellhead.endpoint-stats').count()).toBe(0)

      await page.getByRole('link', { name: 'logs.all' }).click()
      await page.getByText('Fixed by the token.').waitFor()
      await page.getByRole('columnheader', { name: 'event_message' }).waitFor()
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      const rows = await page.getByRole('region', { name: 'Result as JSON' }).textContent()
      expect(rows).toContain(shop)

      await open('Usage')
      await page.getByText(`Requests of project ${shop}.`).waitFor()
      await page.getByRole('slider', { name: /^Requests in the last hour: \d+, 1 error$/ }).waitFor()
      await page.getByText('400 invalid_parameter').waitFor()
      expect(await page.getByText('functions.invocation-stats').count()).toBe(0)
      expect(await page.locator('main').textContent()).not.toMatch(/cache|engine/i)

      await open('Logs')
      await page.locator('.entry').first().click()
      await page.locator('.json').waitFor()
      expect(await page.locator('main').textContent()).not.toContain(notes)

      await open('Endpoints')
      await page.getByRole('link', { name: 'usage.api-counts' }).click()
      await page.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor()
      await page.getByRole('button', { name: 'Documentation' }).click()
      const parameters = page.getByRole('region', { name: 'Parameters' })
      await parameters
        .getByRole('row', { name: /interval required .*string.*One of minutely, hourly/ })
        .waitFor()
      await parameters.getByText(`Your token sets it to ${shop}. Omit it.`).waitFor()
      await page.getByRole('region', { name: 'Columns' }).getByText('total_rest_requests').waitFor()
      await page.getByRole('region', { name: 'Formats' }).getByText('parquet').waitFor()
      await page.getByText('15 min').waitFor()
      for (const language of ['JavaScript', 'Python', 'curl', 'MCP']) {
        await page.getByRole('button', { name: language, exact: true }).click()
        const text = await page.getByRole('region', { name: `Request with: ${language}` }).textContent()
        const path = language === 'MCP' ? '/mcp' : `${query}/usage.api-counts`
        expect(text).toContain(stage.service().url + path)
        expect(text).not.toContain(mine.token)
      }
      // Its address opens the documentation again.
      expect(new URL(page.url()).searchParams.get('_tab')).toBe('docs')
      await page.unrouteAll({ behavior: 'wait' })
      expect(responses.filter((text) => text.includes(shop)).length).toBeGreaterThan(3)
      expect(responses.filter((text) => text.includes(notes))).toEqual([])
    }))

  test('sees its own rows only after another tenant used the browser: same tab, second tab, back button', async () => {
    const query = 'SELECT event_message FROM edge_logs ORDER BY timestamp DESC LIMIT 3'
    const made = await asAdmin('POST', '/api/endpoints', {
      published: true,
      name: 'own.messages',
      query,
      cache_seconds: 600,
    })
    expect(made.status).toBe(201)
    const other = await tenantOf(notes)
    const path = '/console/endpoints/own.messages'
    const cell = (page: Page, project: string) => page.getByRole('cell', { name: project }).first()
    const signIn = async (page: Page, token: string) => {
      await page.getByLabel('Access token').fill(token)
      await page.keyboard.press('Enter')
      await page.getByText('Signed in as').waitFor()
    }
    const expectOnly = async (page: Page, project: string, foreign: string) => {
      await cell(page, project).waitFor()
      expect(await page.locator('body').textContent()).not.toContain(foreign)
    }
    await visit(path, { token: mine.token }, async (page) => {
      await expectOnly(page, shop, notes)
      // What the browser itself cached.
      const fetched = await page.evaluate<[number, string][]>(
        `Promise.all(${JSON.stringify([mine.token, other.token, 'wh_wrong', mine.token])}.map(async (token) => {
          const answer = await fetch('/api/endpoints/query/own.messages?_strict=1', { headers: { 'X-API-KEY': token } })
          return [answer.status, await answer.text()]
        }))`,
      )
      expect(fetched.map(([status]) => status)).toEqual([200, 200, 401, 200])
      expect(fetched.map(([, text]) => [text.includes(shop), text.includes(notes)])).toEqual([
        [true, false],
        [false, true],
        [false, false],
        [true, false],
      ])
      await page.getByRole('navigation').getByRole('link', { name: 'Endpoints' }).click()
      await page.evaluate("localStorage.setItem('wellhead.playground.x', 'SELECT secret')")
      await page.getByRole('button', { name: 'Sign out' }).click()
      await signIn(page, other.token)
      expect(
        await page.evaluate('JSON.stringify([localStorage, sessionStorage, history.state])'),
      ).not.toMatch(new RegExp(`${mine.token}|${shop}|secret`))
      await page.getByRole('link', { name: 'own.messages' }).click()
      await expectOnly(page, notes, shop)
      // To the page that the first tenant looked at.
      await page.goBack()
      await page.goBack()
      expect(page.url()).toContain(path)
      await expectOnly(page, notes, shop)

      const second = await page.context().newPage()
      await second.goto(path)
      await expectOnly(second, notes, shop)
      // Somebody else signs in on another tab: all tabs belong to them.
      await second.evaluate(
        `fetch('/auth/token', { method: 'POST', headers: { 'X-API-KEY': '${mine.token}' } })`,
      )
      await second.reload()
      await expectOnly(second, shop, notes)
      await expectOnly(page, shop, notes)
      // A page that comes back from the browser's memory belongs to the session that was opened since.
      await page.evaluate(
        `fetch('/auth/token', { method: 'POST', headers: { 'X-API-KEY': '${other.token}' } })`,
      )
      await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
      await expectOnly(page, notes, shop)
      await expectOnly(second, notes, shop)
      await second.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(await page.locator('body').textContent()).not.toMatch(new RegExp(`${shop}|${notes}`))
    })
  })

  test('signs in with a browser session, until it ends', async () => {
    const { id, token } = await tenantOf(notes)
    const { body } = await ask(stage.service(), token, 'POST', '/api/access-tokens/self/session', {
      minutes: 5,
      scopes: ['query:logs.all'],
    })
    await visit('/', {}, async (page) => {
      const signIn = async () => {
        await page.getByLabel('Access token').fill(body.token)
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      await signIn()
      await page.getByRole('link', { name: 'logs.all' }).click()
      await page.getByText('Browser session').waitFor()
      await page.getByRole('columnheader', { name: 'event_message' }).waitFor()
      await asAdmin('DELETE', `/api/access-tokens/${id}`)
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByText('The session has ended.', { exact: false }).waitFor()
      await signIn()
      await page.getByText('This session has expired or was ended.', { exact: false }).waitFor()
    })
  })
})

describe('a tenant with a plan', () => {
  const project = 'planned-tenant'

  test('reads its plan, what is left of it, and its own project', async () => {
    const limits = { retention_days: 7, requests_per_minute: 240, entries_per_day: 4, bytes_per_day: null }
    expect((await asAdmin('POST', '/api/plans', { name: 'SHOWN', ...limits })).status).toBe(201)
    const { token } = await makeToken(stage.service(), { scopes: ['query', 'search'], project })
    const own = `/api/projects/${project}`
    const unused = { project, plan: 'default', entries: 0, bytes: 0, last_entry_at: null }
    expect((await ask(stage.service(), token, 'GET', own)).body).toEqual(unused)
    expect((await asAdmin('PUT', `${own}?breaking=true`, { plan: 'SHOWN' })).status).toBe(200)
    expect((await ask(stage.service(), token, 'GET', '/api/whoami')).body.plan).toEqual({
      name: 'SHOWN',
      ...limits,
    })
    expect((await asAdmin('GET', '/api/whoami')).body.plan).toBe(null)
    const whole = await makeToken(stage.service(), { scopes: ['query'] })
    for (const [by, path] of [
      [token, `/api/projects/${shop}`],
      [token, '/api/projects/no-such-project'],
      [token, '/api/projects'],
      [whole.token, own],
    ] as const) {
      expect([path, (await ask(stage.service(), by, 'GET', path)).status]).toEqual([path, 403])
    }
    const send = (n: number) =>
      asAdmin(
        'POST',
        '/api/logs?source=auth_logs',
        Array.from({ length: n }, () => ({ project, message: 'x' })),
      )
    expect((await send(3)).body.accepted).toBe(3)
    expect((await ask(stage.service(), token, 'GET', own)).body).toMatchObject({ plan: 'SHOWN', entries: 3 })
    await visit('/console/usage', { token }, async (page) => {
      await page.getByRole('heading', { name: 'Plan SHOWN' }).waitFor()
      await page.getByText('3 of 4 (75 %)').waitFor()
      await page.getByRole('definition').getByText('7 days').waitFor()
      await page.getByText('240, over all tokens').waitFor()
      await page
        .getByText(/All tokens of the project together can send 240 requests per minute; 2\d\d left/)
        .waitFor()
      expect(await page.getByText('are used up').count()).toBe(0)
      expect((await send(2)).body).toMatchObject({ accepted: 1, rejected: 1 })
      await page.reload()
      await page.getByText('4 of 4 (100 %)').waitFor()
      await page.getByText('The entries of today are used up.', { exact: false }).waitFor()
    })
  })

  test('opens its logs on the source with its newest entry, without a search for it in every source', async () => {
    const { token } = await makeToken(stage.service(), { scopes: ['search'], project: 'first-look' })
    const entry = { project: 'first-look', message: 'what is there' }
    await asAdmin('POST', '/api/logs?source=edge_logs', [{ ...entry, timestamp: '2026-11-01T00:00:00Z' }])
    await asAdmin('POST', '/api/logs?source=storage_logs', [entry])
    await visit('/console/usage', { token }, async (page) => {
      const read: string[] = []
      page.on('request', (request) => {
        const [, source] = /\/api\/sources\/(\w+)\//.exec(request.url()) ?? []
        if (source !== undefined) read.push(source)
      })
      await page.goto('/console/logs')
      await page.locator('.entry', { hasText: 'what is there' }).waitFor()
      expect(await page.getByLabel('Source').inputValue()).toBe('storage_logs')
      const options = await page.getByLabel('Source').locator('option').allTextContents()
      expect(options).toEqual(['edge_logs', 'storage_logs'])
      expect(new Set(read)).toEqual(new Set(['storage_logs']))
    })
  })
})

describe('a token without a project', () => {
  test('sees the endpoints that it may request, and only its own requests', async () => {
    const { token } = await makeToken(stage.service(), {
      description: 'board',
      scopes: ['query:logs.all', 'ingest:auth_logs', 'ingest:edge_logs', 'search'],
      requests_per_minute: 500,
    })
    const request = `${query}/logs.all?project=${shop}`
    for (let n = 0; n < 2; n++) await ask(stage.service(), token, 'GET', request)
    await ask(stage.service(), admin().token, 'GET', request)
    await stage.service().statistics?.flush()
    await visit('/console/endpoints', { token }, async (page) => {
      await page.getByRole('link', { name: 'logs.all' }).waitFor()
      expect(await page.locator('tbody tr').count()).toBe(1)
      await page.getByRole('link', { name: 'Usage' }).click()
      await page.getByRole('slider', { name: 'Requests in the last hour: 2, 0 errors' }).waitFor()
      await page.getByText(/can send 500 requests per minute; 4\d\d left in the current minute/).waitFor()

      await page.getByRole('link', { name: 'Send logs' }).click()
      await page.getByText('This token can also send log entries.', { exact: false }).waitFor()
      const sources = await page.getByLabel('Source').locator('option').allTextContents()
      expect(sources).toEqual(['auth_logs', 'edge_logs'])
      await page.getByLabel('Source').selectOption('edge_logs')
      const text = await page.getByRole('region', { name: 'Send with: curl' }).textContent()
      expect(text).toContain(`${stage.service().url}/api/logs?source=edge_logs`)
      expect(text).not.toContain(token)

      // It reads entries of all projects, and a part of its name finds a project.
      await follow(page, '/console/logs?source=edge_logs&range=24h')
      await page.locator(`#log-projects option[value="${shop}"]`).waitFor({ state: 'attached' })
      await page.getByLabel('Project', { exact: true }).fill(notes.slice(1, 6))
      await page.locator(`#log-projects option[value="${shop}"]`).waitFor({ state: 'detached' })
      await page.getByLabel('Project', { exact: true }).fill(notes)
      await page.keyboard.press('Enter')
      await page.getByRole('status').getByText('55 entries', { exact: true }).waitFor()
      await page.locator('.entries[aria-busy=false]').waitFor()
      await page.locator('.entry').first().click()
      await page.locator('.json', { hasText: notes }).waitFor()

      await follow(page, '/console/tokens')
      await page.getByRole('heading', { name: 'Endpoints' }).waitFor()
    })
  })
})

const ofTeam = [
  'Overview',
  'Endpoints',
  'Playground',
  'Logs',
  'Dashboards',
  'Alerts',
  'Sources',
  'Tables',
  'Projects',
]

test.each([
  [['query'], shop, ['Endpoints', 'Usage'], '/console/logs', '/console/endpoints'],
  [['query', 'search'], shop, ['Endpoints', 'Logs', 'Usage'], '/console/alerts', '/console/endpoints'],
  [['query:logs.all'], null, ['Endpoints', 'Usage'], '/console/tokens', '/console/endpoints'],
  [['search'], null, ['Logs'], '/', '/console/logs'],
  [['ingest:auth_logs'], null, ['Send logs'], '/console/usage', '/console/sources'],
  [['read'], null, ofTeam, '/console/audit', '/'],
  [['read'], null, ofTeam, '/console/people', '/'],
  [['read'], null, ofTeam, '/console/new-endpoint', '/'],
  [['edit'], null, ofTeam, '/console/tokens', '/'],
] as const)(
  'a token with %j and project %j has the pages %j, and goes from %s to %s',
  async (scopes, project, names, path, home) => {
    const { token } = await makeToken(stage.service(), { scopes, ...(project !== null && { project }) })
    const who = (await ask(stage.service(), token, 'GET', '/api/whoami')).body
    const links = linksOf(who, true)
    expect(links.map(({ name }) => name)).toEqual(names)
    const paths = routesOf(who).map(([, one]) => one)
    for (const { path } of links) expect(paths).toContain(path)
    expect([paths.includes(path), elsewhere(who, path), homeOf(who)]).toEqual([false, home, home])
    expect(elsewhere(who, '/console/nope')).toBeUndefined()
  },
)

test('admins have the pages of the team and their own, of people only with an issuer', async () => {
  const who = (await asAdmin('GET', '/api/whoami')).body
  const names = (hasIssuer: boolean) => linksOf(who, hasIssuer).map(({ name }) => name)
  expect(names(true)).toEqual([...ofTeam, 'Tokens', 'People', 'Audit'])
  expect(names(false)).toEqual([...ofTeam, 'Tokens', 'Audit'])
  expect(routesOf(who).map(([page]) => page)).toEqual(
    expect.arrayContaining(['new-endpoint', 'people', 'audit']),
  )
})

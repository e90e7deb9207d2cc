import { beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { openService } from '../../support/service.ts'
import { openConsole } from './browser.ts'
import { boxOf, expectFit, onPage, openStage, show } from './stage.ts'

const stage = openStage({ environment: { WELLHEAD_STATISTICS: 'on' } })
const visit = onPage(stage)
const { admin, asAdmin } = stage

beforeAll(async () => {
  const { token } = await makeToken(stage.service(), { description: 'status board', scopes: ['query'] })
  const query = 'SELECT count() + @n AS n FROM edge_logs'
  for (const name of ['seen.often', 'seen.once']) {
    const endpoint = { name, query, parameters: { n: { type: 'integer' } }, cache_seconds: 600 }
    await asAdmin('POST', '/api/endpoints', endpoint)
  }
  const call = (caller: string, path: string) =>
    ask(stage.service(), caller, 'GET', `/api/endpoints/query/${path}`)
  await call(token, 'seen.often?n=1')
  await call(token, 'seen.often?n=two')
  await call(admin().token, 'seen.once?n=1')
  await stage.service().statistics?.flush()
})

describe('the overview', () => {
  test('shows requests, latency and entries over a range that the address holds', () =>
    visit('/', admin(), async (page) => {
      const chart = (name: RegExp) => page.getByRole('slider', { name })
      await chart(/^Requests in the last hour: 3, 1 error$/).waitFor()
      await page.getByText('One point per minute').first().waitFor()
      // The only switch is that of all pages.
      expect(await page.getByRole('group', { name: 'Time zone' }).count()).toBe(1)
      await page.getByRole('banner').getByRole('group', { name: 'Time zone' }).waitFor()
      await chart(/^Latency in the last hour: p50 .* m?s, p95 .* m?s$/).waitFor()
      await chart(/^Entries in the last hour: .*edge_logs 110/).waitFor()
      await page.getByRole('button', { name: '7 days' }).click()
      await chart(/^Requests in the last 7 days: 3, 1 error$/).waitFor()
      await chart(/^Entries in the last 7 days: .*edge_logs 110/).waitFor()
      expect(new URL(page.url()).searchParams.get('range')).toBe('7day')
      await page.reload()
      await chart(/^Requests in the last 7 days: 3, 1 error$/).waitFor()
      await page.goBack()
      await chart(/^Requests in the last hour/).waitFor()
    }))

  test('leads from a failing endpoint to its failed requests and what they mean', () =>
    visit('/?range=1day', admin(), async (page) => {
      const failing = page.getByRole('region', { name: 'Failing endpoints' })
      await failing.getByText('50 % of requests · invalid_parameter').waitFor()
      await failing.getByRole('link', { name: 'seen.often' }).click()
      await page.getByRole('heading', { name: 'seen.often' }).waitFor()
      expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
        _tab: 'usage',
        _range: '1day',
        _requests: 'failed',
      })
      const requests = page.getByRole('region', { name: 'Slowest and failed requests' })
      await requests.getByRole('button', { name: /^Details of the request/ }).click()
      await requests.getByText('A parameter has an invalid value.').waitFor()
    }))

  test('shows top callers, slow requests, and the state of engine, cache and disk', () =>
    visit('/', admin(), async (page) => {
      const callers = page.getByRole('region', { name: 'Top callers' })
      await callers.getByRole('cell', { name: 'Admin token' }).waitFor()
      const link = callers.getByRole('link', { name: 'status board' })
      expect(await link.getAttribute('href')).toMatch(/^\/console\/tokens/)
      const slow = page.getByRole('region', { name: 'Slowest and failed requests' })
      await slow.getByRole('button', { name: /^Slowest \(/ }).waitFor()
      await slow.getByRole('link', { name: 'seen.once' }).waitFor()
      await slow.getByRole('button', { name: 'Failed (1)' }).click()
      await slow.getByRole('link', { name: 'seen.often' }).waitFor()
      for (const text of [
        /^ClickHouse .*0 restarts$/,
        /^\d+ results, .* of /,
        / free$/,
        /^in \d+ of \d+ sources$/,
      ]) {
        await page.locator('.figure').getByText(text).waitFor()
      }
      await page.getByRole('link', { name: 'edge_logs', exact: true }).click()
      await page.getByText('110 entries').first().waitFor()
    }))

  test('updates by itself, and keeps an unfolded request open', () =>
    visit('/', admin(), async (page) => {
      const slow = page.getByRole('region', { name: 'Slowest and failed requests' })
      await slow
        .getByRole('button', { name: /of the request at/ })
        .first()
        .click()
      await asAdmin('POST', '/api/logs?source=postgres_logs', { event_message: 'new' })
      const sources = page.getByRole('region', { name: 'Sources' })
      await sources.getByRole('link', { name: 'postgres_logs' }).waitFor()
      await slow.getByRole('button', { name: /of the request at/, expanded: true }).waitFor()
    }))

  test('shows the other parts when one fails', () =>
    visit('/console/tokens', admin(), async (page) => {
      await page.route('**/api/requests?*', (route) =>
        route.fulfill({ status: 500, json: { error: { message: 'Injected.', request_id: 'r' } } }),
      )
      await page.goto('/')
      await page.getByRole('slider', { name: /^Entries in the last hour/ }).waitFor()
      const requests = page.getByRole('region', { name: 'Requests', exact: true })
      await requests.getByText('Injected.').waitFor()
      await page.unroute('**/api/requests?*')
      await requests.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('slider', { name: /^Requests in the last hour/ }).waitFor()
    }))

  test('fits each size with a chart in view, and has no accessibility violations', async () => {
    const tab = await openConsole(stage.browser(), stage.service(), '/', { ...admin(), bypassPolicy: true })
    const { page } = tab
    const chart = page.getByRole('slider', { name: /^Requests in/ })
    for (const [width, theme] of [
      [1440, 'dark'],
      [1024, 'light'],
      [390, 'light'],
    ] as const) {
      await show(page, width, theme)
      await chart.waitFor()
      const { y, height } = await boxOf(chart)
      expect(y + height).toBeLessThan(844)
      await expectFit(page)
    }
    await tab.close()
  })
})

test('a new service explains how to send the first entry, and that statistics are off', async () => {
  const service = await openService()
  try {
    const tab = await openConsole(stage.browser(), service, '/', { token: service.adminToken.token })
    await tab.page.getByRole('heading', { name: 'No entries yet' }).waitFor()
    await tab.page.getByRole('region', { name: 'Send an entry' }).getByText(service.url).waitFor()
    await tab.page.getByRole('heading', { name: 'Statistics are off' }).waitFor()
    expect(await tab.page.getByRole('region', { name: 'Requests' }).count()).toBe(0)
    await ask(service, service.adminToken.token, 'POST', '/api/logs?source=edge_logs', {
      event_message: 'first',
    })
    await tab.page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()
    await tab.page.getByRole('heading', { name: 'No entries yet' }).waitFor({ state: 'detached' })
    expect(tab.complaints).toEqual([])
    await tab.close()
  } finally {
    await service.close()
  }
})

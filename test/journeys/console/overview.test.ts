import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { freePort } from '../../support/network/free-port.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { faultsOf, openConsole, sharedBrowser } from './stage/browser.ts'
import { fillWithTraffic, projects } from './stage/data.ts'
import { boxOf, expectNoOverflow, onOneLoad, onPage, show } from './stage/stage.ts'
import { openTab } from './stage/tab.ts'

/** The same service before it has entries and with statistics afterwards, as most start. */
const directory = scratchDirectory()
const browser = sharedBrowser()
let service: RunningService | undefined
let port: number
const open = async (statistics: 'on' | 'off') => {
  await service?.close()
  service = undefined
  const environment = { WELLHEAD_PORT: String(port), WELLHEAD_STATISTICS: statistics }
  service = await openService({ dataDir: directory.path, engine: 'embedded', environment })
  return service
}
beforeAll(async () => {
  port = await freePort()
})
afterAll(async () => {
  await service?.close()
  directory.remove()
})

test('a new service explains how to send the first entry, and that statistics are off', async () => {
  const service = await open('off')
  const tab = await openConsole(browser(), service, '/', { token: service.adminToken.token })
  await tab.page.getByRole('heading', { name: 'No entries yet' }).waitFor()
  await tab.page.getByRole('region', { name: 'Send an entry' }).getByText(service.url).waitFor()
  await tab.page.getByRole('heading', { name: 'Statistics are off' }).waitFor()
  expect(await tab.page.getByRole('region', { name: 'Requests' }).count()).toBe(0)
  const shown = await tab.page.locator('.snippet pre').allTextContents()
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
  const [sent = '', asked = ''] = shown.map((text) => text.replace(/[\s\S]*?'(http[^']*)/, '$1'))
  expect(readme).toContain(sent.slice(sent.indexOf('{'), -1))
  expect(readme).toContain(new URL(asked.slice(0, asked.indexOf('&_strict'))).pathname)
  for (const path of ['/console/sources', '/console/endpoints']) {
    await tab.page.goto(path)
    await tab.page.getByText(/^No (sources|endpoints) of your own$/).waitFor()
    await tab.page.locator('.built-in:not([open])').getByText('Built-in').waitFor()
  }
  await tab.page.getByText('Built-in').click()
  await tab.page.getByRole('link', { name: 'logs.all' }).waitFor()
  const { token } = await makeToken(service, { scopes: ['query', 'search'], project: 'demo' })
  const customer = await openConsole(browser(), service, '/console/endpoints', { token })
  await customer.page.getByText('There is nothing to show yet').waitFor()
  await tab.page.goto('/')
  await tab.page.getByRole('button', { name: 'Try it' }).click()
  // The list of sources gets the same number.
  const result = tab.page.getByRole('table', { name: 'Result' })
  await result.getByRole('cell', { name: '1', exact: true }).waitFor()
  await tab.page.getByRole('heading', { name: 'It works' }).waitFor()
  await customer.page.goto('/console/usage')
  await customer.page.getByText('Statistics are off').waitFor()
  expect(await faultsOf(customer.page)).toEqual([])
  await customer.page.goto('/console/endpoints')
  await customer.page.getByRole('link', { name: 'logs.all' }).waitFor()
  expect(await customer.page.getByRole('link', { name: 'functions.invocation-stats' }).count()).toBe(0)
  await customer.close()
  await tab.page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()
  await tab.page.getByRole('heading', { name: 'No entries yet' }).waitFor({ state: 'detached' })
  await tab.page.goto('/console/endpoints/logs.all?_tab=usage')
  await tab.page.getByRole('heading', { name: 'Statistics are off' }).waitFor()
  expect(await faultsOf(tab.page)).toEqual([])
  expect(tab.complaints).toEqual([])
  await tab.close()
})

test('waits for a service that starts, with the token of a tenant', async () => {
  const first = service ?? (await open('off'))
  const { token } = await makeToken(first, {
    description: 'early',
    scopes: ['query', 'search'],
    project: projects[0],
  })
  // The cookie is older than the start.
  const tab = await openConsole(browser(), first, '/health', { token })
  await first.close()
  service = undefined
  const starting = open('on')
  const url = `http://127.0.0.1:${port}`
  const health = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  await expect.poll(health).toBe(true)
  await tab.page.goto(`${url}/console/endpoints`)
  await starting
  // Built-in endpoints have no entries of the project.
  await tab.page.getByText('There is nothing to show yet').waitFor()
  await tab.page.getByText('early').waitFor()
  expect(tab.complaints).toEqual([])
  await tab.close()
})

describe('the overview', () => {
  let counted: RunningService
  const tab = openTab(browser, () => counted)
  const visit = onPage({ browser, service: () => counted, tab: () => tab })
  const admin = () => ({ token: counted.adminToken.token })
  const asAdmin = (method: string, path: string, body?: unknown) =>
    ask(counted, admin().token, method, path, body)

  beforeAll(async () => {
    counted = service?.statistics ? service : await open('on')
    await fillWithTraffic(counted)
    const { token } = await makeToken(counted, { description: 'status board', scopes: ['query'] })
    const query = 'SELECT count() + @n AS n FROM edge_logs'
    for (const name of ['seen.often', 'seen.once']) {
      const endpoint = { name, query, parameters: { n: { type: 'integer' } }, cache_seconds: 600 }
      await asAdmin('POST', '/api/endpoints', endpoint)
    }
    const call = (caller: string, path: string) => ask(counted, caller, 'GET', `/api/endpoints/query/${path}`)
    await call(token, 'seen.often?n=1')
    await call(token, 'seen.often?n=two')
    await call(admin().token, 'seen.once?n=1')
    await counted.statistics?.flush()
  })
  afterAll(() => tab.close())

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

  describe('on one load', () => {
    const walk = onOneLoad(visit, admin)

    test('shows requests, latency and entries over a range that the address holds', () =>
      walk('/', async (page) => {
        const chart = (name: RegExp) => page.getByRole('slider', { name })
        await chart(/^Requests in the last hour: 3, 1 error$/).waitFor()
        await page.getByText('One point per minute').first().waitFor()
        // The only switch is that of all pages.
        expect(await page.getByRole('group', { name: 'Time zone' }).count()).toBe(1)
        await page.getByRole('banner').getByRole('group', { name: 'Time zone' }).waitFor()
        await chart(/^Latency in the last hour: p50 .* m?s, p95 .* m?s$/).waitFor()
        await chart(/^Entries in the last hour: .*function_edge_logs 110/).waitFor()
        await page.getByRole('button', { name: '7 days' }).click()
        await chart(/^Requests in the last 7 days: 3, 1 error$/).waitFor()
        await chart(/^Entries in the last 7 days: .*function_edge_logs 110/).waitFor()
        expect(new URL(page.url()).searchParams.get('range')).toBe('7day')
        await page.reload()
        await chart(/^Requests in the last 7 days: 3, 1 error$/).waitFor()
        await page.goBack()
        await chart(/^Requests in the last hour/).waitFor()
      }))

    test('leads from a failing endpoint to its failed requests and what they mean', () =>
      walk('/?range=1day', async (page) => {
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
      walk('/', async (page) => {
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
        await page.getByRole('link', { name: 'function_edge_logs', exact: true }).click()
        await page.getByText('110 entries').first().waitFor()
      }))

    test('updates by itself, and keeps an unfolded request open', () =>
      walk('/', async (page) => {
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

    test('fits each size with a chart in view', () =>
      walk('/', async (page) => {
        const chart = page.getByRole('slider', { name: /^Requests in/ })
        for (const width of [1440, 1024, 390]) {
          await show(page, width, 'light')
          await chart.waitFor()
          const { y, height } = await boxOf(chart)
          expect(y + height).toBeLessThan(844)
          await expectNoOverflow(page)
        }
      }))
  })
})

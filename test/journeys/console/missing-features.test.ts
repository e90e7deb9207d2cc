import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { features } from '../../../src/features.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { follow, openConsole, sharedBrowser } from './stage/browser.ts'
import { ownRun, write } from './stage/stage.ts'

const browser = sharedBrowser()
/** Dashboards stay, to be shown without live results. */
const missing = ['alerts', 'tables', 'live', 'mcp', 'backup', 'replay', 'demo', 'supabase']
let service: RunningService
const openWithout = (names: readonly string[]) =>
  openService({
    features: features.filter(({ name }) => !names.includes(name)),
    environment: { LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' },
  })
const create = async (path: string, definition: unknown) => {
  const { status, body } = await ask(service, service.adminToken.token, 'POST', path, definition)
  expect([status, body]).toEqual([201, body])
}
beforeAll(async () => {
  service = await openWithout(missing)
  const query = 'SELECT count() AS n FROM edge_logs'
  await create('/api/endpoints', { name: 'visits', query, published: true })
  const rows = [{ items: [{ endpoint: 'visits' }] }]
  await create('/api/dashboards', { name: 'board', rows, refresh: 'live' })
  await logClient(() => service).send('edge_logs', JSON.stringify([{ project: 'blue', message: 'hello' }]))
})
afterAll(() => service?.close())

const links = (page: Page) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()

test('a service without a feature has no page of it in the console, and no way there', async () => {
  const options = { token: service.adminToken.token }
  const { page, complaints, close } = await openConsole(browser(), service, '/', options)
  const requests: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const shown = await links(page)
  expect(shown).toEqual(expect.arrayContaining(['Endpoints', 'Logs', 'Dashboards', 'Sources', 'Tokens']))
  expect(shown.filter((name) => /alerts|tables/i.test(name))).toEqual([])

  for (const path of ['/console/alerts', '/console/alerts/errors', '/console/tables']) {
    await follow(page, path)
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
  }

  await follow(page, '/console/endpoints/visits')
  await page
    .getByText(/ total$/)
    .first()
    .waitFor()
  expect(await page.getByRole('link', { name: 'Alert on this' }).count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Live' }).count()).toBe(0)

  await follow(page, '/console/logs?source=edge_logs')
  await page.getByRole('button', { name: 'Save as endpoint' }).waitFor()
  expect(await page.getByRole('button', { name: /Alert on this|Follow live/ }).count()).toBe(0)

  await page.keyboard.press('Control+K')
  await page.getByRole('combobox', { name: 'Go to' }).fill('new')
  await page.getByRole('option', { name: 'New endpoint' }).waitFor()
  expect(await page.getByRole('option', { name: /New alert|New table/ }).count()).toBe(0)
  await close()
  expect(complaints).toEqual([])
  expect(requests.filter((path) => /^\/api\/(?:alerts|tables)/.test(path))).toEqual([])
})

test('a service without replays saves without trying recent requests', async () => {
  await create('/api/endpoints', { name: 'changed', query: 'SELECT 1 AS n' })
  const options = { token: service.adminToken.token }
  const path = '/console/endpoints/changed'
  const { page, complaints, close } = await openConsole(browser(), service, path, options)
  const requests: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  await ownRun(page)
  await write(page, 'SELECT 2 AS n')
  await page.getByText('The query is valid.').waitFor()
  await page.getByRole('button', { name: 'Save as new version' }).click()
  await page.getByText('version 2', { exact: true }).waitFor()
  await close()
  expect([complaints, requests.filter((path) => /replay/.test(path))]).toEqual([[], []])
})

test('a service without tools for agents and the gateway of Logflare does not offer them', async () => {
  const { id } = await makeToken(service, { scopes: ['query'] })
  const options = { token: service.adminToken.token }
  const { page, complaints, close } = await openConsole(
    browser(),
    service,
    '/console/endpoints/visits',
    options,
  )
  await page.getByRole('button', { name: 'Request' }).click()
  await page.getByRole('button', { name: 'curl' }).waitFor()
  expect(await page.getByRole('button', { name: /^MCP/ }).count()).toBe(0)
  await follow(page, `/console/tokens/${id}`)
  await page.getByText('Restrictions').waitFor()
  expect(await page.getByText('Connect an agent').count()).toBe(0)
  await follow(page, '/console/new-endpoint')
  await page.getByRole('button', { name: 'Format' }).waitFor()
  expect(await page.getByRole('button', { name: 'BigQuery' }).count()).toBe(0)
  await close()
  expect(complaints).toEqual([])
})

test('a service without live results loads dashboards and embedded charts once', async () => {
  const options = { token: service.adminToken.token }
  const { page, complaints, close } = await openConsole(
    browser(),
    service,
    '/console/dashboards/board',
    options,
  )
  await page.locator('[data-place="0 0"]').getByText(/^\d+$/).waitFor()
  await page.getByRole('button', { name: 'Reload' }).waitFor()
  const refresh = page.getByLabel('Refresh')
  expect(await refresh.inputValue()).toBe('off')
  expect(await refresh.getByRole('option').allTextContents()).not.toContain('Live')
  const { token } = await makeToken(service, { scopes: ['query'] })
  await page.goto(`/embed/visits?_view=table#token=${token}`)
  await page.getByRole('cell', { name: /^\d+$/ }).waitFor()
  expect(await page.getByText('Live', { exact: true }).count()).toBe(0)
  await close()
  expect(complaints).toEqual([])
})

test('a service without dashboards has no page of them', async () => {
  const other = await openWithout(['dashboards'])
  try {
    const options = { token: other.adminToken.token }
    const { page, complaints, close } = await openConsole(browser(), other, '/', options)
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const shown = await links(page)
    expect(shown).toEqual(expect.arrayContaining(['Alerts', 'Tables']))
    expect(shown).not.toContain('Dashboards')
    await follow(page, '/console/dashboards')
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    await follow(page, '/console/new-endpoint')
    await page.getByRole('button', { name: 'BigQuery' }).waitFor()
    await close()
    expect([complaints, requests.filter((path) => /dashboards/.test(path))]).toEqual([[], []])
  } finally {
    await other.close()
  }
})

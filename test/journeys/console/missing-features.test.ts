import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { features } from '../../../src/features.ts'
import { ask } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { follow, openConsole, sharedBrowser } from './stage/browser.ts'

const browser = sharedBrowser()
const missing = ['alerts', 'tables', 'live']
let service: RunningService
beforeAll(async () => {
  service = await openService({ features: features.filter(({ name }) => !missing.includes(name)) })
  const endpoint = { name: 'visits', query: 'SELECT count() AS n FROM edge_logs' }
  const { status } = await ask(service, service.adminToken.token, 'POST', '/api/endpoints', endpoint)
  expect(status).toBe(201)
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

import type { Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { faultsOf, follow } from './stage/browser.ts'
import { projects } from './stage/data.ts'
import { boxOf, onOneLoad, onPage, openStage, ownRun, write } from './stage/stage.ts'

const [shop, notes] = projects

const stage = openStage()
const { admin, asAdmin } = stage
const versionOf = async (name: string) => (await asAdmin('GET', `/api/endpoints/${name}`)).body.version
const save = async (page: Page) => {
  await page.getByText('The query is valid.').waitFor()
  await page.getByRole('button', { name: 'Save as new version' }).click()
}

describe('saving in the console', () => {
  const walk = onOneLoad(onPage(stage), admin)

  test('asks before a change that breaks callers, also when a version is restored', async () => {
    const name = 'console.breaking'
    await asAdmin('POST', '/api/endpoints', { name, query: 'SELECT 1 AS one, 2 AS two' })
    await walk(`/console/endpoints/${name}`, async (page) => {
      const dialog = page.getByRole('dialog', { name: 'This change breaks callers' })
      await write(page, 'SELECT 1 AS one')
      await save(page)
      await dialog.getByRole('listitem').filter({ hasText: 'two' }).waitFor()
      const sentence = await boxOf(dialog.getByText('Callers of the current version'))
      expect(sentence.y).toBeLessThan((await boxOf(dialog.getByRole('listitem').first())).y)
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
      expect(await versionOf(name)).toBe(1)
      await save(page)
      await dialog.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('button', { name: /^Version 1/ }).click()
      await page.getByRole('button', { name: 'Restore version 1' }).click()
      await page.getByText('version 3', { exact: true }).waitFor()
      await page.getByRole('button', { name: /^Version 2/ }).click()
      await page.getByRole('button', { name: 'Restore version 2' }).click()
      await dialog.getByRole('button', { name: 'Restore anyway' }).click()
      await page.getByText('version 4', { exact: true }).waitFor()
    })
  })

  test('tries recent requests first, and asks if the change affects them', async () => {
    const name = 'console.tried'
    const query = `SELECT event_message, count() AS n FROM edge_logs
WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY
GROUP BY event_message ORDER BY event_message`
    const parameters = { project: { required: true } }
    await asAdmin('POST', '/api/endpoints', { published: true, name, query, parameters, cache_seconds: 600 })
    const { token: tenant } = await makeToken(stage.service(), { scopes: ['query'], project: notes })
    const requests = async () => {
      const path = `/api/endpoints/query/${name}`
      for (const _ of [1, 2]) await asAdmin('GET', `${path}?project=${shop}`)
      expect((await ask(stage.service(), tenant, 'GET', path)).status).toBe(200)
    }
    await requests()
    // The page sends one of these requests by itself.
    const path = `/console/endpoints/${name}?project=${shop}`
    await walk(path, async (page) => {
      const dialog = page.getByRole('dialog', { name: 'This change affects recent requests' })
      await ownRun(page)
      await write(page, query.replace('count()', 'countIf(1)'))
      await save(page)
      await page.getByText('Saved. All 2 recent requests return the same rows.').waitFor()
      await page.getByText('version 2', { exact: true }).waitFor()

      await requests()
      await write(page, query.replace('count()', "countIf(event_message LIKE '%200%') + 1"))
      await save(page)
      await dialog.getByText('Of 2 recent requests, 2 return different rows.', { exact: false }).waitFor()
      await dialog
        .getByText(/\d+ rows removed, \d+ rows added/)
        .first()
        .waitFor()
      await dialog.getByText('tenant', { exact: true }).waitFor()
      expect(await dialog.textContent()).not.toMatch(/abcdefgh|GET/)
      await dialog.getByRole('button', { name: 'Show values' }).click()
      await dialog.getByText(`project=${shop}`).waitFor()
      await dialog.getByText(`tenant ${notes}`).waitFor()
      await dialog
        .getByText(/^- \{"event_message":"GET/)
        .first()
        .waitFor()
      expect(await faultsOf(page, 'dialog')).toEqual([])
      await dialog.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('version 3', { exact: true }).waitFor()
    })
  })

  test('marks and lists warnings, which do not prevent saving', async () => {
    const name = 'console.warned'
    await asAdmin('POST', '/api/endpoints', { name, query: 'SELECT 1 AS id' })
    await walk(`/console/endpoints/${name}`, async (page) => {
      await write(page, 'SELECT id\nFROM edge_logs\nWHERE project = @projct\nLIMIT 5')
      const list = page.getByRole('region', { name: '3 warnings' })
      await list.getByText(/^Line 3, column 17: @projct is not declared/).waitFor()
      await list.getByRole('button', { name: 'no_order' }).click()
      const help = page.getByRole('dialog', { name: 'no_order' })
      await help.getByText('Without ORDER BY, rows come in no particular order', { exact: false }).waitFor()
      await help.getByText('ORDER BY timestamp DESC').waitFor()
      expect(await faultsOf(page, 'dialog')).toEqual([])
      await help.getByRole('button', { name: 'Close' }).click()
      await page.locator('.cm-lintRange-warning').first().waitFor()
      expect(await faultsOf(page, '.query-box')).toEqual([])
      await save(page)
      await page.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      // Saved endpoints have their warnings, too.
      await follow(page, '/console/endpoints')
      await page.getByRole('link', { name }).click()
      await list.waitFor()
      await write(page, 'SELECT id +')
      await page.getByText(/Syntax error/).waitFor()
      await list.waitFor({ state: 'detached' })
    })
  })

  test('saves without trying, if the user does not want to wait', async () => {
    const name = 'console.untried'
    await asAdmin('POST', '/api/endpoints', { name, query: 'SELECT 1 AS one' })
    await walk(`/console/endpoints/${name}`, async (page) => {
      // A replay that takes long.
      await page.route('**/replay', () => {})
      await write(page, 'SELECT 2 AS one')
      await save(page)
      await page.getByText('Trying recent requests …').waitFor()
      await page.getByRole('button', { name: 'Save without trying' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      await page.unroute('**/replay')
      await page.route('**/replay', (route) =>
        route.fulfill({ status: 504, json: { error: { message: 'Too slow.' } } }),
      )
      await write(page, 'SELECT 3 AS one')
      await save(page)
      const dialog = page.getByRole('dialog', { name: 'Recent requests were not tried' })
      await dialog.getByText('Too slow.').waitFor()
      await dialog.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('version 3', { exact: true }).waitFor()
    })
  })

  test('keeps what is typed while a version is being saved', async () => {
    const name = 'console.typed'
    await asAdmin('POST', '/api/endpoints', { name, query: 'SELECT 1 AS one' })
    await walk(`/console/endpoints/${name}`, async (page) => {
      const sent = new Promise<Route>((resolve) =>
        page.route('**/api/endpoints/*', (route) =>
          route.request().method() === 'PATCH' ? resolve(route) : route.continue(),
        ),
      )
      await write(page, 'SELECT 2 AS one')
      await save(page)
      const held = await sent
      await write(page, 'SELECT 3 AS one')
      await held.continue()
      await page.unroute('**/api/endpoints/*')
      await page.getByText('version 2', { exact: true }).waitFor()
      await page.getByText('SELECT 3 AS one').waitFor()
      await save(page)
      await page.getByText('version 3', { exact: true }).waitFor()
    })
    expect((await asAdmin('GET', `/api/endpoints/${name}`)).body.query).toBe('SELECT 3 AS one')
  })

  test('opens the page of the former name when a version with it is restored', async () => {
    const name = 'console.former'
    const { body } = await asAdmin('POST', '/api/endpoints', { name, query: 'SELECT 1 AS one' })
    await asAdmin('PATCH', `/api/endpoints/${body.id}?breaking=true`, { name: 'console.latter' })
    await walk('/console/endpoints/console.latter?_tab=versions', async (page) => {
      await page.getByRole('button', { name: /^Version 1/ }).click()
      await page.getByRole('button', { name: 'Restore version 1' }).click()
      await page.getByRole('button', { name: 'Restore anyway' }).click()
      await page.waitForURL(/console\.former/)
      await page.getByText('version 3', { exact: true }).waitFor()
    })
  })

  test('sends strict requests, can require them, and can hide an endpoint from tenants', async () => {
    const name = 'console.strict'
    await asAdmin('POST', '/api/endpoints', { name, query: 'SELECT 1 AS one', published: true })
    const { token } = await makeToken(stage.service(), { scopes: ['query'], project: shop })
    const asTenant = async () => (await ask(stage.service(), token, 'GET', '/api/whoami')).body.endpoints
    const listed = expect.arrayContaining([expect.objectContaining({ name })])
    expect(await asTenant()).toEqual(listed)
    await walk(`/console/endpoints/${name}`, async (page) => {
      await ownRun(page)
      const request = page.waitForRequest(/console\.strict\?_strict=1$/)
      await page.getByRole('button', { name: /^Run/ }).click()
      await request
      await page.getByRole('button', { name: 'Request' }).click()
      expect(await page.getByRole('region', { name: /curl/ }).textContent()).toContain('?_strict=1')
      await page.getByRole('button', { name: 'Settings' }).click()
      await page.getByLabel('Refuse requests with parameters').check()
      await page.getByLabel('Published to tenants').uncheck()
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      await page.getByText('not published', { exact: true }).waitFor()
      await follow(page, `/console/endpoints?q=${name}`)
      await page.getByRole('row', { name: `${name} not published` }).waitFor()
    })
    expect(await asTenant()).not.toEqual(listed)
    const response = await asAdmin('GET', `/api/endpoints/query/${name}?projct=x`)
    expect([response.status, response.body.error.parameter]).toEqual([400, 'projct'])
  })
})

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { faultsInThemes, follow } from './stage/browser.ts'
import { onOneLoad, onPage, openStage } from './stage/stage.ts'

/** Not those of other journeys, which count requests and errors. */
const [shop, notes] = ['tokens-shop', 'tokens-notes']
const logs = '/api/endpoints/query/logs.all'

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage

beforeAll(async () => {
  const customers = Array.from({ length: 12 }, (_, n) => ({
    description: `customer ${n + 1}`,
    scopes: ['query'],
    project: `tenant${n + 1}`,
  }))
  await Promise.all(customers.map((fields) => makeToken(stage.service(), fields)))
})

describe('the tokens page', () => {
  test('creates a token, shows it once, and revokes it', () =>
    visit('/console/tokens', admin(), async (page) => {
      await page.getByRole('button', { name: 'New token' }).click()
      await page.getByLabel('Description').fill('a board')
      await page.getByLabel('Endpoints', { exact: true }).selectOption('logs.all')
      await page.getByLabel('Endpoints', { exact: true }).selectOption('usage.api-counts')
      await page.getByLabel('Project', { exact: true }).fill(notes)
      const name = page.getByLabel('Name of fixed parameter 1')
      await name.fill('project_tier: PRO')
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByText('is not a parameter name', { exact: false }).waitFor()
      await name.fill('project_tier')
      await page.getByLabel('Value of fixed parameter 1').fill('PRO')
      await page.getByRole('button', { name: 'Create token' }).click()
      const secret = ((await page.locator('.secret').textContent()) ?? '').trim()
      const call = () => ask(stage.service(), secret, 'GET', logs)
      expect((await call()).status).toBe(200)
      // As over plain HTTP, where scripts have no clipboard.
      await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
      await page.getByRole('button', { name: 'Copy token' }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      await page.getByRole('button', { name: 'Done' }).click()
      expect(await page.content()).not.toContain(secret)
      await page.getByRole('cell', { name: 'query:logs.all, query:usage.api-counts' }).last().waitFor()
      await page.getByRole('cell', { name: 'project_tier PRO' }).last().waitFor()
      await page.getByRole('button', { name: 'New token' }).click()
      await page.getByLabel('Description').focus()
      await page.keyboard.press('Control+V')
      await expect.poll(() => page.getByLabel('Description').inputValue()).toBe(secret)
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('link', { name: 'a board' }).click()
      await page.getByRole('button', { name: 'Revoke', exact: true }).click()
      await page.getByRole('button', { name: 'Revoke token' }).click()
      await page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor()
      await page.getByRole('link', { name: 'a board' }).waitFor({ state: 'detached' })
      expect((await call()).status).toBe(401)
    }))

  test('explains what reads whole entries, and grants it to a token and a session', async () => {
    const search = (token: string) =>
      ask(stage.service(), token, 'POST', '/api/sources/edge_logs/search', { limit: 1 })
    const secretOf = async (page: Page) => ((await page.locator('.secret').textContent()) ?? '').trim()
    await visit('/console/tokens', admin(), async (page) => {
      await page.getByRole('button', { name: 'New token' }).click()
      await page.getByText('Gets the columns that endpoints return, and nothing else.').waitFor()
      await page.getByText('whole entries with all their metadata', { exact: false }).waitFor()
      await page.getByLabel('Description').fill('support desk')
      await page.getByLabel('Read log entries').check()
      await page.getByLabel('Project', { exact: true }).fill(notes)
      await page.getByRole('button', { name: 'Create token' }).click()
      expect((await search(await secretOf(page))).status).toBe(200)
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByRole('row', { name: /support desk.*query, search/ }).waitFor()
      await page.getByRole('link', { name: 'support desk' }).click()
      for (const reads of [false, true]) {
        await page.getByRole('button', { name: 'Create a browser session' }).click()
        await page.getByLabel('Read log entries').setChecked(reads)
        await page.getByRole('button', { name: 'Create session' }).click()
        const session = await secretOf(page)
        expect((await search(session)).status).toBe(reads ? 200 : 403)
        expect((await ask(stage.service(), session, 'GET', logs)).status).toBe(200)
        await page.getByRole('button', { name: 'Done' }).click()
      }
    })
  })

  test('shows who made a token, its requests, errors and last use', async () => {
    const maker = await makeToken(stage.service(), { description: 'automation', scopes: ['admin'] })
    const made = await ask(stage.service(), maker.token, 'POST', '/api/access-tokens', {
      description: 'made by a token',
      scopes: ['query'],
      project: shop,
    })
    const { token } = made.body as MadeToken
    const other = await makeToken(stage.service(), {
      description: 'other',
      scopes: ['query'],
      project: notes,
    })
    await ask(stage.service(), token, 'GET', logs)
    await ask(stage.service(), token, 'GET', '/api/endpoints/query/usage.api-counts?interval=never')
    for (let n = 0; n < 3; n++) await ask(stage.service(), other.token, 'GET', logs)
    await stage.service().statistics?.flush()
    await visit(`/console/tokens?q=made+by`, admin(), async (page) => {
      await page.getByRole('link', { name: 'made by a token' }).click()
      await page.getByRole('slider', { name: /^Requests in the last hour: 2, 1 error/ }).waitFor()
      const endpoints = page.getByRole('region', { name: 'Endpoints in the last hour' })
      await endpoints.getByRole('row', { name: /^usage\.api-counts 1 error .* 1$/ }).waitFor()
      await page.getByText('400 invalid_parameter').waitFor()
      expect(await page.getByText('Last used').locator('..').textContent()).not.toContain('never')
      await page.getByRole('link', { name: 'automation' }).click()
      await page.getByText('by admin token').waitFor()
      await page.getByText('No requests in the last hour.').first().waitFor()
    })
  })

  test('finds tokens by words, sorts them, and marks expired ones', async () => {
    const old = await makeToken(stage.service(), { description: '000 old', scopes: ['ingest'] })
    await asAdmin('PATCH', `/api/access-tokens/${old.id}`, { expires_at: '2026-01-01T00:00:00Z' })
    const used = await makeToken(stage.service(), { description: 'zzz used', scopes: ['query'] })
    await ask(stage.service(), used.token, 'GET', '/api/whoami')
    await visit('/console/tokens', admin(), async (page) => {
      const names = () => page.locator('tbody .name').allTextContents()
      await page.getByRole('link', { name: 'zzz used' }).waitFor()
      await expect.poll(async () => (await names())[0]).toBe('zzz used')
      await page.getByRole('button', { name: 'Name', exact: true }).click()
      await expect.poll(async () => (await names())[0]).toBe('000 old')
      const all = await names()
      expect(all.indexOf('customer 2')).toBeLessThan(all.indexOf('customer 10'))
      await page.getByLabel('Search tokens').fill('customer tenant12')
      await page.getByText(/^1 of \d+ tokens$/).waitFor()
      expect(await names()).toEqual(['customer 12'])
      await page.getByLabel('Search tokens').fill('expired')
      await expect.poll(names).toEqual(['000 old'])
      await page.getByRole('row', { name: /000 old expired/ }).waitFor()
      await page.reload()
      await page.getByText(/^1 of \d+ tokens$/).waitFor()
      await page.getByLabel('Search tokens').fill('nobody has this')
      await page.getByText('Nothing matches').waitFor()
      await page.goto('/console/tokens/00000000-0000-4000-8000-000000000000')
      await page.getByText('No such token').waitFor()
    })
  })
})

describe('the page of a token', () => {
  const walk = onOneLoad(visit, admin)

  test('changes only the edited fields of a token, and keeps its secret', async () => {
    const fields = { description: 'importer', scopes: ['ingest:edge_logs', 'query:logs.all'], project: shop }
    // A form shows seconds, so the fraction must not get lost.
    const expires_at = new Date(Date.now() + 86_400_123).toISOString()
    const { id, token } = await makeToken(stage.service(), { ...fields, expires_at })
    await walk(`/console/tokens/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByLabel('Description').fill('new importer')
      await page.getByLabel('Requests per minute').fill('0')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('requests_per_minute', { exact: false }).waitFor()
      await page.getByLabel('Requests per minute').fill('600')
      await page.getByRole('button', { name: 'Remove logs.all' }).click()
      await page.getByText('This allows all endpoints.').waitFor()
      await page.getByLabel('Endpoints', { exact: true }).selectOption('usage.api-counts')
      // Somebody else changes another field meanwhile.
      await asAdmin('PATCH', `/api/access-tokens/${id}`, { parameters: { project_tier: 'PRO' } })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { name: 'new importer' }).waitFor()
      await page.getByText('query:usage.api-counts, ingest:edge_logs').waitFor()
      await page.getByText('project_tier PRO').waitFor()
    })
    const { body } = await asAdmin('GET', `/api/access-tokens/${id}`)
    expect(body).toMatchObject({
      description: 'new importer',
      scopes: ['query:usage.api-counts', 'ingest:edge_logs'],
      project: shop,
      parameters: { project_tier: 'PRO' },
      requests_per_minute: 600,
      expires_at,
    })
    expect((await ask(stage.service(), token, 'GET', logs)).status).toBe(403)
  })

  test('shows how an agent connects with a token that can request endpoints', async () => {
    const made = (description: string, scopes: string[]) =>
      makeToken(stage.service(), { description, scopes, project: shop })
    const agent = await made('support agent', ['query:logs.all'])
    const sender = await made('sender', ['ingest'])
    await walk(`/console/tokens/${agent.id}`, async (page) => {
      const part = page.getByRole('region', { name: 'Connect an agent' })
      const settings = JSON.parse(
        (await part.getByRole('region', { name: 'Connect with: MCP', exact: true }).textContent()) ?? '',
      )
      const { url, headers } = settings.mcpServers.wellhead
      expect(Object.values(headers)).toEqual([expect.stringContaining('WELLHEAD_TOKEN')])
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          ...Object.fromEntries(Object.keys(headers).map((name) => [name, agent.token])),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
      const { result } = (await response.json()) as { result: { tools: { name: string }[] } }
      expect(result.tools.map(({ name }) => name)).toEqual(['logs_all'])
      await part.getByRole('button', { name: 'MCP command' }).click()
      const command = await part.getByRole('region', { name: 'Connect with: MCP command' }).textContent()
      expect(command).toContain(`wellhead mcp --url ${stage.service().url}`)
      await part.getByRole('button', { name: 'Copy' }).click()
      await part.getByRole('button', { name: 'Copied' }).waitFor()
      await follow(page, `/console/tokens/${sender.id}`)
      await page.getByText('No requests in the last hour.').first().waitFor()
      expect(await page.getByRole('heading', { name: 'Connect an agent' }).count()).toBe(0)
    })
  })

  test('has no accessibility violations on the page of a token and in its forms', async () => {
    const { id } = await makeToken(stage.service(), {
      description: 'inspected',
      scopes: ['query:logs.all', 'ingest:edge_logs'],
      project: shop,
    })
    await walk({ path: `/console/tokens/${id}`, width: 360 }, async (page) => {
      await page.getByText('No requests in the last hour.').first().waitFor()
      expect(await faultsInThemes(page)).toEqual({})
      for (const [button, field] of [
        ['Edit', 'Description'],
        ['Create a browser session', 'Minutes'],
      ] as const) {
        await page.getByRole('button', { name: button }).click()
        await page.getByLabel(field, { exact: true }).waitFor()
        expect([button, await faultsInThemes(page, 'dialog')]).toEqual([button, {}])
        await page.getByRole('button', { name: 'Cancel' }).click()
      }
    })
  })

  test('creates a browser session with fewer rights and a link to embed an endpoint', async () => {
    const { id } = await makeToken(stage.service(), { description: 'shop', scopes: ['query'], project: shop })
    await walk(`/console/tokens/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Create a browser session' }).click()
      await page.getByLabel('Minutes').fill('5')
      await page.getByRole('option', { name: 'logs.all' }).waitFor({ state: 'attached' })
      const offered = await page.getByLabel('Endpoint', { exact: true }).locator('option').allTextContents()
      expect(offered).toContain('logs.all')
      expect(offered).not.toContain('wellhead.endpoint-stats')
      await page.getByLabel('Endpoint', { exact: true }).selectOption('usage.api-counts')
      await page.getByRole('button', { name: 'Create session' }).click()
      const secret = ((await page.locator('.secret').textContent()) ?? '').trim()
      expect(secret).toMatch(/^whs_/)
      const link = await page.getByRole('region', { name: 'Link to embed' }).textContent()
      expect(link).toBe(`${stage.service().url}/embed/usage.api-counts#token=${secret}`)
      const request = (path: string) => ask(stage.service(), secret, 'GET', `/api/endpoints/query/${path}`)
      expect((await request('usage.api-counts?interval=hourly')).status).toBe(200)
      expect((await request('logs.all')).status).toBe(403)
      await page.getByRole('button', { name: 'Done' }).click()
      expect(await page.content()).not.toContain(secret)
      await page.getByRole('button', { name: 'Revoke', exact: true }).click()
      await page.getByRole('button', { name: 'Revoke token' }).click()
      await page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor()
      expect((await request('usage.api-counts?interval=hourly')).status).toBe(401)
    })
  })
})

import { describe, expect, test } from 'vitest'
import { follow } from './stage/browser.ts'
import { projects } from './stage/data.ts'
import { onOneLoad, onPage, openStage, write } from './stage/stage.ts'

const [shop] = projects

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage

describe('the console', () => {
  test('signs in with a token for all tabs, keeps it from scripts, and shows sources with entries', () =>
    visit('/', {}, async (page) => {
      await page.getByLabel('Access token').fill('wh_wrong')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('This token is not valid.').waitFor()
      await page.getByLabel('Access token').fill(stage.service().adminToken.token)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()
      await page.getByText('Ready', { exact: true }).waitFor()
      expect(
        await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])'),
      ).not.toContain(stage.service().adminToken.token)
      const second = await page.context().newPage()
      await second.goto('/console/tokens')
      await second.getByRole('heading', { name: 'Tokens', exact: true }).waitFor()
      // Without an issuer, nobody but tokens can sign in.
      expect(await second.getByRole('link', { name: /^(Audit|People)$/ }).allTextContents()).toEqual([
        'Audit',
      ])
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await second.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(await page.context().cookies()).toEqual([])
    }))
})

describe('an admin', () => {
  const walk = onOneLoad(visit, admin)

  test.each([
    ['functions.invocation-stats', 'p95_execution_time', 'canvas'],
    ['usage.api-counts', 'total_rest_requests', 'canvas'],
    ['logs.all', 'event_message', 'No chart'],
  ])('runs %s and shows a table, a chart, JSON and a request to copy', (name, column, chart) =>
    walk(`/console/endpoints?q=${name}`, async (page) => {
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByLabel('project', { exact: false }).first().fill(shop)
      if (name === 'functions.invocation-stats') await page.getByLabel('interval').fill('1hr')
      if (name === 'usage.api-counts') await page.getByLabel('interval').selectOption('minutely')
      // The page may have run by itself, but does not after a value was entered.
      const sent = page.waitForRequest((request) => request.url().includes(`/query/${name}?project=${shop}`))
      await page.getByRole('button', { name: /^Run/ }).click()
      expect((await (await sent).response())?.status()).toBe(200)
      await page.getByRole('columnheader', { name: column }).waitFor()
      await page.getByText(/ m?s total$/).waitFor()
      await page.getByRole('button', { name: 'Chart', exact: true }).click()
      await (chart === 'canvas' ? page.locator('.chart canvas') : page.getByText(chart)).waitFor()
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      await page.getByRole('region', { name: 'Result as JSON' }).getByText(column).first().waitFor()
      await page.getByRole('button', { name: 'Request' }).click()
      const call = await page.getByRole('region', { name: /curl/ }).textContent()
      expect(call).toContain(`${stage.service().url}/api/endpoints/query/${name}?project=${shop}`)
      expect(call).not.toContain(stage.service().adminToken.token)
      await page.getByRole('button', { name: 'MCP command' }).click()
      await page
        .getByRole('region', { name: /MCP command/ })
        .getByText('wellhead mcp --url')
        .waitFor()
      expect(page.url()).toContain(`project=${shop}`)
    }),
  )

  test('marks a syntax error, runs an unsaved query, saves versions and restores one', () =>
    walk('/console/new-endpoint', async (page) => {
      const editor = page.getByRole('textbox', { name: 'SQL of the endpoint' })
      await page.getByLabel('Name').fill('console.made')
      await write(page, 'SELECT\n  count() AS n\nFRM edge_logs\nWHERE project = @project')
      await page.getByText(/^Line 3, column \d+: Syntax error/).waitFor()
      await page.locator('.cm-lintRange-error').waitFor()
      expect(await page.getByRole('button', { name: 'Create endpoint' }).isDisabled()).toBe(true)
      await write(page, 'SELECT 1 +')
      await page
        .getByText('Line 1, column 11: Syntax error at the end of the query.', { exact: true })
        .waitFor()
      await write(
        page,
        'SELECT count() AS n, max(timestamp) AS newest\nFROM edge_logs\nWHERE project = @project',
      )
      await page.getByText('The query is valid.').waitFor()
      await page.getByLabel('project', { exact: false }).first().fill(shop)
      await editor.click()
      await page.keyboard.press('Control+Enter')
      await page.getByRole('cell', { name: '55', exact: true }).waitFor()
      await page.getByRole('button', { name: 'Create endpoint' }).click()
      await page.getByRole('button', { name: 'Publish to tenants' }).click()
      await page.getByText('version 1', { exact: true }).waitFor()
      await write(page, 'SELECT count() + 1 AS n\nFROM edge_logs\nWHERE project = @project')
      await page.getByText('The query is valid.').waitFor()
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('newest was removed').waitFor()
      await page.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('heading', { name: 'Changes in version 2' }).waitFor()
      await page.locator('.cm-deletedChunk').first().waitFor()
      await page.getByRole('button', { name: /^Version 1/ }).click()
      await page.getByRole('button', { name: 'Restore version 1' }).click()
      await page.getByText('version 3', { exact: true }).waitFor()
      const { body } = await asAdmin('GET', '/api/endpoints/console.made')
      expect(body).toMatchObject({ version: 3, query: expect.stringContaining('max(timestamp)') })
    }))

  test('finds entries, filters by a clicked value, and goes back', () =>
    walk(`/console/logs?source=edge_logs&project=${shop}&range=24h`, async (page) => {
      await page.getByText('55 entries').first().waitFor()
      await page
        .getByRole('button', { name: /GET \| 500/ })
        .first()
        .click()
      await page.getByRole('button', { name: 'Filter for metadata.response.status_code 500' }).click()
      await page.getByText('6 entries').first().waitFor()
      expect(new URL(page.url()).searchParams.get('q')).toBe('response.status_code:500')
      await page.goBack()
      await page.getByText('55 entries').first().waitFor()
      await page.getByRole('combobox', { name: 'Search' }).fill('orders -response.status_code:200')
      await page.keyboard.press('Enter')
      await page.getByText('2 entries').first().waitFor()
      await page.reload()
      await page.getByText('2 entries').first().waitFor()
    }))

  test('follows new entries, and can be paused', () =>
    walk(`/console/logs?source=auth_logs&live=1`, async (page) => {
      const send = (text: string) =>
        asAdmin('POST', '/api/logs?source=auth_logs', { project: shop, event_message: text })
      await page.getByText('New entries appear here as they arrive.').waitFor()
      await send('somebody signed in')
      await page.getByRole('button', { name: /somebody signed in/ }).waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await send('somebody signed out')
      await page.getByText('Paused.', { exact: false }).waitFor()
      await page.getByText('1 waiting').waitFor()
      expect(await page.getByRole('button', { name: /somebody signed out/ }).count()).toBe(0)
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('button', { name: /somebody signed out/ }).waitFor()
    }))

  test('shows a source with its schema, how to send entries, and rejected entries', () =>
    walk('/console/sources/edge_logs', async (page) => {
      await page.getByRole('cell', { name: 'metadata.response.status_code' }).waitFor()
      for (const sender of ['Vector', 'Fluent Bit', 'OpenTelemetry', 'pino', 'curl']) {
        await page.getByRole('button', { name: sender }).click()
        const text = await page.getByRole('region', { name: `Send with: ${sender}` }).textContent()
        expect(text).toContain(
          sender === 'Fluent Bit' ? new URL(stage.service().url).port : stage.service().url,
        )
        if (sender === 'pino') expect(text).toContain('the path of the project in the source')
      }
      await follow(page, '/console/sources/quarantine')
      await page
        .getByRole('cell', { name: /timestamp/ })
        .first()
        .waitFor()
      await page
        .getByRole('cell', { name: /not a time/ })
        .first()
        .waitFor()
    }))
})

import { readFileSync } from 'node:fs'
import type { Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { examples } from '../../../console/src/endpoints/unsaved/examples.ts'
import { projects } from './stage/data.ts'
import { boxOf, onOneLoad, onPage, openStage, write } from './stage/stage.ts'

const sql = (page: Page) => page.getByRole('textbox', { name: 'SQL' })

const read = (page: Page) => page.getByText(/^read \d/).waitFor()
const linkTo = (query: string, values: Record<string, string> = {}) =>
  `/console/playground#${new URLSearchParams({ _sql: query, ...values })}`

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage
const call = async (method: string, path: string) => (await asAdmin(method, path)).body

describe('the playground of somebody new', () => {
  test('leads from a question to a saved endpoint that returns the same rows', () =>
    visit('/', admin(), async (page) => {
      await page.getByRole('link', { name: 'Playground' }).click()
      await sql(page).waitFor()
      await page.getByRole('button', { name: 'Format' }).waitFor()
      // Only with the gateway of Logflare.
      expect(await page.getByRole('button', { name: 'BigQuery' }).count()).toBe(0)
      await page.keyboard.press('Control+Enter')
      await page.getByRole('button', { name: 'edge_logs', exact: true }).click()
      await page.getByRole('searchbox', { name: 'Filter the schema' }).fill('status number')
      const column = page.getByRole('button', { name: /^status_code/ })
      // Other files send entries without a status.
      await column.getByText(/number · \d+ %/).waitFor()
      await column.getByText('200', { exact: false }).waitFor()
      await write(page, 'SELECT ')
      await column.click()
      await page.keyboard.insertText(', count() AS n FROM')
      await page.getByRole('button', { name: 'Insert edge_logs' }).click()
      await page.keyboard.insertText(
        ' WHERE project = @project AND status_code >= @least AND timestamp > @since ' +
          'GROUP BY status_code ORDER BY status_code',
      )
      await page.getByText('The query is valid.').waitFor()
      await page.getByLabel(/^project · required/).fill(projects[0])
      await page.getByLabel(/^least · required/).fill('500')
      await page.getByLabel(/^since · required/).fill('2020-01-01T00:00:00Z')
      await page.keyboard.press('Enter')
      await page.getByRole('cell', { name: '6', exact: true }).waitFor()
      await read(page)
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      const rows = [{ status_code: 500, n: 6 }]
      const shown = await page.getByRole('region', { name: 'Result as JSON' }).textContent()
      expect(JSON.parse(shown ?? '')).toEqual(rows)
      expect(new URL(page.url()).search).toBe('?_view=json')
      const runs: string[] = []
      page.on('request', (request) => /preview/.test(request.url()) && runs.push(request.url()))
      await page.getByRole('button', { name: 'Save as endpoint' }).click()
      // The rows come along.
      const carried = await page.getByRole('region', { name: 'Result as JSON' }).textContent()
      expect(JSON.parse(carried ?? '')).toEqual(rows)
      expect(await page.getByText('Rows from before your changes').count()).toBe(0)
      const name = page.getByLabel('Name')
      const create = page.getByRole('button', { name: 'Create endpoint' })
      for (const [wrong, problem] of [
        ['2 b', /^Start with a letter/],
        ['logs.all', 'There already is an endpoint named logs.all.'],
      ] as const) {
        await name.fill(wrong)
        await page.locator('.field', { has: name }).getByText(problem).waitFor()
        expect([await name.getAttribute('aria-invalid'), await create.isDisabled()]).toEqual(['true', true])
      }
      await name.fill('console.asked')
      await page.getByText('The query is valid.').waitFor()
      await create.click()
      await page.getByRole('button', { name: 'Publish to tenants' }).click()
      await page.getByText('version 1', { exact: true }).waitFor()
      expect(runs).toEqual([])
      await page.getByRole('button', { name: 'Table', exact: true }).click()
      const sent = page.waitForRequest(/query\/console\.asked/)
      await page.getByRole('button', { name: /^Run/ }).click()
      expect((await (await sent).response())?.status()).toBe(200)
      await page.getByRole('cell', { name: '6', exact: true }).waitFor()
      const { query, parameters } = await call('GET', '/api/endpoints/console.asked')
      expect(query).toMatch(/^SELECT status_code, count\(\) AS n FROM edge_logs WHERE/)
      expect(parameters).toMatchObject({
        project: { type: 'string', required: true },
        least: { type: 'integer', required: true },
        since: { type: 'timestamp', required: true },
      })
      const values = `project=${projects[0]}&least=500&since=2020-01-01T00:00:00Z`
      expect((await call('GET', `/api/endpoints/query/console.asked?${values}`)).result).toEqual(rows)
    }))

  test('offers examples that return rows, and lists what was run', () =>
    visit('/console/playground', admin(), async (page) => {
      for (const { title } of examples) {
        await write(page, '')
        await page.getByRole('button', { name: title }).click()
        await page.keyboard.press('Control+Enter')
        await read(page)
        expect(await page.getByRole('row').count(), title).toBeGreaterThan(1)
        await page.reload()
        await sql(page).waitFor()
      }
      await page.getByRole('button', { name: 'History' }).click()
      const past = page.locator('.past li')
      await expect.poll(() => past.count()).toBe(3)
      await past.nth(2).getByRole('button').first().click()
      await sql(page).getByText('toStartOfMinute').waitFor()
      await page.keyboard.press('Control+Enter')
      await read(page)
      expect(await past.count()).toBe(3)
      expect(await past.first().textContent()).toContain('toStartOfMinute')
      const stored = await page.evaluate<string>('JSON.stringify(localStorage)')
      expect(stored).toContain('toStartOfMinute')
      expect(stored).not.toContain(admin().token)
      await past
        .first()
        .getByRole('button', { name: /^Remove/ })
        .click()
      await expect.poll(() => past.count()).toBe(2)
      await page.evaluate(
        "for (const key of Object.keys(localStorage)) if (/playground/.test(key)) localStorage.setItem(key, '[{')",
      )
      await page.reload()
      await page.getByRole('button', { name: 'History' }).click()
      await page.getByText('Queries that you run are listed here').waitFor()
    }))
})

describe('the playground', () => {
  const walk = onOneLoad(visit, admin)

  test('shares a question by a link that does not run, and that the service never sees', () =>
    walk(linkTo('SELECT @n + 1 AS next', { n: '41' }), async (page) => {
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      await page.getByText('This query comes from a link.').waitFor()
      await page.getByText('The query is valid.').waitFor()
      expect(await page.getByLabel(/^n · required/).inputValue()).toBe('41')
      expect(requests.filter((url) => /preview|api\/sql|_sql/.test(url))).toEqual([])
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByRole('cell', { name: '42', exact: true }).waitFor()
      await page.getByText('This query comes from a link.').waitFor({ state: 'detached' })
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.getByRole('button', { name: 'Copy link' }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      const copied = await page.evaluate<string>('navigator.clipboard.readText()')
      expect(copied).toBe(stage.service().url + linkTo('SELECT @n + 1 AS next', { n: '41' }))
      await page.goto(linkTo("SELECT 'other' AS text"))
      await sql(page).getByText("'other'").waitFor()
      await page.goto('/console/playground#_sql=%E0%A4')
      await page.getByText('The link is damaged').waitFor()
      await sql(page).getByText("'other'").waitFor()
      await write(page, `SELECT 1 /* ${'long '.repeat(200_000)} */`)
      await page.getByRole('button', { name: 'Copy link' }).click()
      await page.getByText('The query is too long for a link.', { exact: false }).waitFor()
    }))

  test('shows an error only beside the query that failed, and closes completions when it runs', () =>
    walk('/console/playground', async (page) => {
      await write(page, 'SELECT 1 FROM ')
      await page.keyboard.type('edge')
      await page.getByRole('option', { name: /^edge_logs/ }).waitFor()
      await page.keyboard.press('Control+Enter')
      const failure = page.getByRole('region', { name: 'Result' }).getByRole('alert')
      await failure.waitFor()
      expect(await page.getByRole('option').count()).toBe(0)
      await write(page, 'SELECT 2 AS two')
      await failure.waitFor({ state: 'detached' })
      await page.keyboard.press('Control+Enter')
      await page.getByRole('cell', { name: '2', exact: true }).waitFor()
    }))

  test('rounds numbers for reading, and copies all of their digits', () => {
    const text = "repeat('wide ', 40)"
    const query = `SELECT 8767 AS n, 715.5999999999999 AS p95, 404 AS status_code, ${text} AS a, ${text} AS b, ${text} AS c, 1 AS last`
    return walk(linkTo(query), async (page) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.getByRole('button', { name: /^Run/ }).click()
      const cell = (name: string) => page.getByRole('cell', { name, exact: true })
      await cell('8,767').waitFor()
      await cell('404').waitFor()
      const copied = async () => {
        await page.keyboard.press('Control+C')
        return page.evaluate<string>('navigator.clipboard.readText()')
      }
      await cell('715.6').dblclick()
      expect(await copied()).toBe('715.5999999999999')
      await page.evaluate("getSelection().selectAllChildren(document.querySelector('.grid-row'))")
      expect(await copied()).toMatch(/^8767\t715\.5999999999999\t404\twide .*\t1$/)
      // All columns are in view.
      const last = await boxOf(cell('1'))
      expect(last.x + last.width).toBeLessThanOrEqual(1280)
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      await page.getByText('"p95": 715.5999999999999').waitFor()
    })
  })

  test('stops a running query', () =>
    walk(linkTo('SELECT 1 AS one'), async (page) => {
      const held: Route[] = []
      await page.route('**/preview', (route) => void held.push(route))
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByText('Running …').waitFor()
      const aborted = page.waitForEvent('requestfailed', (request) => /preview/.test(request.url()))
      await page.getByRole('button', { name: 'Stop' }).click()
      await aborted
      await page.getByText('Not run yet').waitFor()
      await page.unroute('**/preview')
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByRole('cell', { name: '1', exact: true }).waitFor()
      const older = page.getByText('Rows from before your changes')
      expect(await older.count()).toBe(0)
      // The rows of the first query stay, and are marked.
      await page.route('**/preview', () => {})
      await write(page, 'SELECT 2 AS two')
      await page.keyboard.press('Control+Enter')
      await page.getByRole('button', { name: 'Stop' }).click()
      await older.waitFor()
      await page.getByRole('columnheader', { name: 'one' }).waitFor()
    }))

  test('downloads rows as CSV, with the values and types of the run', () => {
    const query = 'SELECT number + @first AS n, @big AS big, @from AS time, @yes AS yes FROM numbers(1500)'
    const values = {
      first: '7',
      big: '9007199254740993',
      '_type.big': 'integer',
      from: '2026-01-31T12:00:00Z',
      yes: 'true',
    }
    return walk(linkTo(query, values), async (page) => {
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByText('cut at the row limit').waitFor()
      const started = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download', exact: true }).click()
      await page.getByRole('button', { name: 'Download CSV' }).click()
      const file = await started
      expect(file.suggestedFilename()).toBe('rows.csv')
      const lines = readFileSync(await file.path(), 'utf8')
        .trim()
        .split('\n')
      expect(lines).toHaveLength(1501)
      expect(lines[0]).toBe('"n","big","time","yes"')
      expect(lines[1]).toBe('7,9007199254740993,"2026-01-31T12:00:00.000000Z",true')
    })
  })

  test('checks the query when the service is back', () =>
    walk('/console/playground', async (page) => {
      await sql(page).waitFor()
      await page.context().setOffline(true)
      await write(page, 'SELECT 1 AS one')
      await page.getByText('The service cannot be reached.').first().waitFor()
      await page.context().setOffline(false)
      await page.getByText('The query is valid.').waitFor()
    }))
})

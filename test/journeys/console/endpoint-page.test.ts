import type { Route } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { faultsOf } from './stage/browser.ts'
import { projects } from './stage/data.ts'
import { boxOf, onOneLoad, onPage, openStage, ownRun, write } from './stage/stage.ts'

/** The left edges of the titles and of the cells of the first row. */
const edges = `(() => {
  const left = (part) => [...document.querySelectorAll(part)].map((cell) => cell.getBoundingClientRect().left)
  const row = document.querySelector('.grid-row')
  return { titles: left('.grid-head > *'), cells: [...row.children].map((cell) => cell.getBoundingClientRect().left) }
})()`

const headOffset = `(() => {
  const box = document.querySelector('.grid')
  box.scrollTop = 400
  return document.querySelector('.grid-head').getBoundingClientRect().top - box.getBoundingClientRect().top
})()`

/** What does not fit into the panel of parameters. */
const hiddenHeight =
  "(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('.parameter-panel'))"

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage
const change = async (method: string, path: string, body?: unknown) =>
  (await asAdmin(method, path, body)).body

describe('an endpoint in the console', () => {
  beforeAll(() => {
    const query = 'SELECT @hidden_size AS size'
    const parameters = { hidden_size: { type: 'integer', required: true } }
    return change('POST', '/api/endpoints', { name: 'console.valueless', query, parameters })
  })
  const walk = onOneLoad(visit, admin)

  test('runs by itself with suggested values, puts them into the address, and runs again by keyboard', () =>
    walk('/console/endpoints/logs.all', async (page) => {
      await page.getByRole('columnheader', { name: 'event_message' }).waitFor()
      expect(projects).toContain(new URL(page.url()).searchParams.get('project'))
      await page.getByText(/^read \d/).waitFor()
      const { titles, cells } = await page.evaluate<{ titles: number[]; cells: number[] }>(edges)
      expect(titles).toHaveLength(4)
      expect(cells).toEqual(titles)
      expect(await page.evaluate<number>(headOffset)).toBeLessThan(3)
      await page.getByLabel('project_tier').fill('PRO')
      const request = page.waitForRequest(/project_tier=PRO/)
      await page.keyboard.press('Control+Enter')
      await request
    }))

  test('runs by itself with examples or with the values of a link', async () => {
    const query = 'SELECT @size AS size, @color AS color'
    const parameters = {
      size: { type: 'integer', required: true, example: 7 },
      color: { required: true, enum: ['red', 'green'], example: 'green' },
    }
    await change('POST', '/api/endpoints', { name: 'console.examples', query, parameters })
    const shown = async (values: string, cells: string[]) =>
      walk(`/console/endpoints/console.examples${values}`, async (page) => {
        for (const name of cells) await page.getByRole('cell', { name, exact: true }).waitFor()
      })
    await shown('', ['7', 'green'])
    await shown('?size=8&color=red', ['8', 'red'])
  })

  test('does not run by itself without a required value, or with unsaved SQL', async () => {
    await walk('/console/endpoints/console.valueless', async (page) => {
      const runs: string[] = []
      page.on('request', (request) => {
        if (/preview|query\/console/.test(request.url())) runs.push(request.url())
      })
      await page.getByText('Enter a value for hidden_size, then run the query.').waitFor()
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByText('Required.').waitFor()
      await page.getByRole('button', { name: 'Request' }).click()
      expect(await page.getByRole('region', { name: /curl/ }).textContent()).not.toContain('null')
      await page.getByRole('button', { name: 'Table' }).click()
      await page.getByLabel('hidden_size').fill('3')
      await page.getByText('Required.').waitFor({ state: 'detached' })
      await write(page, 'SELECT @hidden_size + 1 AS size')
      await page.getByText('The query is valid.').waitFor()
      await page.getByRole('link', { name: 'Endpoints' }).click()
      await page.getByRole('link', { name: 'console.valueless' }).click()
      await page.getByText('The query is valid.').waitFor()
      expect(runs).toEqual([])
    })
  })

  test('keeps its rows when it is created, saved or renamed, and when another tab was shown', () =>
    walk('/console/new-endpoint', async (page) => {
      const cell = page.getByRole('cell', { name: '41', exact: true })
      const create = page.getByRole('button', { name: 'Create endpoint' })
      await write(page, 'SELECT 41 AS n')
      await page.getByText('The query is valid.').waitFor()
      expect(await create.isDisabled()).toBe(true)
      const reason = (await create.getAttribute('aria-describedby')) ?? ''
      expect(await page.locator(`[id="${reason}"]`).textContent()).toBe('Enter a name.')
      await page.getByRole('button', { name: 'Edit @project' }).click()
      await page.getByRole('button', { name: 'Remove the declaration of project' }).click()
      await page.keyboard.press('Control+Enter')
      await cell.waitFor()
      const runs: string[] = []
      page.on('request', (request) => {
        if (/preview|query\/console/.test(request.url())) runs.push(request.url())
      })
      await page.getByLabel('Name').fill('console.kept')
      await create.click()
      await page.getByRole('button', { name: 'Publish to tenants' }).click()
      await page.getByText('version 1', { exact: true }).waitFor()
      await cell.waitFor()
      await page.getByRole('button', { name: 'Settings' }).click()
      await page.getByLabel('Row limit').fill('5')
      await page.getByLabel('Version note').fill('Five rows are enough.')
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('button', { name: /^Version 2.*Five rows are enough\.$/ }).waitFor()
      await page.getByRole('button', { name: 'Query' }).click()
      await cell.waitFor()
      const more = page.getByRole('button', { name: 'More', exact: true })
      await more.press('Enter')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Escape')
      await page.locator('.menu > button:focus', { hasText: 'More' }).waitFor()
      expect(await page.getByRole('button', { name: 'Rename' }).count()).toBe(0)
      await more.click()
      await page.getByRole('button', { name: 'Rename' }).click()
      await page.getByLabel('New name').fill('console.kept-2')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Rename anyway' }).click()
      await page.getByRole('heading', { name: 'console.kept-2' }).waitFor()
      await page.getByText('version 3', { exact: true }).waitFor()
      await cell.waitFor()
      expect(new URL(page.url()).pathname).toBe('/console/endpoints/console.kept-2')
      expect(runs).toEqual([])
    }))

  test('shows all parameters beside the SQL at 1024 pixels', () =>
    walk({ path: '/console/endpoints/logs.all', width: 1024 }, async (page) => {
      await page.getByLabel('project_tier').waitFor()
      await ownRun(page)
      const editor = await boxOf(page.locator('.query-box'))
      const panel = await boxOf(page.locator('.parameter-panel'))
      expect(panel.x).toBeGreaterThanOrEqual(editor.x + editor.width)
      expect(panel.y).toBeLessThan(editor.y + editor.height)
      const hidden = await page.evaluate<number>(hiddenHeight)
      expect(hidden).toBe(0)
    }))

  test('declares a parameter where it is used, and edits the declaration', async () => {
    await change('POST', '/api/endpoints', { name: 'console.declared', query: 'SELECT 1 AS n' })
    await walk('/console/endpoints/console.declared', async (page) => {
      await write(page, 'SELECT number AS n FROM numbers(toUInt64(@hours)) ORDER BY n')
      await page.getByLabel('hours').fill('3')
      await page.getByRole('button', { name: 'Declare @hours' }).click()
      const editor = page.getByRole('group', { name: '@hours' })
      // The type follows from the value.
      expect(await editor.getByLabel('Type').inputValue()).toBe('integer')
      await editor.getByLabel('Default').fill('2')
      await editor.getByLabel('Example').fill('4')
      await editor.getByLabel('Allowed values').pressSequentially('1, 2,')
      await page.keyboard.press('Backspace')
      await page.keyboard.type(', 4')
      await editor.getByLabel('Description').fill('How far back.')
      expect(await faultsOf(page)).toEqual([])
      await page.keyboard.press('Enter')
      await editor.waitFor({ state: 'detached' })
      expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Edit @hours')
      await page.keyboard.press('Enter')
      await editor.getByLabel('Required').check()
      expect(await editor.getByLabel('Default').isDisabled()).toBe(true)
      await page.keyboard.press('Escape')
      await page.getByText('The query is valid.').waitFor()
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
    })
    const { parameters } = await change('GET', '/api/endpoints/console.declared')
    expect(parameters.hours).toMatchObject({
      ...{ type: 'integer', required: true, enum: [1, 2, 4], example: 4, description: 'How far back.' },
    })
  })

  test('opens a copy as a new endpoint', () =>
    walk(`/console/endpoints/usage.api-counts?project=${projects[0]}`, async (page) => {
      await page.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor()
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('button', { name: 'Duplicate' }).click()
      await page.getByRole('heading', { name: 'New endpoint' }).waitFor()
      expect(await page.getByLabel('Name').inputValue()).toBe('usage.api-counts-copy')
      await page.getByRole('button', { name: 'Create endpoint' }).click()
      await page.getByRole('button', { name: 'Publish to tenants' }).click()
      await page.getByText('version 1', { exact: true }).waitFor()
      const [copy, original] = await Promise.all(
        ['usage.api-counts-copy', 'usage.api-counts'].map((name) => change('GET', `/api/endpoints/${name}`)),
      )
      const fields = ['query', 'parameters', 'cache_seconds', 'warm_seconds', 'max_rows', 'strict']
      for (const field of fields) expect(copy[field], field).toEqual(original[field])
    }))

  test('follows live results until the values change, and not while it is hidden', async () => {
    const query = "SELECT count() AS n FROM auth_logs WHERE event_message LIKE concat('%', @word, '%')"
    const parameters = { word: { required: true, example: 'signed' } }
    await change('POST', '/api/endpoints', { name: 'console.live', query, parameters })
    const send = (text: string) => change('POST', '/api/logs?source=auth_logs', { event_message: text })
    await walk('/console/endpoints/console.live', async (page) => {
      const cell = (name: string) => page.getByRole('cell', { name, exact: true }).waitFor()
      const live = page.getByRole('button', { name: 'Live' })
      const seen = (hidden: boolean) =>
        page.evaluate(
          `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'))`,
        )
      await cell('0')
      await live.click()
      await page.getByText('Follows changes').waitFor()
      await send('she signed in')
      await cell('1')
      const ended = page.waitForEvent('requestfailed', (request) => /console\.live/.test(request.url()))
      await seen(true)
      await ended
      await send('he signed in')
      await seen(false)
      await cell('2')
      await page.getByLabel('word').fill('sign')
      await page.getByText('Follows changes').waitFor({ state: 'detached' })
      expect(await live.getAttribute('aria-pressed')).toBe('false')
      await page.getByText('Rows from before your changes').waitFor()
    })
  })

  test('resolves a conflict with a version that somebody else saved, keeping both changes', async () => {
    const query = 'SELECT count() AS n FROM edge_logs WHERE project = @project'
    await change('POST', '/api/endpoints', { name: 'console.two', query })
    await walk('/console/endpoints/console.two', async (page) => {
      await write(page, query.replace('count()', 'count() + 1'))
      await page.getByText('The query is valid.').waitFor()
      await change('PATCH', '/api/endpoints/console.two?breaking=true', { max_rows: 7 })
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('Version 2 was saved while you edited version 1.', { exact: false }).waitFor()
      await page.getByRole('button', { name: 'Apply my changes to version 2' }).click()
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('version 3', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('button', { name: /^Version 2/ }).click()
      await page.getByRole('cell', { name: 'max_rows' }).waitFor()
    })
    expect(await change('GET', '/api/endpoints/console.two')).toMatchObject({
      version: 3,
      max_rows: 7,
      query: expect.stringContaining('count() + 1'),
    })
  })

  test('that does not exist has a page that says so, and the list shows the age of cached results', () =>
    walk('/console/endpoints/not.there', async (page) => {
      await page.getByRole('heading', { name: 'No such endpoint' }).waitFor()
      const path = `/api/endpoints/query/usage.api-counts?interval=hourly&project=${projects[0]}`
      expect((await asAdmin('GET', path)).status).toBe(200)
      await page.getByRole('link', { name: 'All endpoints' }).click()
      await page
        .getByRole('cell', { name: /^\d+ \w+ old$/ })
        .first()
        .waitFor()
    }))
})

test('an endpoint suggests a late value without mixing it with typed text', () =>
  visit('/console/endpoints', admin(), async (page) => {
    const held: Route[] = []
    await page.route('**/values', (route) => void held.push(route))
    await page.getByRole('link', { name: 'logs.all' }).click()
    const project = page.getByLabel('project', { exact: false }).first()
    await project.click()
    await expect.poll(() => held.length).toBeGreaterThan(0)
    for (const route of held) await route.continue()
    await expect.poll(() => project.inputValue()).toMatch(/abcdefgh/)
    await page.keyboard.type('mine')
    expect(await project.inputValue()).toBe('mine')
  }))

import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import { many } from '../../support/engines.ts'
import { projects } from './data.ts'
import { onPage, openStage, write } from './stage.ts'

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

/** A busy machine takes longer than the default second. */
const patience = { timeout: 30_000 }

const stage = openStage()
const visit = onPage(stage)
const admin = () => ({ token: stage.service().adminToken.token })
const change = async (method: string, path: string, body: unknown) =>
  (await ask(stage.service(), admin().token, method, path, body)).body

describe('an endpoint in the console', () => {
  test('runs by keyboard from anywhere with suggested values, and puts them into the address', () =>
    visit('/console/endpoints/logs.all', admin(), async (page) => {
      await page.getByRole('textbox', { name: 'SQL of the endpoint' }).waitFor()
      await page.keyboard.press('Control+Enter')
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

  test('reports a missing required value, and never invents one', () =>
    visit('/console/endpoints', admin(), async (page) => {
      await page.route('**/values', (route) => route.fulfill({ json: [] }))
      await page.getByRole('link', { name: 'logs.all' }).click()
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByText('Required.').waitFor()
      await page.getByRole('button', { name: 'Request' }).click()
      expect(await page.getByRole('region', { name: /curl/ }).textContent()).not.toContain('null')
      await page.getByLabel('project', { exact: false }).first().fill(projects[0])
      await page.getByText('Required.').waitFor({ state: 'detached' })
    }))

  test('resolves a conflict with a version that somebody else saved, keeping both changes', async () => {
    const query = 'SELECT count() AS n FROM edge_logs WHERE project = @project'
    await change('POST', '/api/endpoints', { name: 'console.two', query })
    await visit('/console/endpoints/console.two', admin(), async (page) => {
      await write(page, query.replace('count()', 'count() + 1'))
      await page.getByText('The query is valid.').waitFor()
      await change('PATCH', '/api/endpoints/console.two?breaking=true', { max_rows: 7 })
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('Version 2 was saved while you edited version 1.', { exact: false }).waitFor()
      await page.getByRole('button', { name: 'Apply my changes to version 2' }).click()
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('version 3', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('button', { name: 'Version 2' }).click()
      await page.getByRole('cell', { name: 'max_rows' }).waitFor()
    })
    expect(await change('GET', '/api/endpoints/console.two', undefined)).toMatchObject({
      version: 3,
      max_rows: 7,
      query: expect.stringContaining('count() + 1'),
    })
  })

  test('completes names of the engine, even before the source is written', { repeats: many(12, 0) }, () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      const editor = page.getByRole('textbox', { name: 'SQL of the endpoint' })
      await write(page, 'SELECT ')
      await page.keyboard.type('tostartofmi')
      await page.getByRole('option', { name: 'toStartOfMinute' }).waitFor()
      const accepted = async () => {
        await page.keyboard.press('Tab')
        return editor.textContent()
      }
      await expect.poll(accepted, patience).toContain('toStartOfMinute')
      await page.keyboard.type('(timestamp), metadata.resp')
      await page.getByRole('option', { name: 'metadata.response.status_code' }).waitFor()
      expect(await editor.textContent()).toContain('toStartOfMinute(timestamp)')
    }),
  )

  test('keeps every typed letter on a slow page, and shows changes from the page', () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      const editor = page.getByRole('textbox', { name: 'SQL of the endpoint' })
      const text = 'select 1 as one, 2 as two, 3 as three, 4 as four'
      await write(page, '-- \n')
      const slower = await page.context().newCDPSession(page)
      await slower.send('Emulation.setCPUThrottlingRate', { rate: 6 })
      await page.keyboard.type(text)
      expect(await editor.textContent()).toContain(text)
      await slower.send('Emulation.setCPUThrottlingRate', { rate: 1 })
      for (const how of ['first', 'again']) {
        await write(page, text)
        await page.getByRole('button', { name: 'Format' }).click()
        await editor.getByText(/^SELECT$/).waitFor()
        expect(await editor.textContent(), how).toContain('4 AS four')
      }
    }))

  test('suggests a late value without mixing it with typed text', () =>
    visit('/console/endpoints', admin(), async (page) => {
      const held: Route[] = []
      await page.route('**/values', (route) => void held.push(route))
      await page.getByRole('link', { name: 'logs.all' }).click()
      const project = page.getByLabel('project', { exact: false }).first()
      await project.click()
      await expect.poll(() => held.length, patience).toBeGreaterThan(0)
      for (const route of held) await route.continue()
      await expect.poll(() => project.inputValue(), patience).toMatch(/abcdefgh/)
      await page.keyboard.type('mine')
      expect(await project.inputValue()).toBe('mine')
    }))

  test('that does not exist has a page that says so, and the list shows the age of cached results', () =>
    visit('/console/endpoints/not.there', admin(), async (page) => {
      await page.getByRole('heading', { name: 'No such endpoint' }).waitFor()
      const path = `/api/endpoints/query/usage.api-counts?interval=hourly&project=${projects[0]}`
      expect((await ask(stage.service(), admin().token, 'GET', path)).status).toBe(200)
      await page.getByRole('link', { name: 'All endpoints' }).click()
      await page
        .getByRole('cell', { name: /^\d+ \w+ old$/ })
        .first()
        .waitFor()
    }))
})

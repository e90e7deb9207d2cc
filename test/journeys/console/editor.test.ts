import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { many } from '../../support/engines.ts'
import { onPage, openStage, write } from './stage/stage.ts'

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage
const editor = (page: Page) => page.getByRole('textbox', { name: 'SQL of the endpoint' })
const lines = (page: Page) => editor(page).locator('.cm-line').allTextContents()
const options = (page: Page) => page.getByRole('option').allTextContents()

describe('the SQL editor', () => {
  test('begins a new line with Enter while completions are shown', () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      await write(page, '-- ')
      await page.keyboard.press('Enter')
      await page.keyboard.type('SELECT count() AS n FROM edge_logs')
      await page.getByRole('option', { name: /^edge_logs/ }).waitFor()
      await page.keyboard.press('Enter')
      await page.keyboard.type('WHERE proje')
      await page.getByRole('option', { name: /^project/ }).waitFor()
      await page.keyboard.press('Enter')
      expect(await lines(page)).toEqual(['-- ', 'SELECT count() AS n FROM edge_logs', 'WHERE proje', ''])
    }))

  test('accepts a completion with Tab, or with Enter after an arrow key', () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      const last = async () => (await lines(page)).at(-1)
      await write(page, 'SELECT 1 FROM edge_logs\n')
      await page.keyboard.type('WHERE project = @proj')
      await page.getByRole('option', { name: '@project' }).waitFor()
      const accepted = async () => {
        await page.keyboard.press('Tab')
        return last()
      }
      await expect.poll(accepted).toBe('WHERE project = @project')
      await page.keyboard.type(' AND stat')
      await page.getByRole('option', { name: /^status_code/ }).waitFor()
      const chosen = async () => {
        await page.keyboard.press('ArrowDown')
        return page.getByRole('option', { selected: true }).count()
      }
      await expect.poll(chosen).toBe(1)
      const label = await page
        .getByRole('option', { selected: true })
        .locator('.cm-completionLabel')
        .textContent()
      await page.keyboard.press('Enter')
      expect(await last()).toBe(`WHERE project = @project AND ${label}`)
      // Without completions, Tab leaves the editor.
      await page.keyboard.type(' ')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Tab')
      expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Format')
    }))

  test('suggests aliases, views and columns of the query, prefixes first', () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      await write(page, 'WITH edges AS (SELECT * FROM edge_logs)\nSELECT count() AS edge_count ')
      await page.keyboard.type('FROM edge')
      await page.getByRole('option', { name: 'function_edge_logs' }).waitFor()
      const found = (await options(page)).map((text) => text.replace(/Tab$/, ''))
      expect(found.slice(0, 2)).toEqual(['edges', 'edge_logs'])
      expect(found.indexOf('edge_count')).toBeLessThan(found.indexOf('function_edge_logs'))
    }))

  test('completes names of the engine, even before the source is written', { repeats: many(12, 0) }, () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      await write(page, 'SELECT ')
      await page.keyboard.type('tostartofmi')
      await page.getByRole('option', { name: 'toStartOfMinute' }).waitFor()
      const accepted = async () => {
        await page.keyboard.press('Tab')
        return editor(page).textContent()
      }
      await expect.poll(accepted).toContain('toStartOfMinute')
      await page.keyboard.type('(timestamp), metadata.resp')
      await page.getByRole('option', { name: 'metadata.response.status_code' }).waitFor()
      expect(await editor(page).textContent()).toContain('toStartOfMinute(timestamp)')
    }),
  )

  test('offers the path that a missing column means, and inserts it where the name stands', () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      await asAdmin('POST', '/api/sources', { name: 'editor_shop' })
      const entry = { project: 'demo', metadata: { deep: { cache_key: 'a' } } }
      await asAdmin('POST', '/api/logs?source=editor_shop', [entry])
      await write(page, 'SELECT cache_key FROM editor_shop')
      const path = 'metadata.deep.cache_key::Nullable(String)'
      await page.getByText(`There is no column cache_key. Did you mean ${path}?`).waitFor()
      await page.getByRole('button', { name: `Insert ${path}` }).click()
      await expect.poll(() => editor(page).textContent()).toBe(`SELECT ${path} FROM editor_shop`)
      await page.getByText('The query is valid.').waitFor()
    }))

  test('keeps every typed letter on a slow page, and shows changes from the page', () =>
    visit('/console/new-endpoint', admin(), async (page) => {
      const text = 'select 1 as one, 2 as two, 3 as three, 4 as four'
      await write(page, '-- \n')
      const slower = await page.context().newCDPSession(page)
      await slower.send('Emulation.setCPUThrottlingRate', { rate: 6 })
      await page.keyboard.type(text)
      expect(await editor(page).textContent()).toContain(text)
      await slower.send('Emulation.setCPUThrottlingRate', { rate: 1 })
      for (const how of ['first', 'again']) {
        await write(page, text)
        await page.getByRole('button', { name: 'Format' }).click()
        await editor(page)
          .getByText(/^SELECT$/)
          .waitFor()
        expect(await editor(page).textContent(), how).toContain('4 AS four')
      }
    }))
})

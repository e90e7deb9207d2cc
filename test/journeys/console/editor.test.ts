import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many } from '../../support/engines.ts'
import { logClient } from '../../support/log-client.ts'
import { onOneLoad, onPage, openStage, write } from './stage/stage.ts'

function partsOf(page: Page) {
  const editor = page.getByRole('textbox', { name: 'SQL of the endpoint' })
  const lines = () => editor.locator('.cm-line').allTextContents()
  return {
    editor,
    lines,
    last: async () => (await lines()).at(-1),
    type: (text: string) => page.keyboard.type(text),
    press: (key: string) => page.keyboard.press(key),
    option: (name: string | RegExp) => page.getByRole('option', { name }),
  }
}

const stage = openStage()
const visit = onPage(stage)

describe('the SQL editor', () => {
  // Paths of the four largest sources are completed; other files fill some, too.
  const largest = 'largest_of_editor'
  beforeAll(async () => {
    const entries = Array.from({ length: 4_000 }, () => ({ metadata: { response: { status_code: 200 } } }))
    expect((await stage.asAdmin('POST', '/api/sources', { name: largest })).status).toBe(201)
    const sent = await logClient(stage.service).send(largest, JSON.stringify(entries))
    expect(sent.body.accepted).toBe(4_000)
  })
  afterAll(() => stage.asAdmin('DELETE', `/api/sources/${largest}?confirm=${largest}`))

  const walk = onOneLoad(visit, stage.admin)
  const edit = (journey: (page: Page, parts: ReturnType<typeof partsOf>) => Promise<void>) =>
    walk('/console/new-endpoint', (page) => journey(page, partsOf(page)))

  test('begins a new line with Enter while completions are shown', () =>
    edit(async (page, { lines, type, press, option }) => {
      await write(page, '-- ')
      await press('Enter')
      await type('SELECT 1 FROM edge')
      await option(/^edge_logs/).waitFor()
      await press('Enter')
      expect(await lines()).toEqual(['-- ', 'SELECT 1 FROM edge', ''])
    }))

  test('accepts a completion with Tab, or with Enter after an arrow key', () =>
    edit(async (page, { last, type, press, option }) => {
      await write(page, 'SELECT 1 FROM edge_logs\n')
      await type('WHERE project = @proj')
      await option('@project').waitFor()
      const accepted = async () => {
        await press('Tab')
        return last()
      }
      await expect.poll(accepted).toBe('WHERE project = @project')
      await type(' AND stat')
      await option(/^status_code/).waitFor()
      const selected = page.getByRole('option', { selected: true })
      const chosen = async () => {
        await press('ArrowDown')
        return selected.count()
      }
      await expect.poll(chosen).toBe(1)
      const label = await selected.locator('.cm-completionLabel').textContent()
      await press('Enter')
      expect(await last()).toBe(`WHERE project = @project AND ${label}`)
      // Without completions, Tab leaves the editor.
      await type(' ')
      await press('Escape')
      await press('Tab')
      expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Format')
    }))

  test(
    'completes names of the engine, even before the source is written',
    {
      repeats: many(12, 0),
    },
    () =>
      edit(async (page, { last, type, press, option }) => {
        await write(page, 'SELECT ')
        await type('tostartofmi')
        await option('toStartOfMinute').waitFor()
        const accepted = async () => {
          await press('Tab')
          return last()
        }
        await expect.poll(accepted).toContain('toStartOfMinute')
        await type('(timestamp), metadata.resp')
        await option('metadata.response.status_code').waitFor()
        expect(await last()).toContain('toStartOfMinute(timestamp)')
      }),
  )

  test('keeps every typed letter, and shows changes from the page', () =>
    edit(async (page, { editor, last, type }) => {
      const text = 'select 1 as one, 2 as two, 3 as three, 4 as four'
      await write(page, '-- \n')
      await type(text)
      expect(await last()).toBe(text)
      for (const how of ['first', 'again']) {
        await write(page, text)
        await page.getByRole('button', { name: 'Format' }).click()
        await editor.getByText(/^SELECT$/).waitFor()
        expect(await editor.textContent(), how).toContain('4 AS four')
      }
    }))
})

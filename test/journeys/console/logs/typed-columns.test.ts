import { describe, expect, test } from 'vitest'
import { expectFit, onPage, openStage } from '../stage/stage.ts'

const focusedLabel = "document.activeElement?.getAttribute('aria-label')"

const stage = openStage()
const visit = onPage(stage)
const narrow = () => ({ ...stage.admin(), width: 360 })
const call = async (method: string, path: string, body?: unknown) =>
  (await stage.asAdmin(method, path, body)).body
const makeSource = async (name: string) => {
  await call('POST', '/api/sources', { name })
  const metadata = [{ item: { size: 'L', price: 1 } }, { item: { size: 7, price: 2.5 } }, {}, {}]
  await call(
    'POST',
    `/api/logs?source=${name}`,
    metadata.map((one) => ({ event_message: '', metadata: one })),
  )
}

describe('typed columns in the console', () => {
  test('are created from the schema, filled, used in a query, and removed when no query uses them', async () => {
    await makeSource('console_columns')
    const typed = () => call('GET', '/api/sources/console_columns')
    await visit('/console/sources/console_columns', narrow(), async (page) => {
      const row = (path: string) => page.getByRole('row', { name: `metadata.${path}` })
      await row('item.price').getByText('number · 50 %').waitFor()
      await row('item.size').getByText('number, text · 50 %').waitFor()
      await page.setViewportSize({ width: 1280, height: 800 })
      const share = row('item.price').getByRole('cell', { name: '50 %', exact: true })
      expect(await share.getAttribute('title')).toBe('2 of the newest 4 entries')
      await page.setViewportSize({ width: 360, height: 800 })
      const make = page.getByRole('button', { name: 'Create a column: metadata.item.price' })
      await make.focus()
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Create a column' })
      await dialog.getByLabel('Name').waitFor()
      expect(await dialog.getByLabel('Name').inputValue()).toBe('price')
      expect(await dialog.getByLabel('Type').inputValue()).toBe('number')
      expect(await dialog.getByLabel('Searchable').count()).toBe(0)
      await expectFit(page, 'dialog')
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      expect(await page.evaluate(focusedLabel)).toBe('Create a column: metadata.item.price')
      await page.keyboard.press('Enter')
      await dialog.getByLabel('Name').fill('metadata')
      await page.keyboard.press('Enter')
      await dialog.getByRole('alert').getByText('none of them project, id', { exact: false }).waitFor()
      await dialog.getByLabel('Name').fill('price')
      // A few entries are filled too fast to be seen.
      let isFirst = true
      await page.route('**/console_columns/schema', async (route) => {
        const response = await route.fetch()
        const paths = (await response.json()) as { column: string | null; filled: number | null }[]
        const shown = paths.map((path) =>
          isFirst && path.column === 'price' ? { ...path, filled: 0.25 } : path,
        )
        isFirst = false
        await route.fulfill({ response, json: shown })
      })
      await page.keyboard.press('Enter')
      await page.getByRole('progressbar', { name: 'Filling price' }).waitFor()
      await page.getByText('25 % filled').waitFor()
      await expectFit(page)
      await page.getByText('% filled').waitFor({ state: 'detached' })
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByRole('button', { name: 'Remove the column price' }).waitFor()
      await page.getByRole('button', { name: 'Create a column: metadata.item.size' }).click()
      expect(await dialog.getByLabel('Type').inputValue()).toBe('text')
      await dialog.getByLabel('Searchable').check()
      await dialog.getByRole('button', { name: 'Create column' }).click()
      await page.getByRole('button', { name: 'Remove the column size' }).waitFor()
      await expectFit(page)
      expect((await typed()).columns).toEqual([
        { name: 'price', path: 'item.price', type: 'number', searched: false },
        { name: 'size', path: 'item.size', type: 'text', searched: true },
      ])

      const query = 'SELECT sum(price) AS total FROM console_columns'
      await call('POST', '/api/endpoints', { name: 'console.total', query })
      const { result } = await call('GET', '/api/endpoints/query/console.total')
      expect(result).toEqual([{ total: 3.5 }])
      await page.getByRole('button', { name: 'Remove the column price' }).click()
      await page.getByRole('button', { name: 'Remove column', exact: true }).click()
      await page.getByText('Column price is used by console.total.', { exact: false }).waitFor()
      await call('DELETE', '/api/endpoints/console.total')
      await page.getByRole('button', { name: 'Remove column', exact: true }).click()
      await page.getByRole('button', { name: 'Create a column: metadata.item.price' }).waitFor()
      expect((await typed()).columns).toMatchObject([{ name: 'size' }])
    })
  })

  test('are suggested for a saved query that reads many rows, and created from its page', async () => {
    await makeSource('console_suggested')
    const query =
      'SELECT count() AS n FROM console_suggested WHERE metadata.item.price::Float64 > 1 ' +
      'AND id NOT IN (SELECT toString(number) FROM numbers(60000))'
    await call('POST', '/api/endpoints', { name: 'console.heavy', query })
    expect(await call('GET', '/api/endpoints/console.heavy/paths')).toEqual([
      { source: 'console_suggested', path: 'item.price', cast: 'Float64' },
    ])
    await visit('/console/endpoints/console.heavy', narrow(), async (page) => {
      const suggestions = page.getByRole('region', { name: 'Faster with typed columns' })
      await suggestions.getByText('metadata.item.price is read from JSON text for each entry.').waitFor()
      await suggestions.getByText(/read up to 60,00\d rows/).waitFor()
      await expectFit(page)
      await suggestions.getByRole('button', { name: 'Create a column: metadata.item.price' }).click()
      const dialog = page.getByRole('dialog', { name: 'Create a column' })
      expect(await dialog.getByLabel('Type').inputValue()).toBe('number')
      await dialog.getByRole('button', { name: 'Create column' }).click()
      // The same SQL reads the column from now on.
      await suggestions.waitFor({ state: 'detached' })
      expect(await call('GET', '/api/endpoints/console.heavy/paths')).toEqual([])
    })
    await call('DELETE', '/api/endpoints/console.heavy')
  })
})

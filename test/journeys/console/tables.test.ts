import { readFile } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { makeToken } from '../../support/callers.ts'
import { expectFit, onPage, openStage, show, write } from './stage/stage.ts'

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage

const kept: string[] = []
afterEach(async () => {
  for (const path of kept.splice(0).reverse()) await asAdmin('DELETE', path)
})

test('a table is pasted from a spreadsheet, read, replaced, downloaded, changed and deleted', () =>
  visit('/console/tables', admin(), async (page) => {
    kept.push('/api/tables/console_people', '/api/endpoints/console.people')
    await page.getByRole('button', { name: 'New table' }).click()
    const form = page.getByRole('dialog', { name: 'New table' })
    const rows = form.getByRole('textbox', { name: 'Rows' })
    await form.getByLabel('Name').fill('Console People')
    await form.getByText('Start with a lowercase letter.', { exact: false }).waitFor()
    await form.getByLabel('Name').fill('console_people')
    await rows.fill('id\tPlan\na\n')
    await form.getByText('Row 2 has 1 fields, and the header 2.', { exact: false }).waitFor()
    expect(await form.getByRole('button', { name: 'Create table' }).isEnabled()).toBe(false)
    await rows.fill('id\tPlan name\tSeats\na\tPro, yearly\t5\nb\t\t\n')
    await form.getByText('2 rows.').waitFor()
    for (const name of ['id (text)', 'plan_name (text)', 'Seats (number)']) {
      await form.getByRole('columnheader', { name }).waitFor()
    }
    for (const [width, theme] of [
      [1280, 'light'],
      [390, 'dark'],
    ] as const) {
      await show(page, width, theme)
      await expectFit(page)
    }
    await show(page, 1280, 'light')
    await form.getByRole('button', { name: 'Create table' }).click()
    await page.getByRole('heading', { level: 1, name: 'console_people' }).waitFor()
    await page.getByRole('cell', { name: 'Pro, yearly' }).waitFor()
    await expectFit(page)

    const query = 'SELECT plan_name AS plan FROM console_people'
    await asAdmin('POST', '/api/endpoints', { name: 'console.people', query })
    await page.reload()
    await page.getByRole('link', { name: 'console.people' }).click()
    await page.getByText('Reads: console_people').getByRole('link', { name: 'console_people' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const file = await download
    expect([file.suggestedFilename(), await readFile(await file.path(), 'utf8')]).toEqual([
      'console_people.csv',
      'id,plan_name,Seats\n"a","Pro, yearly",5\n"b",,\n',
    ])

    await page.getByRole('button', { name: 'Replace rows' }).click()
    const replacing = page.getByRole('dialog', { name: 'Replace the rows of console_people' })
    const choose = (buffer: Buffer) =>
      replacing.getByLabel('Or a file').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
    await choose(Buffer.from('id\nJos\xe9\n', 'latin1'))
    await replacing.getByText('people.csv is not text in UTF-8.', { exact: false }).waitFor()
    await choose(Buffer.from('id;since\nc;2026-01-02T03:04:05Z\n'))
    await replacing.getByText('1 row.').waitFor()
    await replacing.getByRole('button', { name: 'Replace rows' }).click()
    const asked = page.getByRole('dialog', { name: 'This change breaks callers' })
    await asked.getByText('endpoints/console.people', { exact: false }).waitFor()
    await asked.getByRole('button', { name: 'Replace anyway' }).click()
    await page.getByRole('columnheader', { name: 'since (timestamp)' }).waitFor()
    await asAdmin('DELETE', '/api/endpoints/console.people')

    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const edit = page.getByRole('dialog', { name: 'Edit console_people' })
    await edit.getByLabel('since').selectOption('text')
    await edit.getByLabel('Description').fill('People of the console')
    await expectFit(page, 'dialog')
    await edit.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('columnheader', { name: 'since (text)' }).waitFor()
    await page.getByRole('button', { name: 'Versions' }).click()
    await page.getByRole('button', { name: /^Version 2/ }).waitFor()
    await page.getByRole('cell', { name: 'People of the console' }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete table' }).click()
    await page.getByRole('heading', { level: 1, name: 'Tables' }).waitFor()
    expect((await asAdmin('GET', '/api/tables/console_people')).status).toBe(404)
  }))

test('a table whose first rows are refused takes others', () =>
  visit('/console/tables?_new=1', admin(), async (page) => {
    kept.push('/api/tables/console_refused')
    const form = page.getByRole('dialog', { name: 'New table' })
    await form.getByLabel('Name').fill('console_refused')
    await form.getByRole('textbox', { name: 'Rows' }).fill('名前\na\n')
    await form.getByRole('button', { name: 'Create table' }).click()
    await form.getByText('The column name "名前" must be', { exact: false }).waitFor()
    await form.getByRole('textbox', { name: 'Rows' }).fill('name\na\n')
    await form.getByRole('button', { name: 'Create table' }).click()
    await page.getByRole('columnheader', { name: 'name (text)' }).waitFor()
  }))

test('the editor and the schema suggest tables and endpoints', async () => {
  kept.push('/api/tables/console_plans', '/api/endpoints/console.inner')
  await asAdmin('POST', '/api/tables', { name: 'console_plans', columns: [{ name: 'tier', type: 'text' }] })
  await asAdmin('POST', '/api/endpoints', { name: 'console.inner', query: 'SELECT 1 AS answer' })
  await visit('/console/playground', admin(), async (page) => {
    const tables = page.getByRole('list', { name: 'Tables', exact: true })
    await tables.getByRole('button', { name: 'console_plans', exact: true }).click()
    await tables.getByRole('button', { name: 'tier text' }).waitFor()
    await expectFit(page)
    await write(page, 'SELECT * FROM ')
    await page.getByRole('button', { name: 'Insert console.inner' }).click()
    await page.getByText('`console.inner`').waitFor()
    await write(page, 'SELECT * FROM ')
    await page.keyboard.type('console')
    await page.getByRole('option', { name: '`console.inner`' }).waitFor()
    await page.getByRole('option', { name: 'console_plans' }).waitFor()
    await page.keyboard.type('_plans WHERE ti')
    await page.getByRole('option', { name: 'tier' }).waitFor()
    await page.keyboard.press('Escape')
  })
})

test('those who only read see tables, and nothing to change them', async () => {
  kept.push('/api/tables/console_read')
  await asAdmin('POST', '/api/tables', { name: 'console_read', columns: [{ name: 'id', type: 'text' }] })
  const { token } = await makeToken(stage.service(), { scopes: ['read'] })
  await visit('/console/tables', { token }, async (page) => {
    await page.getByRole('link', { name: 'console_read' }).click()
    await page.getByText('No rows yet').waitFor()
    const buttons = await page.locator('main').getByRole('button').allTextContents()
    expect(buttons).toEqual(['Download CSV', 'Rows', 'Versions'])
  })
})

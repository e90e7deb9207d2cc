import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { expectFit, onPage, openStage, show } from './stage/stage.ts'

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage
const { send } = logClient(() => stage.service())

const fill = (project: string, count: number) =>
  send(
    'edge_logs',
    JSON.stringify(Array.from({ length: count }, (_, n) => ({ project, event_message: `entry ${n}` }))),
  )
const usageOf = async (project: string) =>
  (await asAdmin('GET', `/api/project-usage?project=${project}`)).body

test('a project gets a plan, and is erased once its name was typed', async () => {
  const plan = { name: 'console.small', retention_days: 7, entries_per_day: 100 }
  expect((await asAdmin('POST', '/api/plans', plan)).status).toBe(201)
  await fill('console-erased', 3)
  await fill('console-kept', 2)
  await expect.poll(() => usageOf('console-erased')).toMatchObject([{ entries: 3 }])
  await visit('/console/projects?q=console-', admin(), async (page) => {
    await page.getByRole('img', { name: 'Entries of console-erased in the last 14 days' }).waitFor()
    await page.getByRole('button', { name: 'Set plan of console-erased' }).click()
    const plans = page.getByRole('dialog', { name: 'Plan of console-erased' })
    await plans.getByLabel('Plan', { exact: true }).selectOption('console.small')
    await plans.getByRole('button', { name: 'Set plan' }).click()
    await page.getByRole('row', { name: /^console-erased .*console\.small/ }).waitFor()
    for (const [width, theme] of [
      [1280, 'dark'],
      [390, 'light'],
    ] as const) {
      await show(page, width, theme)
      await expectFit(page)
    }
    await page.getByRole('button', { name: 'Erase console-erased' }).click()
    const erasing = page.getByRole('dialog', { name: 'Erase all entries of console-erased?' })
    await erasing.getByText('3 entries will be erased').waitFor()
    const erase = erasing.getByRole('button', { name: 'Erase', exact: true })
    await erasing.getByLabel('Type console-erased to confirm').fill('console-kept')
    expect(await erase.isEnabled()).toBe(false)
    await erasing.getByLabel('Type console-erased to confirm').fill('console-erased')
    await expectFit(page, 'dialog')
    await erase.click()
    const progress = page.getByRole('dialog', { name: 'Erasing console-erased' })
    await progress.getByText(/^3 entries erased\. Backups from before .* still contain them\.$/).waitFor()
    await progress.getByRole('button', { name: 'Done' }).click()
  })
  const query = "SELECT project, count() AS n FROM edge_logs WHERE project LIKE 'console-%' GROUP BY project"
  expect((await asAdmin('POST', '/api/sql', { query })).body.result).toEqual([
    { project: 'console-kept', n: 2 },
  ])
})

test('customers see what their project sent, and those who only read see projects without changing them', async () => {
  await fill('console-customer', 4)
  await expect.poll(() => usageOf('console-customer')).toMatchObject([{ entries: 4 }])
  const customer = await makeToken(stage.service(), { scopes: ['query'], project: 'console-customer' })
  await visit('/console/usage', { token: customer.token }, async (page) => {
    const days = page.getByRole('region', { name: 'Last 30 days' })
    const today = new Date().toISOString().slice(0, 10)
    await days.getByRole('row', { name: new RegExp(`^${today} 4 `) }).waitFor()
    await show(page, 390, 'dark')
    await expectFit(page)
  })
  const reader = await makeToken(stage.service(), { scopes: ['read'] })
  await visit('/console/projects?q=console-customer', { token: reader.token }, async (page) => {
    await page.getByRole('img', { name: 'Entries of console-customer in the last 14 days' }).waitFor()
    expect(await page.locator('main').getByRole('button').count()).toBe(0)
  })
})

test('the page of a project shows what belongs to it, and admins create, change and assign plans', async () => {
  await fill('console-page', 3)
  await expect.poll(() => usageOf('console-page')).toMatchObject([{ entries: 3 }])
  await makeToken(stage.service(), { scopes: ['query'], project: 'console-page', description: 'page token' })
  await visit('/console/projects?q=console-page', admin(), async (page) => {
    await page.getByRole('button', { name: 'New plan' }).click()
    const creating = page.getByRole('dialog', { name: 'New plan' })
    await creating.getByLabel('Name').fill('console.page')
    await creating.getByLabel('Entries per day').fill('10')
    await expectFit(page, 'dialog')
    await creating.getByRole('button', { name: 'Create plan' }).click()
    await page.getByRole('row', { name: /^console\.page 10 entries per day/ }).waitFor()
    await page.getByRole('button', { name: 'Edit plan console.page' }).click()
    const editing = page.getByRole('dialog', { name: 'Edit plan console.page' })
    await editing.getByLabel('Entries per day').fill('4')
    await editing.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^console\.page 4 entries per day/ }).waitFor()
    await page.getByRole('link', { name: 'console-page' }).click()
    await page.getByRole('heading', { name: 'console-page' }).waitFor()
    await page.getByRole('button', { name: 'Change plan' }).click()
    const plans = page.getByRole('dialog', { name: 'Plan of console-page' })
    await plans.getByLabel('Plan', { exact: true }).selectOption('console.page')
    await plans.getByRole('button', { name: 'Set plan' }).click()
    await page.getByText('console.page: 4 entries per day').waitFor()
    await page.getByText('3 of 4 (75 %)').waitFor()
    await page.getByRole('slider', { name: 'Entries of console-page by day: 3 entries' }).waitFor()
    await page.getByRole('region', { name: 'Tokens' }).getByRole('link', { name: 'page token' }).waitFor()
    await page.getByRole('region', { name: 'Newest entries' }).getByText('entry 2').waitFor()
    await page.getByText('No alert names this project.').waitFor()
    await page.getByText('Nothing was erased.').waitFor()
    for (const [width, theme] of [
      [1280, 'dark'],
      [390, 'light'],
    ] as const) {
      await show(page, width, theme)
      await expectFit(page)
    }
    await page.goto('/console/projects?q=console-page')
    await show(page, 390, 'dark')
    await page.getByRole('row', { name: /^console\.page 4 entries per day/ }).waitFor()
    // Plans come last.
    const beyond =
      "((box) => box.scrollWidth - box.clientWidth)([...document.querySelectorAll('.table-box')].at(-1))"
    expect(await page.evaluate<number>(beyond)).toBe(0)
  })
})

test('a shorter retention of a source or plan, and deleting a plan, say what they hide and ask for the name', async () => {
  const timestamp = new Date(Date.now() - 40 * 86_400_000).toISOString()
  const [source, plan, project] = ['console_hiding', 'console.hiding', 'console-hiding']
  expect((await asAdmin('POST', '/api/sources', { name: source })).status).toBe(201)
  expect((await asAdmin('POST', '/api/plans', { name: plan, retention_days: 60 })).status).toBe(201)
  expect((await asAdmin('PUT', `/api/projects/${project}`, { plan })).status).toBe(200)
  await send(source, JSON.stringify([{ project, timestamp }, { project }]))
  const confirm = async (page: Page, name: string, action: string) => {
    const dialog = page.getByRole('dialog', { name: 'This change hides entries' })
    await dialog.getByText(/1 entry of 1 project, from .* will be hidden at once and deleted on /).waitFor()
    const button = dialog.getByRole('button', { name: action })
    expect(await button.isEnabled()).toBe(false)
    await dialog.getByLabel(`Type ${name} to confirm`).fill(name)
    await expectFit(page, 'dialog')
    await button.click()
    await dialog.waitFor({ state: 'detached' })
  }
  await visit('/console/projects', admin(), async (page) => {
    await page.getByRole('button', { name: `Edit plan ${plan}` }).click()
    const editing = page.getByRole('dialog', { name: `Edit plan ${plan}` })
    await editing.getByLabel('Days of entries').fill('30')
    await editing.getByRole('button', { name: 'Save' }).click()
    await confirm(page, plan, 'Save')
    await page.getByRole('row', { name: /^console\.hiding 30 days/ }).waitFor()
  })
  // Without the plan, the project has the plan default, which hides more.
  expect((await asAdmin('PATCH', `/api/plans/${plan}`, { retention_days: 60 })).status).toBe(200)
  const made = await asAdmin('POST', '/api/plans?breaking=true', { name: 'default', retention_days: 30 })
  expect(made.status).toBe(201)
  await visit('/console/projects', admin(), async (page) => {
    await page.getByRole('button', { name: `Delete plan ${plan}` }).click()
    const deleting = page.getByRole('dialog', { name: `Delete ${plan}?` })
    await deleting.getByRole('button', { name: 'Delete plan' }).click()
    await confirm(page, plan, 'Delete plan')
    await page.getByRole('button', { name: `Delete plan ${plan}` }).waitFor({ state: 'detached' })
  })
  expect((await asAdmin('DELETE', '/api/plans/default')).status).toBe(204)
  await visit(`/console/sources/${source}`, admin(), async (page) => {
    const retention = page.getByRole('region', { name: 'Retention' })
    await retention.getByLabel('Days').fill('30')
    await retention.getByRole('button', { name: 'Save' }).click()
    await confirm(page, source, 'Save')
    await expect
      .poll(async () => (await asAdmin('GET', `/api/sources/${source}`)).body.retention_days)
      .toBe(30)
  })
  const { body } = await asAdmin('POST', `/api/sources/${source}/search`, { from: '2020-01-01T00:00:00Z' })
  expect(body).toHaveLength(1)
})

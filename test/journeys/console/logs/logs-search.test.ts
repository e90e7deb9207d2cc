import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { makeToken } from '../../../support/callers.ts'
import { follow } from '../stage/browser.ts'
import { projects } from '../stage/data.ts'
import { boxOf, expectFit, onOneLoad, onPage, openStage } from '../stage/stage.ts'

const [shop, notes] = projects
const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage
const box = (page: Page) => page.getByRole('combobox', { name: 'Search' })
const option = (page: Page, name: string | RegExp) => page.getByRole('listbox').getByRole('option', { name })
const facet = (page: Page, column: string) => page.getByRole('region', { name: column, exact: true })
const queryOf = (page: Page) => new URL(page.url()).searchParams.get('q')
const found = (page: Page, text: string) =>
  page.getByRole('status').getByText(text, { exact: true }).waitFor()

describe('searching logs in the console', () => {
  const walk = onOneLoad(visit, admin)

  test('suggests fields and values; only a chosen suggestion is accepted', () =>
    walk(`/console/logs?source=edge_logs&range=24h&project=${shop}`, async (page) => {
      await found(page, '55 entries')
      await box(page).pressSequentially('sta')
      await option(page, /^status_code/).waitFor()
      expect(await option(page, /./).first().textContent()).toBe('statusshort name')
      // Enter searches for what is typed.
      await page.keyboard.press('Enter')
      await found(page, '0 entries')
      expect([queryOf(page), await box(page).getAttribute('aria-expanded')]).toEqual(['sta', 'false'])
      // Tab accepts the first one, and values follow.
      await box(page).fill('')
      await box(page).pressSequentially('stat')
      await option(page, /^status_code/).waitFor()
      await page.keyboard.press('Tab')
      await option(page, /^500/).waitFor()
      expect(await box(page).inputValue()).toBe('status:')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowDown')
      const chosen = await box(page).getAttribute('aria-activedescendant')
      expect(await page.locator(`[id="${chosen}"]`).getAttribute('aria-selected')).toBe('true')
      await page.keyboard.press('Enter')
      expect(await box(page).inputValue()).toBe('status:5xx ')
      await page.keyboard.press('Enter')
      await found(page, '6 entries')
      // Escape closes the suggestions, and Tab then leaves the field.
      await box(page).fill('requ')
      await option(page, /^request_path/).waitFor()
      await page.keyboard.press('Escape')
      await option(page, /./).first().waitFor({ state: 'detached' })
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Search')
    }))

  test('shows what the service does not understand, with the place', () =>
    walk('/console/logs?source=edge_logs', async (page) => {
      await box(page).fill('status:500 (a OR')
      await page.keyboard.press('Enter')
      const problem = page.getByRole('alert')
      await problem.getByText(/at character \d+/).waitFor()
      expect(await problem.locator('mark').count()).toBe(1)
      expect(await box(page).getAttribute('aria-invalid')).toBe('true')
      await box(page).fill('status:(500 OR 502) request.path:/rest/*')
      await page.keyboard.press('Enter')
      await problem.waitFor({ state: 'detached' })
      await found(page, '4 entries')
    }))

  test('an empty result says at the top what to widen', () =>
    walk(
      { path: `/console/logs?source=edge_logs&q=statuss:500&project=${shop}`, width: 390 },
      async (page) => {
        const nothing = page.getByRole('region', { name: 'No entries found' })
        await nothing
          .getByText(/statuss/)
          .first()
          .waitFor()
        const { y, height } = await boxOf(nothing)
        expect(y + height).toBeLessThanOrEqual((await boxOf(page.locator('.logs-body'))).y)
        await nothing.getByRole('button', { name: 'All projects' }).click()
        await page.waitForURL((url) => !url.searchParams.has('project'))
        await nothing.getByRole('button', { name: 'Last 7 days' }).click()
        await page.waitForURL(/range=7d/)
        await nothing.getByRole('button', { name: 'Remove statuss:500' }).click()
        await found(page, '110 entries')
        await nothing.waitFor({ state: 'detached' })
        await box(page).fill('x'.repeat(300))
        await page.keyboard.press('Enter')
        await nothing.getByText(/^No entry in this time range matches/).waitFor()
        expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
      },
    ))

  test('facets and the legend of the histogram include and exclude', () =>
    walk({ path: '/console/logs?source=edge_logs&range=24h', width: 1440 }, async (page) => {
      await found(page, '110 entries')
      await page.getByRole('img', { name: /^110 entries .*, 12 5xx, 98 2xx$/ }).waitFor()
      await facet(page, 'status_code').getByRole('button', { name: '500 12' }).click()
      await found(page, '12 entries')
      expect(queryOf(page)).toBe('status_code:500')
      await facet(page, 'status_code').getByRole('button', { name: '500 12', pressed: true }).click()
      await page.getByRole('button', { name: 'Exclude status_code 500' }).click()
      await found(page, '98 entries')
      await page.getByRole('button', { name: 'Exclude status_code 500', pressed: true }).click()
      await found(page, '110 entries')
      await page.getByRole('button', { name: '5xx 12' }).click()
      await found(page, '12 entries')
      expect(queryOf(page)).toBe('status_code:5xx')
      await page.getByLabel('Split by').selectOption('request_path')
      const legend = page.locator('.split-legend')
      await legend.getByRole('button', { name: /^\/rest\/v1\/orders \d/ }).waitFor()
      await page.getByLabel('Split by').selectOption('none')
      await legend.waitFor({ state: 'detached' })
    }))

  test('fields without typed columns can be clicked, split by, completed and sped up', async () => {
    await asAdmin('POST', '/api/sources', { name: 'console_shape' })
    const sent = Array.from({ length: 40 }, (_, n) => ({
      event_message: `order ${n}`,
      shop: { step: n % 4 === 0 ? 'pay' : 'cart' },
      trace: `t${n}`,
    }))
    await asAdmin('POST', '/api/logs?source=console_shape', sent)
    await walk({ path: '/console/logs?source=console_shape', width: 1440 }, async (page) => {
      await found(page, '40 entries')
      await facet(page, 'shop.step').getByRole('button', { name: 'cart 30' }).waitFor()
      await facet(page, 'shop.step').getByRole('button', { name: 'pay 10' }).click()
      await found(page, '10 entries')
      expect(queryOf(page)).toBe('shop.step:pay')
      await page.getByRole('combobox', { name: 'Search' }).fill('')
      await page.keyboard.press('Enter')
      await found(page, '40 entries')
      await page.getByLabel('Split by').selectOption('shop.step')
      await page.locator('.split-legend').getByRole('button', { name: 'cart 30' }).waitFor()
      await page.getByRole('combobox', { name: 'Search' }).fill('tr')
      await page.getByRole('option', { name: 'trace 100 %, 40 values' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Speed up shop.step' }).click()
      const dialog = page.getByRole('dialog', { name: 'Create a column' })
      await dialog.getByRole('button', { name: 'Create column' }).click()
      await dialog.waitFor({ state: 'detached' })
      await facet(page, 'step').getByRole('button', { name: 'cart 30' }).waitFor()
      await follow(page, '/console/logs?source=console_shape&q=nowhere')
      await page.locator('.facets').getByText('No values to count.').waitFor()
    })
  })

  test('a link opens an entry with those around it, also outside of the range', async () => {
    const timestamp = (Date.now() - 2 * 86_400_000) * 1000
    const entries = Array.from({ length: 700 }, (_, n) => ({
      id: `linked-${n}`,
      timestamp: timestamp + n * 1_000,
      project: n % 2 === 0 ? shop : notes,
      event_message: `entry ${n}`,
      metadata: { trace_id: `trace-${Math.floor(n / 4)}` },
    }))
    const sent = await asAdmin('POST', '/api/logs?source=realtime_logs', entries)
    expect(sent.status).toBe(200)
    const address = `/console/logs?source=realtime_logs&entry=linked-20&at=${timestamp + 20_000}`
    await walk(address, async (page) => {
      await page.getByRole('button', { name: /entry 20$/, expanded: true }).waitFor()
      await page.getByRole('button', { name: /entry 22$/ }).waitFor()
      await page.getByRole('button', { name: /entry 18$/ }).waitFor()
      // Only entries of the same project surround it.
      expect(await page.getByRole('button', { name: /entry 21$/ }).count()).toBe(0)
      await expectFit(page)
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      const copied = async (what: string, start: RegExp) => {
        const text = () => page.evaluate<string>('navigator.clipboard.readText()')
        await page.getByRole('button', { name: `Copy ${what}` }).click()
        await expect.poll(text).toMatch(start)
        return text()
      }
      expect(JSON.parse(await copied('JSON', /^{/))).toMatchObject(entries[20] ?? {})
      const link = new URL(await copied('link', /^http/))
      expect(Object.fromEntries(link.searchParams)).toEqual({
        ...{ source: 'realtime_logs', project: shop, entry: 'linked-20', at: String(timestamp + 20_000) },
      })
      await page.goto(link.href)
      await page.getByRole('button', { name: /entry 20$/, expanded: true }).waitFor()
      await page.getByRole('link', { name: 'Same trace_id' }).click()
      await found(page, '4 entries of all sources with trace-5')
      await page.getByRole('button', { name: /entry 21$/ }).click()
      // The entry below it is still open.
      await page.getByRole('link', { name: 'Entries around it' }).first().click()
      await page.getByRole('button', { name: /entry 21$/, expanded: true }).waitFor()
      expect(new URL(page.url()).searchParams.get('project')).toBe(notes)
      await page.getByRole('button', { name: 'Search these minutes' }).click()
      await found(page, '350 entries')
      await follow(page, '/console/logs?source=realtime_logs&entry=not-there')
      await page
        .getByRole('alert')
        .getByText(/not-there/)
        .waitFor()
    })
  })

  test('the search box has most of a line at 1024 pixels', () =>
    walk({ path: '/console/logs?source=edge_logs', width: 1024 }, async (page) => {
      const { width } = await boxOf(box(page))
      expect(width).toBeGreaterThan((await boxOf(page.locator('.logs-bar'))).width / 2)
    }))

  test('searches are saved for all admins', () =>
    walk('/console/logs?source=auth_logs&range=6h&q=level:error', async (page) => {
      await page.getByRole('button', { name: 'Saved searches' }).click()
      await page.getByText('No searches are saved yet.').waitFor()
      await page.getByLabel('Name of the current search').fill('Failed logins')
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'Failed logins' }).waitFor()
      await page.getByLabel('Name of the current search').fill('Failed logins')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page
        .getByRole('alert')
        .getByText(/Failed logins/)
        .waitFor()
      await follow(page, '/console/endpoints')
      await follow(page, '/console/logs')
      await page.getByRole('button', { name: 'Saved searches' }).click()
      await page.getByRole('link', { name: 'Failed logins' }).click()
      await page.waitForURL(/source=auth_logs/)
      expect([queryOf(page), await box(page).inputValue()]).toEqual(['level:error', 'level:error'])
      await page.getByRole('button', { name: 'Saved searches' }).click()
      await page.getByRole('button', { name: 'Delete Failed logins' }).click()
      await page.getByText('No searches are saved yet.').waitFor()
    }))

  test('has no accessibility violations with suggestions, and fits a phone', () =>
    walk({ path: '/console/logs?source=edge_logs&range=24h', width: 390 }, async (page) => {
      await found(page, '110 entries')
      await page.getByText('How to search').click()
      await page.getByText('Fields', { exact: true }).click()
      await facet(page, 'request_method').getByRole('button', { name: /^GET/ }).waitFor()
      await box(page).pressSequentially('status:5')
      await option(page, /^500/).waitFor()
      await expectFit(page)
    }))
})

test('a tenant searches the entries of its project, without what is for admins', async () => {
  const { token } = await makeToken(stage.service(), {
    description: 'shop',
    scopes: ['query', 'search'],
    project: shop,
  })
  await visit(`/console/logs?source=edge_logs&range=24h&project=${notes}`, { token }, async (page) => {
    await found(page, '55 entries')
    await facet(page, 'status_code').getByRole('button', { name: '500 6' }).click()
    await found(page, '6 entries')
    await page.locator('.entry').first().click()
    await page.getByRole('link', { name: 'Entries around it' }).click()
    await page.locator('.entry[aria-current=true]').waitFor()
    expect(await page.getByLabel('Project', { exact: true }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Saved searches' }).count()).toBe(0)
  })
})

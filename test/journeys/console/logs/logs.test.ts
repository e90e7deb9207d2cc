import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openRelay } from '../../../support/network/relay.ts'
import { follow, openConsole } from '../stage/browser.ts'
import { projects } from '../stage/data.ts'
import { onOneLoad, onPage, openStage } from '../stage/stage.ts'

const [shop] = projects

/** The first entry in view, and its distance from the top of the list. */
const firstRead = `(() => {
  const { top } = document.querySelector('.entries').getBoundingClientRect()
  const row = [...document.querySelectorAll('.entry')].find((one) => one.getBoundingClientRect().top >= top)
  return row.textContent + ' at ' + Math.round(row.getBoundingClientRect().top - top)
})()`

const stage = openStage()
const { admin, asAdmin } = stage
const send = async (source: string, entries: object[]) => {
  const body = entries.map((entry) => ({ project: shop, event_message: '', ...entry }))
  expect((await asAdmin('POST', `/api/logs?source=${source}`, body)).status).toBe(200)
}
const makeSource = async (name: string) =>
  expect((await asAdmin('POST', '/api/sources', { name })).status).toBe(201)
const search = async (page: Page, query: string) => {
  await page.getByRole('combobox', { name: 'Search', exact: true }).fill(query)
  await page.keyboard.press('Enter')
}

describe('logs in the console', () => {
  const walk = onOneLoad(onPage(stage), admin)

  test('a search uses the typed text, reaches up to now, and can be extended', async () => {
    await makeSource('console_search')
    await walk('/console/logs?source=console_search', async (page) => {
      await page.getByText('0 entries', { exact: true }).waitFor()
      await send('console_search', [
        { event_message: 'x%41y one', metadata: { 'dotted.key': 'a%3Ab', n: 5 } },
        { event_message: 'xAy two', metadata: { other: { n: 500 } } },
      ])
      await search(page, 'x%41y')
      await page.getByText('1 entry', { exact: true }).waitFor()
      expect(await page.evaluate('document.activeElement.role')).toBe('combobox')
      await page.getByRole('button', { name: /x%41y one/ }).click()
      await page.getByRole('button', { name: 'Filter for metadata.dotted.key a%3Ab' }).click()
      await page.waitForURL(/dotted/)
      await page.locator('.entries[aria-busy=false]').waitFor()
      expect(new URL(page.url()).searchParams.get('q')).toBe('x%41y metadata."dotted.key":a%3Ab')
      expect(await page.locator('.entry').count()).toBe(1)
      for (const query of ['-n:*', '-n:<=5', 'xay -one', '-"y one"']) {
        const response = page.waitForResponse(/console_search\/search/)
        await search(page, query)
        await response
        await page.getByRole('button', { name: /xAy two/ }).waitFor()
        await page.locator('.entries[aria-busy=false]').waitFor()
        expect([query, await page.locator('.entry').count()]).toEqual([query, 1])
      }
      await search(page, '')
      await page.getByText('2 entries', { exact: true }).waitFor()
    })
  })

  test('a custom range ends a live view, is shown in the field, and can be refreshed', () =>
    walk('/console/logs?source=realtime_logs&live=1', async (page) => {
      await page.getByText('New entries appear here as they arrive.').waitFor()
      await page.getByLabel('Time', { exact: true }).selectOption('choose')
      await page.getByLabel(/^From/).fill('2026-01-01T10:00:00')
      await page.getByLabel('To', { exact: true }).fill('2026-01-01T11:30:00')
      await page.getByRole('button', { name: 'Apply', exact: true }).click()
      await page.waitForURL((url) => !url.searchParams.has('live'))
      const chosen = page.locator('option:checked')
      await expect.poll(() => chosen.allTextContents()).toContain('01-01 10:00 – 11:30')
      await page.getByText('0 entries', { exact: true }).waitFor()
      const request = page.waitForRequest(/realtime_logs\/search/)
      await page.getByRole('button', { name: 'Refresh' }).click()
      await request
    }))

  test('a live view begins with existing entries, keeps the scroll position, and resumes after a break', async () => {
    const source = 'storage_logs'
    await send(
      source,
      Array.from({ length: 60 }, (_, n) => ({ event_message: `there was ${n} one` })),
    )
    const relay = await openRelay(Number(new URL(stage.service().url).port))
    const through = { ...stage.service(), url: relay.url }
    const path = `/console/logs?source=${source}&live=1&q=one+-level:debug+was`
    const tab = await openConsole(stage.browser(), through, path, admin())
    const { page } = tab
    try {
      await page.getByText('New entries appear here as they arrive.').waitFor()
      await page.locator('.entry').nth(20).waitFor()
      await page.evaluate("document.querySelector('.entries').scrollTo(0, 500)")
      await page.locator('.entry').nth(30).waitFor()
      const read = await page.evaluate<string>(firstRead)
      await send(source, [
        { event_message: 'one was new' },
        { event_message: 'one is not' },
        { event_message: 'one was not', metadata: { level: 'debug' } },
      ])
      const offset = () => page.evaluate<number>("document.querySelector('.entries').scrollTop")
      await expect.poll(offset).toBeGreaterThan(520)
      expect(await page.evaluate<string>(firstRead)).toBe(read)
      await page.evaluate("document.querySelector('.entries').scrollTo(0, 0)")
      await page.getByRole('button', { name: /one was new/ }).waitFor()
      expect(await page.getByRole('button', { name: /one (?:is|was) not/ }).count()).toBe(0)
      await page.getByRole('button', { name: 'Pause' }).click()
      await send(source, [{ event_message: 'one was late' }])
      await page.getByText('1 waiting').waitFor()
      await relay.cut()
      await page.getByText('Connection lost. Reconnecting …').waitFor()
      await page.getByText('The service cannot be reached.').waitFor()
      await send(source, [{ event_message: 'one was sent meanwhile' }])
      await relay.mend()
      await page.getByText('2 waiting').waitFor()
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('button', { name: /one was sent meanwhile/ }).waitFor()
      await page.getByText('New entries appear here as they arrive.').waitFor()
      expect(await page.getByText('Some entries may be missing').count()).toBe(0)
    } finally {
      await tab.close()
      await relay.cut()
    }
  })

  test('the histogram of a live view moves on and counts new entries', async () => {
    await makeSource('console_counted')
    await walk('/console/logs?source=console_counted&live=1', async (page) => {
      const histogram = page.locator('svg.histogram')
      await page.getByRole('img', { name: /^0 entries from/ }).waitFor()
      const before = await histogram.getAttribute('aria-label')
      await expect.poll(() => histogram.getAttribute('aria-label')).not.toBe(before)
      await send('console_counted', [{ event_message: 'counted' }])
      await page.getByRole('img', { name: /^1 entry from/ }).waitFor()
    })
  })

  test('a page that could not be loaded appears when the service is back', async () => {
    const tab = await openConsole(stage.browser(), stage.service(), '/console/sources', admin())
    await tab.page.route('**/assets/tokens-*', (route) => route.abort())
    await tab.page.route('**/health', (route) => route.abort())
    await tab.page.getByRole('link', { name: 'Tokens' }).click()
    await tab.page.getByText('The service cannot be reached.').first().waitFor()
    await tab.page.unrouteAll()
    await tab.page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor()
    await tab.close()
  })

  test('a wide schema can be searched, and a long value is collapsed', async () => {
    const wide = Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`key_${n}`, n]))
    await makeSource('console_wide')
    await send('console_wide', [
      { event_message: 'wide', metadata: wide },
      { event_message: 'long', metadata: { text: 'L'.repeat(50_000) } },
    ])
    await walk({ path: '/console/sources/console_wide', width: 360 }, async (page) => {
      await page.getByText(/^First 200 of 1,004\. .* 101 more paths that are less frequent/).waitFor()
      expect(await page.evaluate<number>('document.documentElement.scrollHeight')).toBeLessThan(3000)
      await page.getByRole('searchbox', { name: 'Search the schema' }).fill('KEY_399')
      await page.getByRole('cell', { name: /^metadata\.key_399/ }).waitFor()
      await follow(page, '/console/logs?source=console_wide&q=long')
      await page.getByRole('button', { name: /long/ }).click()
      const value = page.locator('.json .value', { hasText: 'LLL' })
      expect((await value.textContent())?.length).toBeLessThan(500)
      await page.getByRole('button', { name: 'All 50,000 characters' }).click()
      expect((await value.textContent())?.length).toBeGreaterThan(50_000)
      expect((await value.boundingBox())?.height).toBeLessThan(400)
    })
  })
})

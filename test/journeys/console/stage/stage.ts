import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { ask } from '../../../support/callers.ts'
import type { RunningService } from '../../../support/service.ts'
import { type ConsoleOptions, faultsOf, follow, inBrowser, sharedBrowser } from './browser.ts'
import { fillWithTraffic } from './data.ts'
import { openTab, type Tab } from './tab.ts'

export interface Stage {
  service: () => RunningService
  browser: () => Browser
  tab: () => Tab
  /** Opens a page with the admin token. */
  admin: () => { token: string }
  /** Sends a request with the admin token. */
  asAdmin: (method: string, path: string, body?: unknown) => ReturnType<typeof ask>
}

/** The service that the files of a worker share, with an hour of traffic, and one tab for its pages. */
const onStage = inBrowser.extend(
  'common',
  { scope: 'worker' },
  async ({ browser, shared }): Promise<{ service: RunningService; tab: Tab }> => {
    await fillWithTraffic(shared)
    const tab = openTab(
      () => browser,
      () => shared,
    )
    return { service: shared, tab }
  },
)

/** A browser and a service with an hour of traffic. All files share it: what they create needs names of its own. */
export function openStage(): Stage {
  const browser = sharedBrowser()
  let service: RunningService
  let tab: Tab
  onStage.beforeAll(({ common }) => {
    service = common.service
    tab = common.tab
  })
  const admin = () => ({ token: service.adminToken.token })
  return {
    service: () => service,
    browser,
    tab: () => tab,
    admin,
    asAdmin: (method, path, body) => ask(service, admin().token, method, path, body),
  }
}

/** Runs a journey in the tab of the stage, or else in a new one, and fails if the page logs an error. */
export function onPage({ service, browser, tab }: Pick<Stage, 'service' | 'browser'> & Partial<Stage>) {
  return async (
    path: string,
    options: ConsoleOptions,
    journey: (page: Page) => Promise<void>,
  ): Promise<void> => {
    const { visit } = tab?.() ?? openTab(browser, service)
    const how = tab ? options : { ...options, isFresh: true }
    expect(await visit(path, how, journey)).toEqual([])
  }
}

/** Says that there is no such page, without a request. */
const nowhere = '/console/nowhere'

/**
 * Loads the console once for all journeys of a `describe`. Each begins by following a link to its page, which loads nothing
 * again. So what a journey looks at needs a name of its own, and exists before the journeys, or is shown on no page before.
 */
export function onOneLoad(
  visit: ReturnType<typeof onPage>,
  options: () => ConsoleOptions,
): (at: string | { path: string; width: number }, journey: (page: Page) => Promise<void>) => Promise<void> {
  let page: Page
  let leave = () => {}
  let whole: Promise<void> | undefined
  beforeAll(async () => {
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    await new Promise<void>((resolve, reject) => {
      whole = visit(nowhere, options(), (opened) => {
        page = opened
        resolve()
        return left
      })
      whole.catch(reject)
    })
  })
  afterAll(() => {
    leave()
    return whole
  })
  return async (at, journey) => {
    const { path, width } = typeof at === 'string' ? { path: at, width: 1280 } : at
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme: 'light' })
    const shown = new URL(page.url())
    // A page that is shown already would keep its state.
    if (new URL(path, shown).pathname === shown.pathname) await follow(page, nowhere)
    await follow(page, path)
    await journey(page)
  }
}

/** Replaces the SQL in the editor. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'SQL' }).click()
  await page.keyboard.press('Control+A')
  if (text === '') await page.keyboard.press('Delete')
  else await page.keyboard.insertText(text)
}

/** Waits until the page has run the endpoint by itself, so that it does not do so later. */
export async function ownRun(page: Page): Promise<void> {
  await page
    .locator('.cost')
    .getByText(/ total$/)
    .waitFor()
}

/** Where an element is, which must be visible. */
export async function boxOf(element: Locator) {
  const box = await element.boundingBox()
  if (!box) throw new Error(`Not visible: ${element}`)
  return box
}

/** Fails if the page stays wider than its window. Charts follow its size when they have been rendered again. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const { width = 0 } = page.viewportSize() ?? {}
  const wide = () => page.evaluate<number>('document.documentElement.scrollWidth')
  await expect.poll(wide).toBeLessThanOrEqual(width)
}

/**
 * Fails if the page is wider than its window, or if it has accessibility violations, or the dialog on a page that a journey
 * checks without it.
 */
export async function expectFit(page: Page, part?: 'dialog'): Promise<void> {
  await expectNoOverflow(page)
  const width = page.viewportSize()?.width
  expect([width, await faultsOf(page, part)]).toEqual([width, []])
}

/** Resizes the page and changes its theme. */
export async function show(page: Page, width: number, theme: 'light' | 'dark'): Promise<void> {
  // A page in the background does not render, so it would not notice the theme.
  await page.bringToFront()
  await page.setViewportSize({ width, height: 844 })
  await page.emulateMedia({ colorScheme: theme })
  await page.locator(`html[data-theme=${theme}]`).waitFor()
}

import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { ask } from '../../support/callers.ts'
import { openService, type RunningService, type ServiceChoices } from '../../support/service.ts'
import { type ConsoleOptions, faultsOf, inBrowser, openConsole, sharedBrowser } from './browser.ts'
import { fillWithTraffic } from './data.ts'

export interface Stage {
  service: () => RunningService
  browser: () => Browser
  /** Opens a page with the admin token. */
  admin: () => { token: string }
  /** Sends a request with the admin token. */
  asAdmin: (method: string, path: string, body?: unknown) => ReturnType<typeof ask>
}

async function openFilled(choices?: ServiceChoices): Promise<RunningService> {
  const service = await openService(choices)
  await fillWithTraffic(service)
  return service
}

/** One service for all journeys of a worker that need no settings of their own. */
const onStage = inBrowser.extend(
  'common',
  { scope: 'worker' },
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern what a fixture uses.
  async ({}, { onCleanup }): Promise<RunningService> => {
    const service = await openFilled()
    onCleanup(() => service.close())
    return service
  },
)

/**
 * A browser and a service with an hour of traffic. Files without choices share the service: what they create needs
 * names of its own.
 */
export function openStage(choices?: ServiceChoices): Stage {
  const browser = sharedBrowser()
  let service: RunningService
  if (choices) {
    beforeAll(async () => {
      service = await openFilled(choices)
    })
    afterAll(() => service?.close())
  } else {
    onStage.beforeAll(({ common }) => {
      service = common
    })
  }
  const admin = () => ({ token: service.adminToken.token })
  return {
    service: () => service,
    browser,
    admin,
    asAdmin: (method, path, body) => ask(service, admin().token, method, path, body),
  }
}

/** Runs a journey in a new tab, and fails if the page logs an error. */
export function onPage({ service, browser }: Pick<Stage, 'service' | 'browser'>) {
  return async (
    path: string,
    options: ConsoleOptions,
    journey: (page: Page) => Promise<void>,
  ): Promise<void> => {
    const tab = await openConsole(browser(), service(), path, options)
    try {
      await journey(tab.page)
      expect(tab.complaints).toEqual([])
    } finally {
      await tab.close()
    }
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

/** Fails if the page is wider than its window or has accessibility violations. */
export async function expectFit(page: Page): Promise<void> {
  const width = page.viewportSize()?.width
  expect(width).toBeDefined()
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
    width as number,
  )
  expect([width, await faultsOf(page)]).toEqual([width, []])
}

/** Resizes the page and changes its theme. */
export async function show(page: Page, width: number, theme: 'light' | 'dark'): Promise<void> {
  // A page in the background does not render, so it would not notice the theme.
  await page.bringToFront()
  await page.setViewportSize({ width, height: 844 })
  await page.emulateMedia({ colorScheme: theme })
  await page.locator(`html[data-theme=${theme}]`).waitFor()
}

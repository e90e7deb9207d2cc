import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { openService, type RunningService, type ServiceChoices } from '../../support/service.ts'
import { type ConsoleOptions, openBrowser, openConsole } from './browser.ts'
import { fillWithTraffic } from './data.ts'

export interface Stage {
  service: () => RunningService
  browser: () => Browser
}

/** A browser and a service with an hour of traffic, for all journeys of a file. */
export function openStage(choices: ServiceChoices = {}): Stage {
  let service: RunningService
  let browser: Browser
  beforeAll(async () => {
    ;[service, browser] = await Promise.all([openService(choices), openBrowser()])
    await fillWithTraffic(service)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })
  return { service: () => service, browser: () => browser }
}

/** Runs a journey in a new tab, and fails if the page logs an error. */
export function onPage({ service, browser }: Stage) {
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

/** Replaces the SQL of an endpoint's page. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'SQL of the endpoint' }).click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(text)
}

import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { RunningService } from '../../../support/service.ts'
import { type ConsoleOptions, collectComplaints, newContext, openConsole, signIn } from './browser.ts'

export interface Tab {
  /** Opens a page and runs a journey in it. Returns the complaints of the page. */
  visit(path: string, options: ConsoleOptions, journey: (page: Page) => Promise<void>): Promise<string[]>
  close(): Promise<void>
}

const observed = ['console', 'pageerror', 'request', 'requestfailed', 'response', 'download'] as const

/**
 * One tab for many journeys. A new one costs more than most journeys: its process starts, and compiles all scripts
 * again. A journey begins as in a new tab, with empty storage and without permissions, routes and other pages.
 */
export function openTab(browser: () => Browser, service: () => Pick<RunningService, 'url'>): Tab {
  let context: BrowserContext | undefined
  let isBusy = false

  const close = async () => {
    await context?.close()
    context = undefined
  }

  const visitAlone: Tab['visit'] = async (path, options, journey) => {
    const tab = await openConsole(browser(), service(), path, options)
    try {
      await journey(tab.page)
    } finally {
      await tab.close()
    }
    return tab.complaints
  }

  const visit: Tab['visit'] = async (path, options, journey) => {
    if (isBusy || options.isFresh || options.timeZone !== undefined) return visitAlone(path, options, journey)
    isBusy = true
    try {
      context ??= await newContext(browser(), service())
      const page = context.pages()[0] ?? (await context.newPage())
      await prepare(page, options)
      const complaints = collectComplaints(page)
      await page.goto(path)
      await journey(page)
      await leave(page)
      return complaints
    } catch (error) {
      // Whatever the journey left behind.
      await close()
      throw error
    } finally {
      isBusy = false
    }
  }

  return { visit, close }
}

async function prepare(page: Page, { token, theme = 'light', width = 1280 }: ConsoleOptions): Promise<void> {
  await page.setViewportSize({ width, height: 800 })
  await page.emulateMedia({ colorScheme: theme })
  await page.context().clearCookies()
  if (token !== undefined) await signIn(page.context(), token)
}

async function leave(page: Page): Promise<void> {
  const context = page.context()
  for (const name of observed) page.removeAllListeners(name)
  for (const other of context.pages()) if (other !== page) await other.close()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  await context.setOffline(false)
  await context.clearPermissions()
  // An open page would keep sending requests; this one has no scripts, and the storage of the console.
  await page.goto('/health')
  await page.evaluate(`localStorage.clear(); sessionStorage.clear()`)
}

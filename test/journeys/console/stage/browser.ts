import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { RunningService } from '../../../support/service.ts'
import { inWorker, oncePerWorker } from '../../../support/shared-service.ts'

const require = createRequire(import.meta.url)
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** Emulated engines are slow, and so are two cores that many tests share. */
const patienceMs = 60_000

export const chromiumFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A journey is over before scripts that are compiled again run faster.
  '--js-flags=--no-maglev,--no-opt',
  '--enable-features=NetworkServiceInProcess2',
]

export interface ConsoleOptions {
  token?: string
  theme?: 'light' | 'dark'
  width?: number
  /** Local time of the browser, such as America/New_York. */
  timeZone?: string
  /** Runs in every page before its own scripts. Needs a tab of its own, as a time zone does. */
  script?: string
  /** Uses a new tab with an empty cache even if there is one to share. */
  isFresh?: boolean
}

export interface OpenConsole {
  page: Page
  context: BrowserContext
  /** Script errors and violations of the content security policy. */
  complaints: string[]
  close(): Promise<void>
}

const launch = oncePerWorker(
  () =>
    chromium.launch({
      executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
      args: chromiumFlags,
    }),
  (browser) => browser.close(),
)

/** One browser for all journeys of a worker. */
export const inBrowser = inWorker.extend(
  'browser',
  { scope: 'worker' },
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern what a fixture uses.
  ({}, { onCleanup }): Promise<Browser> => launch(onCleanup),
)

/** The browser, from the hooks of a file on. */
export function sharedBrowser(): () => Browser {
  let opened: Browser
  inBrowser.beforeAll(({ browser }) => {
    opened = browser
  })
  return () => opened
}

/** A window without storage and cache of others. */
export async function newContext(
  browser: Browser,
  service: Pick<RunningService, 'url'>,
  { theme = 'light', width = 1280, timeZone, script }: ConsoleOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: service.url,
    colorScheme: theme,
    viewport: { width, height: 800 },
    ...(timeZone !== undefined && { timezoneId: timeZone }),
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(patienceMs)
  if (script !== undefined) await context.addInitScript(script)
  return context
}

/** Script errors and violations of the content security policy, from now on. */
export function collectComplaints(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // The browser logs every error response; expected ones are asserted elsewhere.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) {
      complaints.push(message.text())
    }
  })
  return complaints
}

/** Opens a new tab, signed in if there is a token. */
export async function openConsole(
  browser: Browser,
  service: Pick<RunningService, 'url'>,
  path: string,
  { token, ...options }: ConsoleOptions = {},
): Promise<OpenConsole> {
  const context = await newContext(browser, service, options)
  if (token !== undefined) await signIn(context, token)
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  await page.goto(path)
  return { page, context, complaints, close: () => context.close() }
}

/** Gets a cookie as the sign-in form does, for all pages of the context. */
export async function signIn(context: BrowserContext, token: string): Promise<void> {
  const response = await context.request.post('/auth/token', { headers: { 'X-API-KEY': token } })
  if (response.status() !== 204) throw new Error(`Signing in was refused with status ${response.status()}.`)
}

interface Fault {
  id: string
  impact: string | null
  help: string
  nodes: { target: string[]; failureSummary?: string }[]
}

/**
 * The violations that the accessibility checker finds on a page or in a part of it, except minor ones. For another theme at
 * the same width, those of contrast are enough: structure does not depend on the theme.
 */
export async function faultsOf(page: Page, part = 'html', rules?: 'contrast'): Promise<string[]> {
  if (await page.evaluate<boolean>("typeof axe === 'undefined'")) await page.evaluate(axeSource)
  // Otherwise the checker would describe every element that passes as well, and read all styles again for rules that are off.
  const only = rules === 'contrast' ? ", runOnly: ['color-contrast']" : ''
  const options = `{ resultTypes: ['violations'], preload: false${only} }`
  const faults = await page.evaluate<Fault[]>(
    `axe.run(${JSON.stringify(part)}, ${options}).then(({ violations }) => violations)`,
  )
  return faults
    .filter(({ impact }) => impact !== 'minor')
    .map(
      ({ id, help, nodes }) => `${id}: ${help} at ${nodes[0]?.target.join(' ')}: ${nodes[0]?.failureSummary}`,
    )
}

/** Goes to another page as a link of the console does, without loading it again. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.locator('#main').waitFor()
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
}

/** The address of a page, and how to wait until it is loaded. */
export type LoadedPage = readonly [path: string, loaded: (page: Page) => Promise<void>]

/** What is wrong with the page in either theme, narrow or wide, and what does not fit 360 pixels. */
export async function faultsInThemes(page: Page, part?: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  // One width per theme is enough: contrast does not depend on the width, nor structure on the theme.
  const look = async (theme: 'light' | 'dark', width: number) => {
    // A page in the background does not render, so it would not notice the theme.
    await page.bringToFront()
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: theme })
    await page.locator(`html[data-theme=${theme}]`).waitFor()
    const faults = await faultsOf(page, part)
    if (faults.length > 0) found[`${theme} at ${width}`] = faults
  }
  await look('light', 360)
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
  if (wide > 360) found['is wide'] = wide
  const cut = await page.evaluate<number>(
    "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.nav'))",
  )
  if (cut > 0) found['hides a link of the navigation'] = cut
  await look('dark', 1440)
  return found
}

/** Follows a link to a page while it is narrow and light, and finds its faults. */
export async function faultsOn(page: Page, [path, loaded]: LoadedPage): Promise<Record<string, unknown>> {
  await page.setViewportSize({ width: 360, height: 800 })
  await page.emulateMedia({ colorScheme: 'light' })
  await follow(page, path)
  await loaded(page)
  return faultsInThemes(page)
}

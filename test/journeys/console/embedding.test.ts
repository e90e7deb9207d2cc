import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { embedSnippet } from '../../../console/src/ui/snippets/snippets.ts'
import { systemTime } from '../../../src/core/base/clock.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { faultsOf, sharedBrowser } from './stage/browser.ts'
import { fillWithTraffic, projects } from './stage/data.ts'
import { openTab } from './stage/tab.ts'

const [shop, notes] = projects
const count = 'SELECT count() AS requests FROM edge_logs WHERE project = @project'
const split = `SELECT toStartOfMinute(timestamp) AS minute, request_path AS path, count() AS requests
FROM edge_logs WHERE project = @project GROUP BY minute, path ORDER BY minute`
const perPath = `SELECT request_path AS path, count() AS requests FROM edge_logs
WHERE project = @project GROUP BY path ORDER BY requests DESC`
const parameters = { project: { required: true } }

let service: RunningService
const browser = sharedBrowser()
/** Pages of a product: one that may embed charts, and one that may not. */
let product: Product
let stranger: Product
let aheadMs = 0
const scratch = mkdtempSync(join(tmpdir(), 'wellhead-brand-'))
const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>alert(1)</script><circle r="4"/></svg>'

beforeAll(async () => {
  writeFileSync(join(scratch, 'logo.svg'), logo)
  ;[product, stranger] = await Promise.all([openProduct(), openProduct()])
  service = await openService({
    environment: {
      WELLHEAD_EMBED_ORIGINS: product.origin,
      WELLHEAD_BRAND_NAME: 'Blue & "Sons"',
      WELLHEAD_BRAND_LOGO: join(scratch, 'logo.svg'),
      WELLHEAD_BRAND_COLOR: '#ffe100',
    },
    time: systemTime({ now: () => Date.now() + aheadMs }),
  })
  await fillWithTraffic(service)
  for (const [name, query] of Object.entries({ count, split, 'per-path': perPath })) {
    const endpoint = {
      published: true,
      name: `embed.${name}`,
      description: `Requests: ${name}`,
      query,
      parameters,
    }
    const { status } = await ask(service, service.adminToken.token, 'POST', '/api/endpoints', endpoint)
    expect(status).toBe(201)
  }
})

afterAll(async () => {
  await service?.close()
  rmSync(scratch, { recursive: true })
  product?.close()
  stranger?.close()
})

interface Product {
  origin: string
  /** The tenant's token with which the backend creates sessions. */
  token: string
  sessions: number
  html: string
  close(): void
}

/** A backend that serves a page and creates sessions, as the guide describes. */
async function openProduct(): Promise<Product> {
  const server: Server = createServer(async ({ url }, response) => {
    if (url !== '/chart-session') return response.setHeader('Content-Type', 'text/html').end(made.html)
    made.sessions++
    const { body } = await ask(service, made.token, 'POST', '/api/access-tokens/self/session', { minutes: 5 })
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ token: body.token }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: Product = { origin, token: '', sessions: 0, html: '', close: () => server.close() }
  return made
}

async function sessionOf(project: string, scopes = ['query']): Promise<string> {
  const { id } = await makeToken(service, { description: 'Product', scopes, project })
  const path = `/api/access-tokens/${id}/session`
  const { body } = await ask(service, service.adminToken.token, 'POST', path, {})
  return body.token
}

/** Each journey begins with an empty page in the same tab, whose storage the pages must not use. */
let shared: BrowserContext | undefined
afterAll(() => shared?.close())

async function onPage(
  path: string,
  journey: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<string[]> {
  shared ??= await browser().newContext()
  const page = shared.pages()[0] ?? (await shared.newPage())
  page.setDefaultTimeout(60_000)
  await page.setViewportSize({ width: 800, height: 400 })
  const messages: string[] = []
  page.on('console', (message) => message.type() === 'error' && messages.push(message.text()))
  page.on('pageerror', (error) => messages.push(error.message))
  try {
    await page.goto(path)
    await journey(page, shared)
    for (const name of ['console', 'pageerror', 'request'] as const) page.removeAllListeners(name)
    await page.goto('about:blank')
  } catch (error) {
    await shared.close()
    shared = undefined
    throw error
  }
  return messages.filter((message) => !message.startsWith('Failed to load resource'))
}

const figure = (page: Pick<Page, 'locator'>) => page.locator('.big-figures dd').first()
const sendEntry = (project: string) =>
  logClient(() => service).send('edge_logs', JSON.stringify({ project, event_message: 'one more' }))

describe('a frame in a page of another origin', () => {
  test('shows a dashboard, tells its height, and exchanges parameters with the page', async () => {
    const panel = { endpoint: 'embed.count', parameters: { project: '@project' }, title: 'Count' }
    const declared = { project: { required: true }, tier: { enum: ['FREE', 'PRO'] } }
    const board = { name: 'embed.board', title: 'Board', parameters: declared, rows: [{ items: [panel] }] }
    await ask(service, service.adminToken.token, 'POST', '/api/dashboards', board)
    product.token = (await makeToken(service, { scopes: ['dashboard:embed.board'], project: shop })).token
    product.html = `<!doctype html><iframe id="board" width="700" height="300" src="${service.url}/embed/dashboards/embed.board"></iframe>
      <script>
        const frame = document.getElementById('board').contentWindow
        globalThis.told = []
        addEventListener('message', async ({ source, data }) => {
          if (source !== frame) return
          told.push(data)
          if (data.type !== 'wellhead:expired') return
          const { token } = await (await fetch('/chart-session', { method: 'POST' })).json()
          frame.postMessage({ type: 'wellhead:token', token }, '${service.url}')
        })
      </script>`
    const complaints = await onPage(product.origin, async (page) => {
      const frame = page.frameLocator('iframe')
      await figure(frame).filter({ hasText: /^\d+$/ }).waitFor()
      expect(await frame.getByText(shop, { exact: true }).count()).toBe(1)
      await frame.getByLabel('tier').selectOption('PRO')
      const told = (type: string) =>
        page.evaluate<{ parameters?: object; height?: number }[]>(
          `told.filter((message) => message.type === '${type}')`,
        )
      await expect
        .poll(async () => (await told('wellhead:parameters')).at(-1)?.parameters)
        .toEqual({ tier: 'PRO' })
      expect((await told('wellhead:height')).at(-1)?.height).toBeGreaterThan(200)
      await page.evaluate(
        `frame.postMessage({ type: 'wellhead:parameters', parameters: { tier: 'FREE' } }, '${service.url}')`,
      )
      await expect.poll(() => frame.getByLabel('tier').inputValue()).toBe('FREE')
    })
    expect(complaints).toEqual([])
    const { headers } = await fetch(`${service.url}/embed/dashboards/embed.board`)
    expect(headers.get('content-security-policy')).toContain(`frame-ancestors ${product.origin}`)
    product.sessions = 0
  })

  test('follows live results, and continues with a new session when the first has ended', async () => {
    const tenant = await makeToken(service, { description: 'Shop', scopes: ['query'], project: shop })
    product.token = tenant.token
    product.html = embedSnippet(service.url, 'embed.count', { project: shop }).text
    const complaints = await onPage(product.origin, async (page) => {
      const frame = page.frameLocator('iframe')
      await figure(frame).filter({ hasText: /^55$/ }).waitFor()
      await sendEntry(shop)
      await figure(frame).filter({ hasText: /^56$/ }).waitFor()
      expect(product.sessions).toBe(1)
      aheadMs += 600_000
      await sendEntry(shop)
      await figure(frame).filter({ hasText: /^57$/ }).waitFor()
      expect(product.sessions).toBe(2)
      await sendEntry(shop)
      await figure(frame).filter({ hasText: /^58$/ }).waitFor()
    })
    expect(complaints).toEqual([])
  })

  test('shows nothing of a customer once the page passes on the token of another', async () => {
    const tenants = [shop, notes].map((project) =>
      makeToken(service, { description: 'Both', scopes: ['query'], project }),
    )
    const [first, second] = (await Promise.all(tenants)).map(({ token }) => token)
    const messages = {
      published: true,
      name: 'embed.messages',
      query: 'SELECT project, event_message FROM edge_logs LIMIT 3',
    }
    await ask(service, service.adminToken.token, 'POST', '/api/endpoints', messages)
    product.html = `<iframe src="${service.url}/embed/embed.messages?_view=table#token=${first}" width="800" height="600"></iframe>`
    await onPage(product.origin, async (page) => {
      const body = page.frameLocator('iframe').locator('body')
      await body.filter({ hasText: shop }).waitFor()
      // The stream of the next token never begins.
      await page.route('**/api/endpoints/query/**', () => {})
      await page.evaluate(
        `frames[0].postMessage({ type: 'wellhead:token', token: '${second}' }, '${service.url}')`,
      )
      await body.filter({ hasNotText: shop }).waitFor()
      await page.unrouteAll()
    })
  })

  test('is refused for an origin that is not allowed', async () => {
    stranger.html = embedSnippet(service.url, 'embed.count', {}).text
    await onPage(stranger.origin, async (page) => {
      await expect.poll(() => page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/')
      const messages = async () => (await page.consoleMessages()).map((message) => message.text()).join()
      await expect.poll(messages).toContain('frame-ancestors')
    })
    expect(stranger.sessions).toBe(0)
  })

  test('the console itself cannot be framed', async () => {
    const headersOf = async (path: string) => (await fetch(service.url + path)).headers
    const page = await headersOf('/')
    expect(page.get('x-frame-options')).toBe('DENY')
    expect(page.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const embed = await headersOf('/embed/embed.count')
    expect(embed.get('x-frame-options')).toBeNull()
    expect(embed.get('content-security-policy')).toContain(`frame-ancestors ${product.origin}`)
  })
})

describe('the page of one endpoint', () => {
  const embed = (name: string, query: string, token: string) =>
    `${service.url}/embed/${name}?${query}#token=${token}`

  test('removes the token from the address, sends it in a header only, and stores nothing', async () => {
    const token = await sessionOf(notes)
    const complaints = await onPage(embed('embed.split', '', token), async (page) => {
      const urls: string[] = []
      page.on('request', (request) => urls.push(request.url()))
      await page.reload()
      await page.getByText('Waiting for permission to show this chart.').waitFor()
      await page.goto('about:blank')
      await page.goto(embed('embed.split', '_theme=dark', token))
      await page.getByRole('slider', { name: 'Chart of requests by path over minute' }).waitFor()
      await page.getByRole('heading', { name: 'Requests: split' }).waitFor()
      await page.locator('html[data-theme=dark]').waitFor()
      expect(page.url()).toBe(`${service.url}/embed/embed.split?_theme=dark`)
      expect(urls.filter((url) => new URL(url).search.includes(token))).toEqual([])
      expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0)
      expect(await page.getByRole('link').count()).toBe(0)
    })
    expect(complaints).toEqual([])
  })

  test('shows a table, and hides the title', async () => {
    const token = await sessionOf(notes)
    await onPage(embed('embed.per-path', '_view=table&_title=0', token), async (page) => {
      await page.getByRole('columnheader', { name: 'requests' }).waitFor()
      expect(await page.getByRole('heading').count()).toBe(0)
    })
  })

  test('reports what is missing or not allowed, and an empty result', async () => {
    const empty = await sessionOf('nothing-here')
    await onPage(`${service.url}/embed/embed.per-path`, async (page) => {
      const opened = async (url: string, text: string) => {
        await page.goto('about:blank')
        await page.goto(url)
        await page.getByText(text).waitFor()
      }
      await opened(`${service.url}/embed/embed.per-path`, 'Waiting for permission to show this chart.')
      await opened(embed('embed.per-path', '', empty), 'No data')
      await opened(embed('embed.per-path', 'tpyo=1', empty), 'Unknown parameter "tpyo"')
      await opened(embed('embed.per-path', '', 'whs_wrong'), 'The session has ended.')
      const other = await sessionOf(notes, ['query:embed.count'])
      await opened(embed('embed.per-path', '', other), 'you are not allowed to see it')
      await opened(embed('not.there', '', empty), 'you are not allowed to see it')
    })
  })

  test('reconnects when the service is back', async () => {
    const token = await sessionOf(notes)
    await onPage(embed('embed.count', '', token), async (page, context) => {
      await figure(page).waitFor()
      const before = Number(await figure(page).textContent())
      // Chromium keeps open streams when it goes offline, so the next connection is cut instead.
      await context.route('**/api/endpoints/query/**', (route) => route.abort())
      await ask(service, service.adminToken.token, 'PATCH', '/api/endpoints/embed.count', {
        description: 'Changed',
      })
      await page.getByText('The service cannot be reached. Reconnecting …').waitFor()
      expect(await figure(page).textContent()).toBe(String(before))
      await context.unrouteAll()
      await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' })
      await sendEntry(notes)
      await figure(page)
        .filter({ hasText: new RegExp(`^${before + 1}$`) })
        .waitFor()
    })
  })

  test('has no accessibility violations in either theme and fits 320 pixels', async () => {
    const token = await sessionOf(notes)
    for (const [name, query, shown] of [
      ['embed.split', '', '.chart canvas'],
      ['embed.per-path', '', '.name-bars'],
      ['embed.per-path', '_view=table', '.grid-row'],
      ['embed.count', '', '.big-figures'],
    ] as const) {
      const url = embed(name, query, token)
      await onPage(url, async (page) => {
        await page.setViewportSize({ width: 320, height: 300 })
        await page.locator(shown).first().waitFor()
        for (const [theme, rules] of [['light'], ['dark', 'contrast']] as const) {
          await page.emulateMedia({ colorScheme: theme })
          await page.locator(`html[data-theme=${theme}]`).waitFor()
          expect([url, theme, await faultsOf(page, 'html', rules)]).toEqual([url, theme, []])
        }
        expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(320)
      })
    }
  })

  test('loads no editor', async () => {
    const html = await (await fetch(`${service.url}/embed/embed.count`)).text()
    const files = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+\.js)"/g)].map(([, path]) => path)
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) {
      const script = await (await fetch(service.url + file)).text()
      expect([file, script.includes('cm-editor')]).toEqual([file, false])
    }
  })
})

describe('the name, logo and color of the settings', () => {
  const accent = "getComputedStyle(document.querySelector('.button.primary, .legend i')).color"
  const tab = openTab(browser, () => service)
  afterAll(() => tab.close())
  const visit = async (path: string, token: string | undefined, journey: (page: Page) => Promise<void>) =>
    expect(await tab.visit(path, token === undefined ? {} : { token }, journey)).toEqual([])

  test('are those of the sign-in form and the console of a customer, and can be read', async () => {
    const { token } = await makeToken(service, { scopes: ['query'], project: shop })
    await visit('/', undefined, async (page) => {
      await page.getByText('Blue & "Sons"', { exact: true }).waitFor()
      await expect.poll(() => page.title()).toBe('Sign in · Blue & "Sons"')
      expect(await page.getByText('admin-token').count()).toBe(0)
      await page.locator('.brand img').waitFor()
      expect(await faultsOf(page)).toEqual([])
    })
    await visit('/console/endpoints/embed.count', token, async (page) => {
      await page.getByRole('link', { name: 'Blue & "Sons"' }).waitFor()
      await page.getByText('1 row', { exact: true }).waitFor()
      // What a run costs the service is not the customer's concern.
      expect(await page.locator('.cost').textContent()).toBe('1 row')
      for (const [theme, rules] of [['light'], ['dark', 'contrast']] as const) {
        await page.emulateMedia({ colorScheme: theme })
        await page.locator(`html[data-theme=${theme}]`).waitFor()
        expect(await faultsOf(page, 'html', rules)).toEqual([])
      }
      expect(await page.evaluate<string>(accent)).toBe('rgb(0, 0, 0)')
    })
  })

  test('are not those of admins', () =>
    visit('/console/tokens', service.adminToken.token, async (page) => {
      await page.getByRole('button', { name: 'New token' }).waitFor()
      await page.getByRole('link', { name: 'Wellhead' }).waitFor()
      await page.locator('.button.primary').first().waitFor()
      expect(await page.evaluate<string>(accent)).toBe('rgb(255, 255, 255)')
    }))

  test('have a logo that runs no scripts', async () => {
    const { headers } = await fetch(`${service.url}/console/logo`)
    expect(headers.get('content-type')).toBe('image/svg+xml')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*sandbox$/)
  })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { readDefinition } from '../../../src/core/endpoints/definition/definition-file.ts'
import { makeToken } from '../../support/callers.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedBrowser } from '../console/stage/browser.ts'
import { codeIn, readGuide, tableRows } from './guide-page.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const json = { 'Content-Type': 'application/json' }

interface DashboardTest {
  service(): RunningService
  pagePort(): number
  setTime(ms: number): void
}

/** Runs the backend and the page of docs/guides/customer-dashboard.md. */
export function describeDashboard({ service, pagePort, setTime }: DashboardTest): void {
  const browser = sharedBrowser()
  const { page, blocks } = readGuide('customer-dashboard.md')
  const code = (language: string) => {
    const block = blocks.find((one) => one.language === language && one.note === '')
    if (block === undefined) throw new Error(`The page has no ${language}.`)
    return block.text
  }
  const post = (path: string, body: string) => service().call(path, { method: 'POST', headers: json, body })
  const send = async (project: string) => {
    const metadata = { request: { path: '/cart' }, response: { status_code: 200, origin_time: 12 } }
    expect((await post('/api/logs?source=edge_logs', JSON.stringify({ project, metadata }))).status).toBe(200)
  }

  async function withBackend(use: (origin: string) => Promise<void>): Promise<void> {
    const directory = scratchDirectory()
    writeFileSync(join(directory.path, 'backend.mjs'), code('js'))
    writeFileSync(join(directory.path, 'dashboard.html'), code('html'))
    mkdirSync(join(directory.path, 'node_modules/@wellhead'), { recursive: true })
    symlinkSync(join(repository, 'client'), join(directory.path, 'node_modules/@wellhead/client'))
    // As the page creates it with the command.
    const [, scope] = /wellhead token create --scope (\S+)/.exec(page) ?? []
    const { token } = await makeToken(service(), { scopes: [scope] })
    const backend = spawn(process.execPath, ['backend.mjs'], {
      cwd: directory.path,
      env: {
        PATH: process.env.PATH,
        PORT: String(pagePort()),
        WELLHEAD_URL: service().url,
        WELLHEAD_TOKEN: token,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      await once(backend.stdout, 'data')
      await use(`http://127.0.0.1:${pagePort()}`)
    } finally {
      backend.kill()
      await once(backend, 'exit')
      directory.remove()
    }
  }

  describe('docs/guides/customer-dashboard.md', () => {
    test('shows a customer the requests of the own project, live, and nothing else', async () => {
      setTime(Date.now())
      const reading = readDefinition('dashboard.requests.sql', code('sql'))
      if ('problems' in reading) throw new Error(JSON.stringify(reading.problems))
      expect((await post('/api/endpoints', JSON.stringify(reading.definition))).status).toBe(201)
      await send('shop')
      for (const project of ['other', 'market', 'market', 'market']) await send(project)
      await withBackend(async (origin) => {
        await expectLivePages(origin, () => send('shop'))

        expect((await fetch(`${origin}/session`)).status).toBe(401)
        const session = await fetch(`${origin}/session`, { headers: { Cookie: 'session=alice' } })
        const { token, url } = (await session.json()) as { token: string; url: string }
        await expectTable(url, token, origin)

        setTime(Date.now() + 6 * 60_000)
        const expired = await fetch(`${url}/api/whoami`, { headers: { 'X-API-KEY': token } })
        expect(expired.status).toBe(401)
      })
    })
  })

  /**
   * Opens the page in a browser, and waits for a result that includes what happens meanwhile. Then another customer signs in
   * to the same browser.
   */
  async function expectLivePages(origin: string, happen: () => Promise<void>): Promise<void> {
    const context = await browser().newContext()
    try {
      const signIn = (value: string) => context.addCookies([{ name: 'session', value, url: origin }])
      await signIn('alice')
      const tab = await context.newPage()
      tab.setDefaultTimeout(90_000)
      await tab.goto(origin)
      const total = `[...document.querySelectorAll('#rows tr')].reduce((sum, row) => sum + Number(row.cells[1].textContent), 0)`
      await tab.waitForFunction(`${total} === 1`)
      expect(await tab.textContent('#status')).toBe('Live')
      expect(await tab.locator('#rows tr').count()).toBe(6)
      await happen()
      await tab.waitForFunction(`${total} === 2`)

      const [plain] = blocks.filter(({ language, note }) => language === 'js' && note === 'page')
      const requested = () =>
        tab.evaluate<number>(`fetch('/session').then((session) => session.json()).then(async ({ token, url }) => {
          const { createClient } = await import('/wellhead-client.js')
          const client = createClient({ url, getToken: () => token })
          ${plain?.text}
          return rows.reduce((sum, { requests }) => sum + requests, 0)
        })`)
      expect(await requested()).toBe(2)
      // Results that are unchanged, errors and their fields pass from one origin to the other.
      const statuses = `fetch('/session').then((session) => session.json()).then(async ({ token, url }) => {
        const { createClient } = await import('/wellhead-client.js')
        const seen = []
        const send = (...request) => fetch(...request).then((response) => (seen.push(response.status), response))
        const client = createClient({ url, getToken: () => token, fetch: send })
        const call = (name) => client.call(name).catch(({ code }) => seen.push(code))
        for (const name of ['dashboard.requests', 'dashboard.requests', 'logs.all']) await call(name)
        return seen
      })`
      expect(await tab.evaluate(statuses)).toEqual([200, 304, 403, 'forbidden'])
      // The same page on an origin that is not allowed.
      const { port } = new URL(origin)
      await context.addCookies([{ name: 'session', value: 'alice', url: `http://localhost:${port}` }])
      const other = await context.newPage()
      await other.goto(`http://localhost:${port}`)
      expect(await other.evaluate(statuses)).toEqual(['unreachable', 'unreachable', 'unreachable'])
      await other.close()
      await signIn('bob')
      expect(await requested()).toBe(3)
      const seen = async (page: Page) => {
        await page.waitForFunction(`document.querySelector('#status').textContent === 'Live'`)
        return page.evaluate<number>(total)
      }
      await tab.goto('about:blank')
      await tab.goBack()
      expect(await seen(tab)).toBe(3)
      await tab.reload()
      expect(await seen(tab)).toBe(3)
      const second = await context.newPage()
      await second.goto(origin)
      expect(await seen(second)).toBe(3)
    } finally {
      await context.close()
    }
  }

  /** Sends the requests of the table "What the customer can see" as a page of the origin would. */
  async function expectTable(url: string, token: string, origin: string): Promise<void> {
    const rows = tableRows(page, 'Request', 'Response')
    expect(rows.length).toBeGreaterThan(8)
    for (const [requests, response] of rows) {
      for (const request of codeIn(requests)) {
        const [method = '', path] = request.split(' ')
        const answer = await fetch(url + path, {
          method,
          headers: { 'X-API-KEY': token, Origin: origin, ...(method === 'POST' && json) },
          ...(method === 'POST' && { body: '{}' }),
        })
        expect(`${request}: ${answer.status}`).toBe(`${request}: ${response?.slice(0, 3)}`)
        expect(answer.headers.get('Access-Control-Allow-Origin')).toBe(origin)
        if (path?.endsWith('/dashboard.requests')) {
          const { result } = (await answer.json()) as { result: { requests: number }[] }
          expect(result.reduce((sum, { requests: count }) => sum + count, 0)).toBe(2)
        } else if (path === '/openapi.json') {
          const { paths } = (await answer.json()) as { paths: Record<string, unknown> }
          const called = Object.keys(paths).filter((name) => name.startsWith('/api/endpoints/query/'))
          expect(called.filter((name) => !name.includes('{'))).toEqual([
            '/api/endpoints/query/dashboard.requests',
          ])
        } else {
          await answer.body?.cancel()
        }
      }
    }
  }
}

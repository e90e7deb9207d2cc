import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { examples } from '../../../console/src/endpoints/unsaved/examples.ts'
import { ask, makeToken } from '../../support/callers.ts'
import {
  faultsInThemes,
  faultsOf,
  faultsOn,
  follow,
  type LoadedPage,
  type OpenConsole,
  openConsole,
} from './stage/browser.ts'
import { projects } from './stage/data.ts'
import { expectFit, onPage, openStage, show } from './stage/stage.ts'

/** Five entries of each project, one of them an error: more of them look the same. */
const few = 'origin_time:<=24'

/** Every page, and how to wait until it is loaded. */
const pages: LoadedPage[] = [
  [
    '/',
    async (page) => {
      await page.getByRole('slider', { name: /^Requests in/ }).waitFor()
      await page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()
    },
  ],
  ['/console/endpoints', (page) => page.getByRole('link', { name: 'logs.all' }).waitFor()],
  [
    `/console/endpoints/logs.all?project=${projects[0]}`,
    async (page) => {
      await page.getByRole('textbox', { name: 'SQL of the endpoint' }).waitFor()
      await page.getByRole('columnheader', { name: 'event_message' }).waitFor()
      await page.getByRole('button', { name: 'Edit @project', exact: true }).click()
    },
  ],
  [
    `/console/endpoints/usage.api-counts?project=${projects[0]}&interval=minutely&_view=chart`,
    (page) => page.locator('.chart canvas').first().waitFor(),
  ],
  ['/console/endpoints/logs.all?_tab=settings', (page) => page.getByLabel('Row limit').waitFor()],
  [
    '/console/endpoints/console.looks?_tab=versions',
    (page) => page.locator('.cm-deletedChunk').first().waitFor(),
  ],
  [
    '/console/endpoints/usage.api-counts?_tab=usage',
    async (page) => {
      await page.getByRole('slider', { name: /^Requests in/ }).waitFor()
      await page.getByText('400 invalid_parameter').waitFor()
    },
  ],
  [
    '/console/endpoints/usage.api-counts?_tab=cache',
    (page) =>
      page
        .getByRole('cell', { name: `project=${projects[0]}` })
        .first()
        .waitFor(),
  ],
  ['/console/endpoints/not.there', (page) => page.getByText('No such endpoint').waitFor()],
  ['/console/new-endpoint', (page) => page.getByText('The query is valid.').waitFor()],
  [
    '/console/playground',
    async (page) => {
      // A narrow page hides the schema.
      await page.getByRole('button', { name: 'Schema and history' }).click()
      await page.getByRole('button', { name: 'edge_logs', exact: true }).click()
      await page
        .getByRole('button', { name: /^metadata/ })
        .first()
        .waitFor()
      await page.getByRole('button', { name: examples[2].title }).click()
      await page.getByText('The query is valid.').waitFor()
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByRole('columnheader', { name: 'request_url' }).waitFor()
    },
  ],
  [
    '/console/logs?source=edge_logs&q=nowhere',
    async (page) => {
      await page.getByRole('button', { name: 'Remove nowhere' }).waitFor()
      await page.locator('.facets.old').waitFor({ state: 'detached' })
    },
  ],
  [
    `/console/logs?source=edge_logs&live=1&q=${few}`,
    async (page) => {
      await page.getByText('New entries appear here as they arrive.').waitFor()
      await page.locator('.entry').first().waitFor()
      await page.locator('.facets.old').waitFor({ state: 'detached' })
    },
  ],
  [
    `/console/logs?source=edge_logs&range=24h&q=${few}`,
    async (page) => {
      await page.getByText('Fields', { exact: true }).click()
      await page.locator('.facets:not(.old) section').first().waitFor()
      await page.locator('.split-legend').waitFor()
      await page.locator('.entry').first().click()
      await page.locator('.json').waitFor()
    },
  ],
  [
    '/docs',
    async (page) => {
      await page.getByText('/api/endpoints/query/{reference}').first().click()
      await page.getByRole('button', { name: 'Send request' }).waitFor()
      await page.getByRole('searchbox', { name: 'Search' }).fill('endpoints')
    },
  ],
  ['/console/sources', (page) => page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()],
  [
    '/console/sources/edge_logs',
    (page) => page.getByRole('cell', { name: 'metadata.request.path' }).waitFor(),
  ],
  [
    '/console/sources/quarantine',
    (page) =>
      page
        .getByRole('cell', { name: /not a time/ })
        .first()
        .waitFor(),
  ],
  [
    '/console/tokens',
    async (page) => {
      await page.getByRole('button', { name: 'New token' }).click()
      await page.getByLabel('Description').waitFor()
    },
  ],
]

const tenantPages: LoadedPage[] = [
  ['/console/endpoints', (page) => page.getByRole('link', { name: 'logs.all' }).waitFor()],
  [
    '/console/endpoints/usage.api-counts',
    (page) => page.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor(),
  ],
  [
    '/console/endpoints/logs.all?_tab=docs',
    (page) => page.getByRole('region', { name: 'Parameters' }).waitFor(),
  ],
  [`/console/logs?q=${few}`, (page) => page.locator('.entry').first().waitFor()],
  ['/console/usage', (page) => page.getByText('400 invalid_parameter').waitFor()],
  ['/console/sources', (page) => page.getByRole('region', { name: 'Send with: curl' }).waitFor()],
]

const focused =
  "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''"

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage

describe('every page of the console', () => {
  beforeAll(async () => {
    const looks = { name: 'console.looks', query: "SELECT 1 AS one, 'a' AS text -- first" }
    await asAdmin('POST', '/api/endpoints', looks)
    const changed = { query: "SELECT 2 AS one, 'b' AS text -- second", max_rows: 5 }
    await asAdmin('PATCH', '/api/endpoints/console.looks?breaking=true', changed)
    const counts = `/api/endpoints/query/usage.api-counts?project=${projects[0]}`
    expect((await asAdmin('GET', `${counts}&interval=hourly`)).status).toBe(200)
    expect((await asAdmin('GET', `${counts}&interval=never`)).status).toBe(400)
    await stage.service().statistics?.flush()
  })

  describe('in one tab', () => {
    let tab: OpenConsole
    beforeAll(async () => {
      tab = await openConsole(stage.browser(), stage.service(), '/', { ...admin(), width: 360 })
    })
    afterAll(() => tab?.close())

    test.each(pages)('has no accessibility violations and fits 360 pixels: %s', async (...page) => {
      expect(await faultsOn(tab.page, page)).toEqual({})
    })

    test('has no accessibility violations in the views of a result', async () => {
      const { page } = tab
      await page.setViewportSize({ width: 1440, height: 900 })
      await follow(page, `/console/endpoints/usage.api-counts?project=${projects[0]}&interval=minutely`)
      for (const [view, shown] of [
        ['JSON', '.json-text'],
        ['Request', '.snippet'],
        ['Plan', '.json-text'],
      ] as const) {
        await page.getByRole('button', { name: view, exact: true }).click()
        await page.locator(shown).first().waitFor()
        expect([view, await faultsInThemes(page, '.result')]).toEqual([view, {}])
      }
    })
  })

  test('has its pages in a drawer on a phone', () =>
    visit('/console/tokens', { ...admin(), width: 390 }, async (page) => {
      await page.getByRole('heading', { level: 1 }).waitFor()
      const header = await page.locator('.side').boundingBox()
      expect(header?.height).toBeLessThan(64)
      await page.getByRole('button', { name: 'Menu' }).click()
      expect(await faultsOf(page)).toEqual([])
      await page.getByRole('link', { name: 'Sources', exact: true }).click()
      await page.getByRole('heading', { name: 'Sources', exact: true }).waitFor()
      await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'hidden' })
    }))

  test('has no accessibility violations for signing in', () =>
    visit('/', {}, async (page) => {
      await page.getByLabel('Access token').waitFor()
      for (const [width, theme] of [
        [360, 'light'],
        [1440, 'dark'],
      ] as const) {
        await show(page, width, theme)
        await expectFit(page)
      }
    }))

  test('of a tenant has no accessibility violations either', async () => {
    const { token } = await makeToken(stage.service(), {
      description: 'a customer with a long description of its token',
      scopes: ['query', 'search', 'ingest'],
      project: projects[1],
    })
    const failing = '/api/endpoints/query/usage.api-counts?interval=never'
    expect((await ask(stage.service(), token, 'GET', failing)).status).toBe(400)
    await stage.service().statistics?.flush()
    await visit('/', { token }, async (page) => {
      for (const one of tenantPages) expect([one[0], await faultsOn(page, one)]).toEqual([one[0], {}])
    })
  })

  test('follows the theme of the system until the user chooses one', () =>
    visit('/console/tokens', { ...admin(), theme: 'dark' }, async (page) => {
      const back = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
      await page.getByRole('heading', { name: 'Tokens', exact: true }).waitFor()
      const dark = await back()
      await page.getByRole('button', { name: 'Use the light theme' }).click()
      await page.locator('html[data-theme=light]').waitFor()
      expect(await back()).not.toBe(dark)
      await page.reload()
      await page.getByRole('button', { name: 'Use the dark theme' }).waitFor()
      expect(await back()).not.toBe(dark)
    }))

  test('can be used with the keyboard alone', () =>
    visit('/', {}, async (page) => {
      await page.locator('#token:focus').waitFor()
      await page.keyboard.type(stage.service().adminToken.token)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      const focus = async (name: RegExp) => {
        for (let presses = 0; presses < 60; presses++) {
          const label = await page.evaluate<string>(focused)
          if (name.test(label)) return
          await page.keyboard.press('Tab')
        }
        throw new Error(`The keyboard does not reach ${name}.`)
      }
      await focus(/^Endpoints$/)
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'usage.api-counts' }).waitFor()
      await focus(/^usage\.api-counts$/)
      await page.keyboard.press('Enter')
      await page.getByRole('textbox', { name: 'SQL of the endpoint' }).waitFor()
      await page.locator('input[list]').waitFor()
      await page.locator(`input[list][value="${projects[0]}"], input[list][value="${projects[1]}"]`).waitFor()
      // The page runs by itself first.
      await page.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor()
      await page.getByRole('button', { name: /^Run/ }).waitFor()
      await focus(/^Run/)
      const again = page.waitForResponse(/\/query\/usage\.api-counts/)
      await page.keyboard.press('Enter')
      expect((await again).status()).toBe(200)
    }))

  test('has a palette, a list of shortcuts and a key for the search', () =>
    visit('/console/endpoints', { ...admin() }, async (page) => {
      const palette = page.getByRole('combobox', { name: 'Go to' })
      const search = page.getByRole('searchbox', { name: 'Search endpoints' })
      await search.waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('all?/')
      expect(await search.inputValue()).toBe('all?/')
      await page.keyboard.press('Control+k')
      await palette.fill('edge source')
      await page.getByRole('option', { name: 'edge_logs: entries Source', exact: true }).waitFor()
      expect(await faultsOf(page)).toEqual([])
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'edge_logs' }).waitFor()
      await page.locator('body').press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Run the query').waitFor()
      expect(await faultsOf(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Go to' }).click()
      await palette.fill('new token')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog', { name: 'New token' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Go to' }).click()
      await palette.fill('usage.api')
      await page.keyboard.press('Enter')
      await page.getByRole('textbox', { name: 'SQL of the endpoint' }).click()
      await page.keyboard.press('Control+k')
      await palette.fill('times utc')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'UTC', pressed: true }).waitFor()
    }))

  test('describes the API, and sends a request with the token of the session', () =>
    visit('/', admin(), async (page) => {
      await page.getByRole('link', { name: 'API docs' }).click()
      await page.getByRole('searchbox', { name: 'Search' }).fill('query/logs.all')
      await page.getByText('/api/endpoints/query/logs.all').click()
      const operation = page.locator('details[open]')
      await operation.getByRole('textbox', { name: 'project', exact: true }).fill(projects[0])
      const command = operation.getByRole('region', { name: 'As a command' })
      expect(await command.textContent()).toContain(`query/logs.all?project=${projects[0]}`)
      expect(await page.content()).not.toContain(`X-API-KEY: ${admin().token}`)
      await operation.getByRole('button', { name: 'Send request' }).click()
      await operation.getByText('200 OK').waitFor()
      await operation
        .getByRole('region', { name: 'Body of the response' })
        .getByText(projects[0])
        .first()
        .waitFor()
      await page.getByRole('searchbox', { name: 'Search' }).fill('POST /api/endpoints/check')
      await page.getByText('/api/endpoints/check').click()
      await page.locator('details[open] textarea').fill('{"query":"SELECT nothing"}')
      await page.getByRole('button', { name: 'Send request' }).click()
      await page.getByText('invalid_query').first().waitFor()
    }))

  test('describes the API without a token, but not the endpoints', () =>
    visit('/docs', {}, async (page) => {
      await page.getByText('/api/endpoints/query/{reference}').first().waitFor()
      expect(await page.getByText('query/logs.all').count()).toBe(0)
      await page.getByRole('link', { name: 'Sign in' }).click()
      await page.getByLabel('Access token').waitFor()
    }))

  test('reports that the service cannot be reached, and recovers when it is back', async () => {
    const tab = await openConsole(stage.browser(), stage.service(), '/console/sources', admin())
    await tab.page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()
    await tab.context.setOffline(true)
    await tab.page.getByText('The service cannot be reached.').first().waitFor()
    await tab.page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()
    await tab.context.setOffline(false)
    await tab.page.getByText('The service cannot be reached.').first().waitFor({ state: 'detached' })
    await tab.close()
  })
})

/**
 * Takes pictures of every page of the console in both themes, for docs/images: `node scripts/screenshots.mjs`. It starts a
 * service on a temporary directory and sends the traffic of the demo.
 */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { buildIfStale } from './build-if-stale.mjs'
import { engineEnvironment } from './engine-environment.mjs'
import { ensureChromium } from './ensure-program.mjs'

await buildIfStale()
const { sampleProject, sendDemoLogs } = await import('../bench/traffic/demo-logs.mjs')

const themes = ['light', 'dark']
const images = fileURLToPath(new URL('../docs/images/', import.meta.url))

const customer = 'cus_1007'

const run = async (page) => {
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByText('total', { exact: false }).last().waitFor()
}

/** Name of the picture, address, and the steps before it is taken. */
const pages = (tokenId) => [
  [
    'overview',
    '/',
    async (page) => {
      await page.getByRole('slider', { name: /^Entries in/ }).waitFor()
      await page.getByRole('slider', { name: /^Requests in/ }).waitFor()
    },
  ],
  [
    'endpoints',
    '/console/endpoints',
    async (page) => {
      await page.getByRole('cell', { name: '%' }).first().waitFor()
      await page.getByRole('cell', { name: / old$/ }).first().waitFor()
    },
  ],
  [
    'endpoint',
    `/console/endpoints/usage.api-counts?project=${sampleProject}&interval=minutely&_view=chart`,
    run,
  ],
  ['result', `/console/endpoints/logs.all?project=${sampleProject}`, run],
  [
    'versions',
    '/console/endpoints/functions.errors?_tab=versions',
    (page) => page.locator('.cm-deletedChunk').first().waitFor(),
  ],
  [
    'usage',
    '/console/endpoints/usage.api-counts?_tab=usage',
    (page) => page.getByRole('slider', { name: /^Cache hits in/ }).waitFor(),
  ],
  [
    'cache',
    '/console/endpoints/usage.api-counts?_tab=cache',
    (page) => page.getByText('fresh').first().waitFor(),
  ],
  [
    'new-endpoint',
    '/console/new-endpoint',
    async (page) => {
      await page.getByText('The query is valid.').waitFor()
      await page.getByLabel('Name').fill('shop.requests')
      await run(page)
      await page.getByText('The query is valid.').waitFor()
    },
  ],
  [
    'playground',
    '/console/playground?_view=chart',
    async (page) => {
      await page.getByRole('button', { name: 'edge_logs', exact: true }).click()
      await page.getByRole('button', { name: /^How many requests/ }).click()
      await run(page)
      await page
        .getByRole('button', { name: /^metadata/ })
        .first()
        .waitFor()
      await page.locator('.chart canvas').waitFor()
    },
  ],
  [
    'logs',
    '/console/logs?source=edge_logs&range=1h',
    async (page) => {
      await page.locator('.facets section').first().waitFor()
      await page.locator('.split-legend').waitFor()
      await page.locator('.entry').nth(3).click()
      await page.locator('.json').waitFor()
    },
  ],
  [
    'own-logs',
    `/console/logs?source=shop_api&range=6h&project=${customer}`,
    async (page) => {
      await page.locator('.facets section').first().waitFor()
      await page.locator('.split-legend').waitFor()
      await page.locator('.entry').nth(8).waitFor()
    },
  ],
  [
    'own-logs-entry',
    `/console/logs?source=shop_api&range=6h&project=${customer}&q=level:50`,
    async (page) => {
      await page.locator('.facets section').first().waitFor()
      await page.locator('.entry').nth(1).click()
      await page.locator('.json').waitFor()
    },
  ],
  ['sources', '/console/sources', (page) => page.locator('.spark rect').first().waitFor()],
  ['source', '/console/sources/edge_logs', (page) => page.getByText('metadata.request.path').waitFor()],
  [
    'quarantine',
    '/console/sources/quarantine',
    (page) =>
      page
        .getByRole('cell', { name: /timestamp/ })
        .first()
        .waitFor(),
  ],
  ['tokens', '/console/tokens', (page) => page.getByText('status board').waitFor()],
  [
    'token',
    `/console/tokens/${tokenId}`,
    (page) => page.getByRole('slider', { name: /^Requests in/ }).waitFor(),
  ],
]

/** Pages of a tenant. */
const tenantPages = [
  [
    'tenant-endpoints',
    '/console/endpoints',
    (page) => page.getByRole('link', { name: 'usage.api-counts' }).waitFor(),
  ],
  [
    'tenant-endpoint',
    '/console/endpoints/usage.api-counts?interval=minutely&_view=chart',
    (page) => page.locator('.chart canvas').waitFor(),
  ],
  [
    'tenant-docs',
    '/console/endpoints/logs.all?_tab=docs',
    (page) => page.getByRole('region', { name: 'Parameters' }).waitFor(),
  ],
  ['tenant-usage', '/console/usage', (page) => page.getByRole('slider', { name: /^Requests in/ }).waitFor()],
]

async function takePictures(url, { admin, tenant, session }) {
  const browser = await chromium.launch({
    executablePath: ensureChromium(),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  for (const theme of themes) {
    const context = await browser.newContext({
      baseURL: url,
      colorScheme: theme,
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
    })
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    await page.goto('/')
    await page.screenshot({ path: `${images}${theme}/sign-in.png` })
    const take = async ([name, path, prepare]) => {
      await page.goto(path)
      await prepare(page)
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      await page.locator('.figure dd', { hasText: /^…$/ }).first().waitFor({ state: 'detached' })
      await page.mouse.move(0, 0)
      await page.waitForTimeout(500)
      await page.screenshot({ path: `${images}${theme}/${name}.png` })
      console.error(`${name} ${theme}`)
    }
    const visits = [
      [admin, pages(tenant.id)],
      [tenant.token, tenantPages],
    ]
    for (const [token, visited] of visits) {
      await page.evaluate(
        (value) => fetch('/auth/token', { method: 'POST', headers: { 'X-API-KEY': value } }),
        token,
      )
      for (const one of visited) await take(one)
    }
    await page.setViewportSize({ width: 800, height: 360 })
    await take([
      'embed',
      `/embed/usage.api-counts?interval=minutely&_theme=${theme}#token=${session}`,
      () => page.locator('.chart canvas').waitFor(),
    ])
    await context.close()
  }
  await browser.close()
}

async function send(method, path, body, token = service.adminToken.token) {
  const headers = { 'X-API-KEY': token, ...(body && { 'Content-Type': 'application/json' }) }
  const response = await fetch(service.url + path, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}.`)
  return response.status === 204 ? undefined : response.json()
}

async function createTokens() {
  const create = (token) => send('POST', '/api/access-tokens', token)
  await create({ description: 'status board', scopes: ['query'], requests_per_minute: 600 })
  await create({ description: 'edge workers', scopes: ['ingest:edge_logs'] })
  const tenant = await create({
    description: 'acme dashboard',
    scopes: ['query'],
    project: sampleProject,
    parameters: { project_tier: 'PRO' },
    requests_per_minute: 600,
  })
  const session = await send('POST', `/api/access-tokens/${tenant.id}/session`, { minutes: 720 })
  return { tenant, session: session.token }
}

/** Creates versions to compare, and a rejected entry. */
async function createVersions() {
  const query = (columns) =>
    `SELECT\n    function_id,\n    ${columns}\nFROM function_edge_logs\nWHERE project = @project AND timestamp > @now - INTERVAL 7 DAY\nGROUP BY function_id\nORDER BY function_id`
  await send('POST', '/api/endpoints', {
    name: 'functions.errors',
    description: 'Failed invocations of a project by function.',
    query: query('countIf(status_code >= 500) AS errors'),
    parameters: { project: { required: true, description: 'Project reference.' } },
  })
  await send('PATCH', '/api/endpoints/functions.errors', {
    query: query('countIf(status_code >= 400) AS errors,\n    count() AS invocations'),
    cache_seconds: 60,
  })
  const rejected = { timestamp: 'yesterday', project: sampleProject, event_message: 'no time' }
  await send('POST', '/api/logs?source=edge_logs', [rejected]).catch(() => {})
}

/** Entries as an API writes them with pino. */
async function sendOwnLogs() {
  const description = "The shop's API, sent with pino."
  await send('POST', '/api/sources', { name: 'shop_api', description, project: 'customer.id' })
  const routes = ['/v1/checkout', '/v1/cart', '/v1/orders/:id', '/v1/products']
  const entries = Array.from({ length: 4_000 }, (_, n) => {
    const random = (max) => Math.floor(Math.abs(Math.sin(n * 7 + max)) * max)
    const id = n % 80 === 7 ? customer : `cus_${1000 + random(300)}`
    const isError = random(100) < (id === customer ? 25 : 4)
    return {
      ...{ time: Date.now() - n * 4_300, level: isError ? 50 : random(40) === 0 ? 40 : 30 },
      ...{ pid: 42, hostname: `api-${random(3)}`, version: random(10) < 4 ? '2.14.0' : '2.13.2' },
      ...{ customer: { id, tier: random(3) === 0 ? 'gold' : 'free' } },
      region: random(5) < 3 ? 'eu-west-1' : 'us-east-1',
      req: { id: `req-${n}`, method: random(2) === 0 ? 'GET' : 'POST', url: routes[random(4)] },
      res: { statusCode: isError ? 503 : 200 },
      ...{ responseTime: random(40_000) / 100, msg: 'request completed' },
      ...(isError && {
        trace_id: `4bf92f3577b34da6a3ce92${String(n).padStart(10, '0')}`,
        err: {
          type: 'Error',
          message: n % 2 ? 'connect ECONNREFUSED 10.0.3.7:5432' : 'timed out after 3000 ms',
        },
      }),
    }
  })
  for (let at = 0; at < entries.length; at += 1_000) {
    await send('POST', '/api/logs?source=shop_api', entries.slice(at, at + 1_000))
  }
}

/** The clock of the service starts in the past, so that charts over time have more than one point. */
let behindMs = 50 * 60_000

/** Creates request statistics to show, some of them of failures. */
async function queryEndpoints(tenant) {
  const queries = [
    'usage.api-counts?interval=minutely&',
    'functions.invocation-stats?interval=1hr&',
    'logs.all?',
  ]
  const stepMs = behindMs / 100
  for (let round = 0; round < 100; round++) {
    behindMs -= stepMs
    const query = queries[round % 7 === 0 ? 2 : round % 2]
    if (round % 3 === 0) await send('GET', `/api/endpoints/query/${query}`, undefined, tenant.token)
    else await send('GET', `/api/endpoints/query/${query}project=${sampleProject}`)
    if (round % 16 === 0) {
      const wrong = '/api/endpoints/query/usage.api-counts?interval=weekly'
      await send('GET', wrong, undefined, tenant.token).catch(() => {})
    }
  }
  behindMs = 0
  // Statistics are stored every few seconds.
  await new Promise((resolve) => setTimeout(resolve, 12_000))
}

/** Results from before lack the newest entries. */
async function cacheNewResults(tenant) {
  await send('DELETE', '/api/endpoints/usage.api-counts/cache')
  const query = '/api/endpoints/query/usage.api-counts?interval=minutely'
  for (let request = 0; request < 3; request++) {
    await send('GET', `${query}&project=${sampleProject}`)
    await send('GET', query, undefined, tenant.token)
  }
}

for (const theme of themes) mkdirSync(`${images}${theme}`, { recursive: true })
const { WELLHEAD_ENGINE_NODE: engineNode } = await engineEnvironment()
const { openService } = await import('../bench/support/service.mjs')
const service = await openService({
  engineNode: engineNode ?? process.execPath,
  patience: engineNode ? 60 : 1,
  clock: { now: () => Date.now() - behindMs },
})
try {
  const nowMs = Date.now() - behindMs
  await sendDemoLogs(service.url, service.adminToken.token, { nowMs })
  const { tenant, session } = await createTokens()
  await createVersions()
  await queryEndpoints(tenant)
  const forMs = Date.now() - nowMs
  await sendDemoLogs(service.url, service.adminToken.token, { forMs })
  await cacheNewResults(tenant)
  await sendOwnLogs()
  await takePictures(service.url, { admin: service.adminToken.token, tenant, session })
} finally {
  await service.close()
}

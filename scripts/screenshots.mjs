/**
 * Takes pictures of every page of the console in both themes, for docs/images: `node scripts/screenshots.mjs`. It starts a
 * service on a temporary directory and sends the traffic of the demo.
 */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { buildIfStale } from './build-if-stale.mjs'
import { engineEnvironment } from './engine-environment.mjs'
import { ensureChromium } from './ensure-chromium.mjs'

await buildIfStale()
const { sampleProject, sendDemoLogs } = await import('../bench/traffic/demo-logs.mjs')

const themes = ['light', 'dark']
const images = fileURLToPath(new URL('../docs/images/', import.meta.url))

const run = async (page) => {
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByText('total', { exact: false }).last().waitFor()
}

/** Name of the picture, address, and the steps before it is taken. */
const pages = [
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
    'explore',
    '/console/explore?source=edge_logs&range=1h',
    async (page) => {
      await page.locator('.entry').nth(3).click()
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
]

async function takePictures(url, token) {
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
    await page.getByLabel('Access token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    for (const [name, path, prepare] of pages) {
      await page.goto(path)
      await prepare(page)
      await page.locator('.figure dd', { hasText: /^…$/ }).first().waitFor({ state: 'detached' })
      await page.waitForTimeout(500)
      await page.screenshot({ path: `${images}${theme}/${name}.png` })
      console.error(`${name} ${theme}`)
    }
    await context.close()
  }
  await browser.close()
}

async function send(method, path, body) {
  const headers = { 'X-API-KEY': service.adminToken.token, 'Content-Type': 'application/json' }
  const { ok, status } = await fetch(service.url + path, { method, headers, body: JSON.stringify(body) })
  if (!ok) throw new Error(`${method} ${path} returned ${status}.`)
}

async function createTokens() {
  const create = (token) => send('POST', '/api/access-tokens', token)
  await create({ description: 'status board', scopes: ['query'], requests_per_minute: 600 })
  await create({
    description: 'acme dashboard',
    scopes: ['query:logs.all', 'query:usage.api-counts'],
    project: sampleProject,
    parameters: { project_tier: 'PRO' },
  })
  await create({ description: 'edge workers', scopes: ['ingest:edge_logs'] })
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

/** Creates request statistics to show. */
async function queryEndpoints() {
  const queries = [
    'usage.api-counts?interval=minutely&',
    'functions.invocation-stats?interval=1hr&',
    'logs.all?',
  ]
  for (let round = 0; round < 40; round++) {
    const query = queries[round % 7 === 0 ? 2 : round % 2]
    await send('GET', `/api/endpoints/query/${query}project=${sampleProject}`)
  }
  // Statistics are stored every few seconds.
  await new Promise((resolve) => setTimeout(resolve, 12_000))
}

for (const theme of themes) mkdirSync(`${images}${theme}`, { recursive: true })
const { WELLHEAD_ENGINE_NODE: engineNode } = await engineEnvironment()
const { openService } = await import('../bench/support/service.mjs')
const service = await openService({
  engineNode: engineNode ?? process.execPath,
  patience: engineNode ? 60 : 1,
})
try {
  await sendDemoLogs(service.url, service.adminToken.token)
  await createTokens()
  await createVersions()
  await queryEndpoints()
  await takePictures(service.url, service.adminToken.token)
} finally {
  await service.close()
}

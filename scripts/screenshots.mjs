/**
 * Takes pictures of every page of the console in both themes, for docs/images: `node scripts/screenshots.mjs`. It starts
 * a service of its own on a directory that goes with it, with traffic that is the same in every run.
 */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { buildIfStale } from './build-if-stale.mjs'
import { engineEnvironment } from './engine-environment.mjs'
import { ensureChromium } from './ensure-chromium.mjs'
import { sampleProject, sendSampleTraffic } from './support/sample-traffic.mjs'

const images = fileURLToPath(new URL('../docs/images/', import.meta.url))

const run = async (page) => {
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByText('in all').waitFor()
}

/** Name of the picture, address, and what is done there first. */
const pages = [
  [
    'overview',
    '/',
    async (page) => {
      await page.locator('.spark').first().waitFor()
      // Figures of calls come last.
      await page.getByText('in the last hour').waitFor()
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
    'new-endpoint',
    '/console/new-endpoint',
    async (page) => {
      await page.getByText('The query compiles.').waitFor()
      await page.getByLabel('Name').fill('shop.requests')
      await run(page)
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
  for (const theme of ['light', 'dark']) {
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
    await page.screenshot({ path: `${images}sign-in-${theme}.png` })
    await page.getByLabel('Access token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    for (const [name, path, prepare] of pages) {
      await page.goto(path)
      await prepare(page)
      await page.locator('.figure dd', { hasText: /^…$/ }).first().waitFor({ state: 'detached' })
      await page.waitForTimeout(500)
      await page.screenshot({ path: `${images}${name}-${theme}.png` })
      console.error(`${name} ${theme}`)
    }
    await context.close()
  }
  await browser.close()
}

/** So that there are versions to compare, and an entry that was rejected. */
async function makeVersions(url, token) {
  const send = async (method, path, body) => {
    const headers = { 'X-API-KEY': token, 'Content-Type': 'application/json' }
    const { ok, status } = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
    if (!ok) throw new Error(`${method} ${path} was answered with ${status}.`)
  }
  const query = (columns) =>
    `SELECT\n    function_id,\n    ${columns}\nFROM function_edge_logs\nWHERE project = @project\nGROUP BY function_id\nORDER BY function_id`
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
  await fetch(`${url}/api/logs?source=edge_logs`, {
    method: 'POST',
    headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
    body: JSON.stringify([{ timestamp: 'yesterday', project: sampleProject, event_message: 'no time' }]),
  })
}

/** So that there are calls to show. */
async function callEndpoints(url, token) {
  const calls = [
    'usage.api-counts?interval=minutely&',
    'functions.invocation-stats?interval=1hr&',
    'logs.all?',
  ]
  for (let round = 0; round < 40; round++) {
    const call = calls[round % 7 === 0 ? 2 : round % 2]
    await fetch(`${url}/api/endpoints/query/${call}project=${sampleProject}`, {
      headers: { 'X-API-KEY': token },
    })
  }
  // Statistics are written down every few seconds.
  await new Promise((resolve) => setTimeout(resolve, 12_000))
}

await buildIfStale()
mkdirSync(images, { recursive: true })
const { WELLHEAD_ENGINE_NODE: engineNode } = await engineEnvironment()
const { openService } = await import('../bench/support/service.mjs')
const service = await openService({
  engineNode: engineNode ?? process.execPath,
  patience: engineNode ? 60 : 1,
})
try {
  const { token } = service.adminToken
  await sendSampleTraffic(service.url, token, Date.now())
  await makeVersions(service.url, token)
  await callEndpoints(service.url, token)
  await takePictures(service.url, token)
} finally {
  await service.close()
}

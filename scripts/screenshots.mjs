/**
 * Takes pictures of every page of the console in both themes, for docs/images: `node scripts/screenshots.mjs`. It starts
 * a service of its own on a directory that goes with it, with traffic that is the same in every run.
 */
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { buildIfStale } from './build-if-stale.mjs'
import { ensureChromium } from './ensure-chromium.mjs'
import { ensureEngine } from './ensure-engine.mjs'
import { sampleProject, sendSampleTraffic } from './support/sample-traffic.mjs'

const images = fileURLToPath(new URL('../docs/images/', import.meta.url))

const run = async (page) => {
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByText('in all').waitFor()
}

/** Name of the picture, address, and what is done there first. */
const pages = [
  ['overview', '/', (page) => page.locator('.spark').first().waitFor()],
  ['endpoints', '/console/endpoints', (page) => page.getByRole('cell', { name: '%' }).first().waitFor()],
  [
    'endpoint',
    `/console/endpoints/usage.api-counts?project=${sampleProject}&interval=minutely&_view=chart`,
    run,
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
      await page.waitForTimeout(500)
      await page.screenshot({ path: `${images}${name}-${theme}.png` })
      console.error(`${name} ${theme}`)
    }
    await context.close()
  }
  await browser.close()
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
const engineNode = await ensureEngine()
const { openService } = await import('../bench/support/service.mjs')
const service = await openService({
  engineNode: engineNode ?? process.execPath,
  patience: engineNode ? 60 : 1,
})
try {
  const { token } = service.adminToken
  await sendSampleTraffic(service.url, token, Date.now())
  await callEndpoints(service.url, token)
  await takePictures(service.url, token)
} finally {
  await service.close()
}

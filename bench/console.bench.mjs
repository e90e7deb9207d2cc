/**
 * The console: bytes transferred for a first view, and the time from the click on Run to the painted result compared
 * with the time of the request.
 */
import { chromium } from 'playwright-core'
import { ensureChromium } from '../scripts/ensure-program.mjs'
import { quantile } from './support/figures.mjs'
import { comparison, observation } from './support/result.mjs'
import { openService } from './support/service.mjs'
import { sampleProject, sendDemoLogs } from './traffic/demo-logs.mjs'

const endpoints = [
  ['usage.api-counts', `project=${sampleProject}&interval=minutely`],
  ['functions.invocation-stats', `project=${sampleProject}&interval=5min`],
  ['logs.all', `project=${sampleProject}`],
]

/** Runs in the page: clicks Run, waits until the result is painted, and returns both times. */
const clickToPaint = `new Promise((resolve) => {
  const cost = document.querySelector('.cost')
  const since = performance.now()
  const watcher = new MutationObserver(() => {
    if (!/ total/.test(document.querySelector('.cost')?.textContent ?? '')) return
    watcher.disconnect()
    requestAnimationFrame(() => setTimeout(() => {
      const [call] = performance.getEntriesByType('resource').filter(({ name }) => /endpoints\\/query/.test(name)).slice(-1)
      resolve({ paintedMs: performance.now() - since, callMs: call.duration })
    }))
  })
  watcher.observe(document.getElementById('main'), { subtree: true, childList: true, characterData: true })
  ;[...document.querySelectorAll('button')].find(({ textContent }) => /^Run/.test(textContent)).click()
})`

export const about = 'the console in a browser'

export async function run({ engineNode, patience, choose }) {
  const rounds = choose({ full: 30, quick: 5, emulated: 10 })
  const service = await openService({ engineNode, patience })
  const browser = await chromium.launch({
    executablePath: ensureChromium(),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const { token } = service.adminToken
    await sendDemoLogs(service.url, token)
    const views = await firstViews(browser, service.url, token)
    const paints = await timesToPaint(browser, service.url, token, rounds)
    return {
      tables: [
        {
          id: 'views',
          title: 'Bytes transferred for a first view',
          compares: 'Compressed, with an empty cache.',
          engine: 'no part',
          first: 'view',
          rows: views,
        },
        {
          id: 'paint',
          title: 'Time from the click on Run to the painted result',
          compares: 'Total time until the result is painted, and the part of it that is not the request.',
          engine: 'no part',
          rows: paints,
        },
      ],
    }
  } finally {
    await browser.close()
    await service.close()
  }
}

async function openPage(browser, url, token) {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  if (token) await page.addInitScript(`sessionStorage.setItem('wellhead.token', ${JSON.stringify(token)})`)
  return page
}

async function firstViews(browser, url, token) {
  const rows = []
  for (const [name, path, given, ready] of [
    ['sign in', '/', undefined, 'h1'],
    ['overview', '/', token, '.chart canvas'],
    ['logs', '/console/logs', token, '.entry'],
    ['an endpoint, with its editor', '/console/endpoints/logs.all', token, '.cm-content'],
  ]) {
    const page = await openPage(browser, url, given)
    await page.goto(path)
    await page.locator(ready).first().waitFor()
    const files = await page.evaluate(
      `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter(({ name }) => !/\\/api\\//.test(name)).map(({ transferSize }) => transferSize)`,
    )
    const bytes = files.reduce((sum, size) => sum + size, 0)
    rows.push(observation(name, { files: files.length, kB: bytes / 1000 }))
    await page.context().close()
  }
  return rows
}

async function timesToPaint(browser, url, token, rounds) {
  const rows = []
  for (const [name, query] of endpoints) {
    const page = await openPage(browser, url, token)
    await page.goto(`/console/endpoints/${name}?${query}`)
    // The page runs the query once by itself.
    await page.locator('.cost', { hasText: ' total' }).waitFor()
    const added = []
    const painted = []
    for (let round = 0; round <= rounds; round++) {
      const { paintedMs, callMs } = await page.evaluate(clickToPaint)
      // The first round loads and compiles code.
      if (round === 0) continue
      painted.push(paintedMs)
      added.push(paintedMs - callMs)
    }
    rows.push(
      comparison({
        name,
        unit: 'ms',
        sides: { 'added to the call': added, 'in all': painted },
        over: false,
        more: { 'p95 added, ms': quantile(added, 0.95) },
      }),
    )
    await page.context().close()
  }
  return rows
}

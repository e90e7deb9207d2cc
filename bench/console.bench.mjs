/**
 * The console: bytes transferred for a first view, and the time from the click on Run to the painted result compared
 * with the time of the request. Also searches and facets over a million entries, with and without the index of words, and
 * the merges that build it.
 *
 * BENCH_ROWS: entries of each source that is searched.
 */
import { chromium } from 'playwright-core'
import { ensureChromium } from '../scripts/ensure-program.mjs'
import { numberFrom, quantile } from './support/figures.mjs'
import { command, partsOf } from './support/measured-tables.mjs'
import { comparison, observation } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'
import { sampleProject, sendDemoLogs } from './traffic/demo-logs.mjs'
import { fillSource, rareWord } from './traffic/searched-logs.mjs'

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
  const rounds = choose({ full: 10, quick: 5 })
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
    const entries = numberFrom('BENCH_ROWS', choose({ full: 200_000, quick: 50_000, emulated: 50_000 }))
    return {
      tables: [
        ...(await searches(service, entries, choose({ full: 5, quick: 3 }))),
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
  // Sets the cookie of a session.
  if (token) await context.request.post('/auth/token', { headers: { 'X-API-KEY': token } })
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

/** The same searches in two sources with like entries, of which one has no index of words. */
async function searches({ engine, url, adminToken }, entries, rounds) {
  const ask = async (path, body) => {
    const response = await fetch(`${url}/api/sources${path}`, {
      method: 'POST',
      headers: { 'X-API-KEY': adminToken.token, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    return response.json()
  }
  const sources = { indexed: 'bench_words', plain: 'bench_scanned' }
  for (const name of Object.values(sources)) await ask('', { name, search_index: name === sources.indexed })
  const built = {}
  for (const [side, name] of Object.entries(sources)) {
    const table = `${engine.database}.${name}`
    await fillSource(engine, table, entries)
    const since = performance.now()
    await command(engine, `OPTIMIZE TABLE ${table} FINAL`)
    const { bytes } = await partsOf(engine, table)
    built[side] = { merge: ((performance.now() - since) * 1000) / entries, bytes: bytes / entries }
  }
  const from = new Date(Date.now() - 86_400_000).toISOString()
  const cases = {
    'a rare word': ['search', { query: rareWord, from }],
    'a part of a rare word': ['search', { query: 'connref', from }],
    'a word that no entry has': ['search', { query: 'nowhere_to_be_found', from }],
    'a frequent word': ['search', { query: 'completed', from }],
    'facets of all entries': ['facets', { from }],
    'facets of a rare word': ['facets', { query: rareWord, from }],
  }
  const rows = []
  for (const [name, [route, body]] of Object.entries(cases)) {
    const timed = (source) => async () => {
      const since = performance.now()
      await ask(`/${source}/${route}`, body)
      return performance.now() - since
    }
    const sides = await alternate(
      { 'with the index': timed(sources.indexed), 'without it': timed(sources.plain) },
      rounds,
    )
    rows.push(comparison({ name, unit: 'ms', sides }))
  }
  const cost = (name, unit, figure) =>
    comparison({
      name,
      unit,
      sides: { 'with the index': [figure(built.indexed)], 'without it': [figure(built.plain)] },
    })
  return [
    {
      id: 'searches',
      title: `Searches over ${entries.toLocaleString('en')} entries`,
      compares: 'Time with the index of words, divided by the time without it. All entries are merged.',
      rows,
    },
    {
      id: 'words',
      title: 'The index of words',
      compares: 'One merge of all entries, and their size on disk, with and without the index.',
      each: true,
      rows: [
        cost('a merge with the index of words', 'µs per entry', ({ merge }) => merge),
        cost('disk with the index of words', 'bytes per entry', ({ bytes }) => bytes),
      ],
    },
  ]
}

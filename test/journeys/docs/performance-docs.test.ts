import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

// Scripts have no types, and the compiler wants some of what it can find.
const load = (path: string) => import(new URL(path, import.meta.url).href)
const { pageWith, scalingWith } = await load('../../../scripts/support/performance-page.mjs')
const { comparison, judged, observation } = await load('../../../bench/support/result.mjs')
const { alternate, ratioOf } = await load('../../../bench/support/rounds.mjs')
const { sumUp } = await load('../../../bench/support/cpu-profile.mjs')
const { textOf } = await load('../../../bench/support/text-report.mjs')

const docs = new URL('../../../docs/operations/', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, docs), 'utf8')

const rows = [0.9, 0.7, 0.85].map((ratio, i) =>
  comparison({
    name: `case <${i}>`,
    unit: 'calls/s',
    sides: { wellhead: [1000 * ratio, 1010 * ratio, 990 * ratio], bare: [1000, 1000, 1000] },
    aim: { atLeast: 0.8 },
    more: { 'p50, ms': 1.234, how: 'a | b' },
  }),
)
const tables = [
  { id: 'bare', title: 'Against bare', compares: 'One over the other.', rows },
  { id: 'each', title: 'One by one', each: true, rows: rows.slice(0, 1) },
  { id: 'seen', title: 'Seen', first: 'what', rows: [observation('memory', { MB: 123.456 })] },
  {
    id: 'alone',
    title: 'Alone',
    rows: [comparison({ name: 'start | aimed', unit: 's', sides: { here: [2.5] }, aim: { atMost: 2 } })],
  },
]
const result = { name: 'hits', about: 'cached calls', seconds: 12.4, tables }
const failed = { name: 'queries', about: 'queries', tables: [], failed: 'no disk\nat all' }
const run = {
  machine: { date: '2026-01-01', node: 'v20' },
  emulated: false,
  quick: false,
  results: [result, failed],
}
const empty = ['machine', 'figures']
  .map((name) => `# ${name}\n<!-- bench:${name} -->\nold\n<!-- /bench:${name} -->\n`)
  .join('')

const bench = new URL('../../../bench/', import.meta.url)

test('every benchmark and the processes that it starts can be loaded', async () => {
  const files = readdirSync(bench, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.mjs'))
  for (const file of files.filter((name) => name.endsWith('.bench.mjs'))) {
    expect(await load(new URL(file, bench).href)).toMatchObject({ about: expect.any(String) })
  }
  const started = files.flatMap((file) => {
    const text = readFileSync(new URL(file, bench), 'utf8')
    const names = [...text.matchAll(/new URL\('([^']+)', import\.meta\.url\)/g)].map(([, name]) => name)
    return names.map((name) => new URL(name as string, new URL(file, bench)))
  })
  expect(started.length).toBeGreaterThan(3)
  expect(started.filter((url) => !existsSync(url))).toEqual([])
}, 60_000)

test('every benchmark runs for some seconds without an error', async () => {
  const script = fileURLToPath(new URL('../../../scripts/bench.mjs', import.meta.url))
  const names = readdirSync(bench).flatMap((file) => /^(.+)\.bench\.mjs$/.exec(file)?.[1] ?? [])
  const environment = { ...process.env, BENCH_ROWS: '1000', WELLHEAD_LOG_LEVEL: 'error' }
  const args = [script, '--quick', '--seconds', '2', ...names]
  const run = promisify(execFile)(process.execPath, args, { env: environment, maxBuffer: 2 ** 24 })
  const { stdout } = await run.catch((error) => ({ stdout: `${error.stdout}\n${error.stderr}` }))
  expect(stdout).not.toContain('FAILED')
  for (const name of names) expect(stdout).toContain(`== ${name}: `)
}, 600_000)

describe('the page on performance', () => {
  test('has the figures between its marks, and keeps what stands around them', () => {
    const page = pageWith(empty, run)
    expect(page).toContain('# figures\n<!-- bench:figures -->\n')
    expect(page.replace(/ {2,}/g, ' ')).toContain(
      '| `hits`, 12 s | One over the other. | 0.85 (0.70–0.90), 3 cases | ≥ 0.80: reached in 2 of 3 |\n' +
        '| | case <0> | 900 (891–909) calls/s, 0.90 (0.89–0.91) × bare | ≥ 0.80: reached |\n' +
        '| | start \\| aimed | 2.50 s | ≤ 2: missed |\n' +
        '| `queries` | failed: no disk | | |\n',
    )
    expect(page).not.toContain('memory')
    expect(page).not.toContain('old')
    expect(pageWith(page, run)).toBe(page)
  })

  test('must have a place for every part', () => {
    expect(() => pageWith('# nothing', run)).toThrow('machine, figures')
  })

  test('is what the figures beside it make', () => {
    const measured = JSON.parse(read('performance.json'))
    expect(pageWith(read('performance.md'), measured)).toBe(read('performance.md'))
  })

  test('has two pages, at most 1,300 words and figures', () => {
    expect(read('performance.md').match(/[\p{L}\d]\S*/gu)?.length).toBeLessThan(1_300)
  })
})

describe('the page on scaling', () => {
  test('computes with the figures of the run', () => {
    const measured = JSON.parse(read('performance.json'))
    expect(scalingWith(read('../scaling.md'), measured)).toBe(read('../scaling.md'))
  })

  test('names where its figures come from, and what the run must have', () => {
    const { results } = JSON.parse(read('performance.json')) as { results: BenchResult[] }
    const live = results.find(({ name }) => name === 'live')
    const streams = live?.tables.find(({ id }) => id === 'streams')
    expect(streams?.rows.map(({ name }) => name)).toContain('500, each of one project')
    expect(() => scalingWith(read('../scaling.md'), { results: [] })).toThrow('bytes of an entry as sent')
    expect(() => scalingWith('# nothing', { results })).toThrow('must have "bytes of an entry as sent')
  })
})

interface BenchResult {
  name: string
  tables: { id: string; rows: { name: string }[] }[]
}

describe('what a benchmark tells', () => {
  test('a round to warm is not counted, and the order turns around', async () => {
    const order: string[] = []
    const side = (name: string) => async (round: number) => {
      order.push(name)
      return round <= 2 || name === 'a' ? round : undefined
    }
    const results = await alternate({ a: side('a'), b: side('b') }, 3)
    expect(results).toEqual({ a: [1, 2, 3], b: [1, 2] })
    expect(order.join('')).toBe('abbaabba')
    expect(ratioOf([2, 6, 8], [1, 2])).toEqual({ median: 3, least: 2, most: 3, rounds: 2 })
  })

  test('an emulated engine reaches no aim and misses none', () => {
    const engineless = { ...tables[0], engine: 'no part' }
    const told = judged({ tables: [tables[0], engineless] }, true)
    expect(told.tables[0].rows.map((row: { reached: boolean }) => row.reached)).toEqual([null, null, null])
    expect(told.tables[1].rows.map((row: { reached: boolean }) => row.reached)).toEqual([true, false, true])
  })

  test('a profile is summed up by layer and function, within its window and without rest', () => {
    const root = new URL('../../../', import.meta.url).href
    const frames = [
      { functionName: '(idle)', url: '' },
      { functionName: 'answer', url: `${root}build/http/hot-lane.js` },
      { functionName: 'write', url: `${root}node_modules/pino/lib/x.js` },
      { functionName: '_send', url: 'node:_http_outgoing' },
      { functionName: '(garbage collector)', url: '' },
    ]
    const profile = {
      startTime: 0,
      nodes: frames.map((callFrame, id) => ({ id, callFrame })),
      samples: [1, 0, 1, 2, 3, 4, 1],
      timeDeltas: [1000, 1000, 1000, 1000, 2000, 500, 9000],
    }
    const { busyMs, layers, functions } = sumUp(profile, { fromMicros: 1500, toMicros: 8000 })
    expect(busyMs).toBe(4.5)
    expect(layers).toEqual([
      { name: 'Node: HTTP', ms: 2 },
      { name: 'Wellhead: http', ms: 1 },
      { name: 'library pino', ms: 1 },
      { name: 'garbage collector', ms: 0.5 },
    ])
    expect(functions[1]).toEqual({ name: 'answer build/http/hot-lane.js', ms: 1 })
  })

  test('failures and what was left out are told as such', () => {
    expect(textOf({ ...result, failed: 'no wrk' })).toContain('FAILED: no wrk')
    expect(textOf({ ...result, skipped: 'no wrk' })).toContain('Left out: no wrk')
    expect(textOf(result)).toContain('case <1>  700 (693–707)')
  })

  test('a figure without a number is told as such', () => {
    const nothing = { median: null, least: null, most: null, rounds: 3 }
    const rows = [{ name: 'idle', unit: 'ms', sides: { here: nothing }, ratio: nothing }]
    expect(textOf({ ...result, tables: [{ id: 'idle', title: 'Idle', rows }] })).toContain('– (–––)')
  })
})

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { createElement, StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { build } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type WellheadError } from '../../../client/client.ts'
import { useEndpoint, useLiveEndpoint } from '../../../client/react.ts'
import { makeToken } from '../../support/callers.ts'
import { runCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { collectComplaints, newContext } from './stage/browser.ts'
import { openStage } from './stage/stage.ts'

const stage = openStage()
const repository = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)
/** An empty folder with the packed package. */
const { path: folder, remove } = scratchDirectory()
afterAll(remove)
let token: string
let archive: string

beforeAll(async () => {
  const installed = join(folder, 'node_modules/@wellhead/client')
  mkdirSync(installed, { recursive: true })
  const packed = await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], {
    cwd: join(repository, 'client'),
  })
  archive = join(folder, packed.stdout.trim())
  await run('tar', ['xzf', archive, '-C', installed, '--strip-components=1'])
  for (const name of ['react', 'react-dom', '@types', 'csstype']) {
    symlinkSync(join(repository, 'node_modules', name), join(folder, 'node_modules', name))
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const parameters = {
    project: { required: true },
    size: { enum: ['s', 'm'] },
    days: { type: 'integer', default: 1 },
  }
  await stage.asAdmin('POST', '/api/endpoints', {
    ...{ name: 'client.sizes', published: true, cache_seconds: 60, parameters },
    query:
      "SELECT @size AS size, toInt32(@days) AS days, toDateTime('2026-01-01 00:00:00') AS at, ['a'] AS tags, @project AS owner, " +
      'count() AS sizes, sumOrNull(1) AS total, 1::UInt128 AS large',
  })
  await stage.asAdmin('POST', '/api/endpoints', {
    ...{ name: 'client.days', published: true, parameters: { days: { type: 'integer', required: true } } },
    ...{ query: 'SELECT number AS day FROM numbers(3) WHERE day < @days', cache_seconds: 60, max_rows: 2 },
  })
  await stage.asAdmin('POST', '/api/endpoints', {
    ...{ name: 'client.one', published: true, query: 'SELECT 1 AS one' },
  })
  const scopes = ['query:client.sizes', 'query:client.days', 'query:client.one']
  token = (await makeToken(stage.service(), { scopes, project: 'client-a' })).token
})

test('types complete names, parameters and rows', async () => {
  const { url } = stage.service()
  const environment = { WELLHEAD_URL: url, WELLHEAD_TOKEN: token }
  const written = await runCommand(['types'], { cwd: folder, environment })
  expect(written).toMatchObject({ code: 0, stdout: 'wellhead-endpoints.d.ts: 3 endpoints\n' })
  writeFileSync(
    join(folder, 'use.ts'),
    `import { createClient, WellheadError } from '@wellhead/client'
import { useEndpoint } from '@wellhead/client/react'
const client = createClient({ url: 'x', getToken: async () => 'y' })
const rows = await client.call('client.sizes', { size: 's', days: 2 })
const size: string | null | undefined = rows[0]?.size
const days: number | undefined = rows[0]?.days
const tags: string[] | undefined = rows[0]?.tags
const sizes: number | undefined = rows[0]?.sizes
const total: number | null | undefined = rows[0]?.total
const large: number | string | undefined = rows[0]?.large
// @ts-expect-error can exceed what a number holds
const small: number | undefined = rows[0]?.large
client.follow('client.sizes', {}, (live) => live[0]?.at.toUpperCase())
export const error = (given: unknown) => given instanceof WellheadError && given.code
export const hook = () => useEndpoint(client, 'client.sizes', { size: 'm' }).rows?.[0]?.owner
// @ts-expect-error unknown endpoint
client.call('no.such')
// @ts-expect-error not one of its values
client.call('client.sizes', { size: 'xl' })
// @ts-expect-error unknown column
rows[0]?.absent
const days3 = await client.call('client.days', { days: 3 }, { signal: new AbortController().signal })
const isCut: boolean = days3.truncated
const [one] = await client.call('client.one')
client.follow('client.days', { days: 3 }, ({ truncated }) => console.log(truncated, isCut, one?.one))
// @ts-expect-error the parameters are missing
client.call('client.days')
// @ts-expect-error one parameter is missing
client.call('client.days', {})
// @ts-expect-error not a number
client.call('client.days', { days: '3' })
// @ts-expect-error unknown parameter
client.call('client.days', { days: 3, hours: 1 })
// @ts-expect-error unknown parameter of an endpoint without parameters
client.call('client.one', { days: 3 })
// @ts-expect-error unknown parameter of a stream
client.follow('client.one', { days: 3 }, () => {})
// @ts-expect-error one parameter is missing
export const missing = () => useEndpoint(client, 'client.days', {})
console.log(size, days, tags, sizes, total, large, small)
`,
  )
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--types', 'react']
  const files = ['use.ts', 'wellhead-endpoints.d.ts']
  for (const modules of [
    ['--module', 'nodenext'],
    ['--module', 'esnext', '--moduleResolution', 'bundler'],
  ]) {
    const checked = await runTool('typescript/bin/tsc', [...modules, ...flags, ...files])
    expect(checked, modules.join(' ')).toBe('')
  }
})

/** What a command of a package of the checkout prints if it fails, and otherwise nothing. */
const runTool = (path: string, args: string[]) =>
  run(process.execPath, [join(repository, 'node_modules', path), ...args], { cwd: folder }).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  )

test('the package has what bundlers and compilers expect, and nothing else', async () => {
  const { stdout } = await run('tar', ['tzf', archive])
  const parts = ['client', 'pino', 'react'].flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`])
  const files = ['LICENSE', 'README.md', ...parts, 'package.json'].map((name) => `package/${name}`)
  expect(stdout.trim().split('\n').toSorted()).toEqual(files)
  const installed = join(folder, 'node_modules/@wellhead/client')
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect(manifest).toMatchObject({ type: 'module', sideEffects: false })
  expect(manifest.dependencies).toBeUndefined()
  expect(await runTool('publint/src/cli.js', ['--strict', installed])).toBe('')
  // It has no CommonJS on purpose: Node 20.19 and newer can require modules.
  expect(await runTool('@arethetypeswrong/cli/dist/index.js', ['--profile', 'esm-only', archive])).toBe('')
})

const program = `
const seen = []
const send = async (url, init) => {
  const response = await fetch(url, init)
  seen.push(response.status)
  return response
}
let tokens = 0
const client = createClient({ url, getToken: () => (tokens++ === 0 ? 'wh_ended' : token), fetch: send })
const [first, second] = await Promise.all([
  client.call('client.sizes', { size: 's' }),
  client.call('client.sizes', { size: 'm' }),
])
const again = await client.call('client.sizes', { size: 's' })
const problem = await client.call('client.sizes', { size: 'xl' }).catch(({ name, code, status, parameter }) => [name, code, status, parameter])
const aborted = await client.call('client.sizes', {}, { signal: AbortSignal.abort() }).catch(({ name }) => name)
const live = await new Promise((resolve, reject) => {
  const stop = client.follow('client.sizes', { size: 'm' }, (rows) => (stop(), resolve(rows)), { onError: reject })
})
const days = (count) => client.call('client.days', { days: count })
const liveDays = await new Promise((resolve, reject) => {
  const stop = client.follow('client.days', { days: 3 }, (rows) => (stop(), resolve(rows)), { onError: reject })
})
const outcome = {
  truncated: [await days(2), await days(3), await days(3), liveDays, live].map((rows) => rows.truncated),
  rows: [first, second, live].map(([row]) => row.size + row.owner),
  same: JSON.stringify(first) === JSON.stringify(again),
  seen: seen.toSorted().join(' '),
  tokens, problem, aborted,
}
`
const expected = {
  rows: ['sclient-a', 'mclient-a', 'mclient-a'],
  same: true,
  truncated: [false, true, true, true, false],
  // Two calls with the token that ended, and their repetitions; then unchanged, refused and live, and the calls of client.days.
  seen: '200 200 200 200 200 200 304 304 400 401 401',
  tokens: 2,
  problem: ['WellheadError', 'invalid_parameter', 400, 'size'],
  aborted: 'AbortError',
}

test('the client runs in Node', async () => {
  const head = `import { createClient } from '@wellhead/client'\nconst [url, token] = process.argv.slice(2)\n`
  writeFileSync(
    join(folder, 'run.mjs'),
    `${head}${program}\nconsole.log(JSON.stringify(outcome))\nprocess.exit()\n`,
  )
  const { stdout } = await run(process.execPath, ['run.mjs', stage.service().url, token], { cwd: folder })
  expect(JSON.parse(stdout)).toEqual(expected)
})

/** Opens a page with this script, as a page of the service. */
async function onScript(script: string, use: (page: Page) => Promise<void>): Promise<void> {
  const context = await newContext(stage.browser(), stage.service())
  try {
    const page = await context.newPage()
    const complaints = collectComplaints(page)
    await page.route('**/page/script.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: script }),
    )
    const body = '<!doctype html><main></main>'
    await page.route('**/page/', (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto('/page/')
    await use(page)
    expect(complaints).toEqual([])
  } finally {
    await context.close()
  }
}

test('the client runs in a browser', async () => {
  const script = readFileSync(join(folder, 'node_modules/@wellhead/client/dist/client.js'), 'utf8')
  await onScript(script, async (page) => {
    const made = `(async () => {
      const { createClient } = await import('/page/script.js')
      const [url, token] = ${JSON.stringify([stage.service().url, token])}
      ${program}
      return outcome
    })()`
    expect(await page.evaluate(made)).toEqual(expected)
  })
})

const strictPage = `
import { createElement as h, StrictMode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { createClient } from '@wellhead/client'
import { useEndpoint, useLiveEndpoint } from '@wellhead/client/react'

const [url, token] = ENVIRONMENT
const clientOf = () => createClient({ url, getToken: () => token })
const seen = []
function Shown({ client, name = 'client.sizes', size }) {
  const loaded = useEndpoint(client, name, { size })
  const live = useLiveEndpoint(client, name, { size })
  const texts = [loaded, live].map(({ rows, error }) => error?.code ?? rows?.map((row) => row.size).join() ?? 'none')
  seen.push(size + ' ' + texts.join(' '))
  return h('p', null, texts.join(' '))
}
const props = { client: clientOf(), size: 's' }
let root
window.steps = {
  seen,
  mount: (changes) => {
    seen.length = 0
    Object.assign(props, changes)
    root ??= createRoot(document.querySelector('main'))
    flushSync(() => root.render(h(StrictMode, null, h(Shown, props))))
  },
  unmount: () => {
    root.unmount()
    root = undefined
    seen.length = 0
  },
  otherClient: () => window.steps.mount({ client: clientOf() }),
}
`

test('the hooks show one result in strict mode, and leave no stream behind', async () => {
  const { url } = stage.service()
  writeFileSync(join(folder, 'strict.js'), strictPage.replace('ENVIRONMENT', JSON.stringify([url, token])))
  const { output } = await build({
    ...{ cwd: folder, input: 'strict.js', platform: 'browser', write: false, logLevel: 'silent' },
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
  })
  const streams = async () => {
    const { body } = await stage.asAdmin('GET', '/metrics')
    return Number(/^wellhead_live_streams (\d+)$/m.exec(body)?.[1])
  }
  const before = await streams()
  await onScript(output[0].code, async (page) => {
    const shows = (text: string) =>
      page
        .locator('p')
        .filter({ hasText: new RegExp(`^${text}$`) })
        .waitFor()
    const seen = () => page.evaluate<string[]>('steps.seen')
    await page.evaluate(`import('/page/script.js')`)
    await page.evaluate('steps.mount()')
    await shows('s s')
    await page.evaluate('steps.unmount()')
    await page.evaluate('steps.mount()')
    await shows('s s')
    await expect.poll(streams).toBe(before + 1)

    // Rows stay while those of other parameters are loaded.
    await page.evaluate(`steps.mount({ size: 'm' })`)
    await shows('m m')
    expect((await seen())[0]).toBe('m s s')
    expect((await seen()).filter((text) => text.includes('none'))).toEqual([])
    await page.evaluate('steps.otherClient()')
    await shows('m m')
    expect((await seen())[0]).toBe('m none none')
    await page.evaluate(`steps.mount({ name: 'no.such' })`)
    await shows('forbidden forbidden')
    expect((await seen())[0]).toBe('m none none')
    await page.evaluate(`steps.mount({ name: 'client.sizes' })`)
    await shows('m m')
    await expect.poll(streams).toBe(before + 1)

    await page.evaluate('steps.unmount()')
    await expect.poll(streams).toBe(before)
    expect(await seen()).toEqual([])
    await page.evaluate(`steps.mount({ size: 's' })`)
    await page.evaluate('steps.unmount()')
    // Whatever the endpoint responds now comes too late.
    expect(
      await page.evaluate(`fetch(${JSON.stringify(url)} + '/health').then(({ status }) => status)`),
    ).toBe(200)
    await expect.poll(streams).toBe(before)
    expect(await seen()).toEqual([])
  })
})

test('following goes on after a token that could not be had', async () => {
  let tokens = 0
  const getToken = () => {
    if (tokens++ === 0) throw new Error('No session')
    return token
  }
  const { follow } = createClient({ url: stage.service().url, getToken })
  const errors: WellheadError[] = []
  const onError = (error: WellheadError) => errors.push(error)
  const rows = await new Promise<unknown[]>((resolve) => {
    const stop = follow('client.sizes', { size: 'm' }, (live) => [stop(), resolve(live)], { onError })
  })
  expect(rows).toMatchObject([{ size: 'm' }])
  expect(errors).toMatchObject([{ name: 'WellheadError', code: 'unreachable', message: 'No session' }])
})

test('following reports what the callback throws, and ends', async () => {
  const { follow } = createClient({ url: stage.service().url, getToken: () => token })
  const fail = () => {
    throw new TypeError('rows is not a function')
  }
  const error = await new Promise((resolve) => follow('client.sizes', {}, fail, { onError: resolve }))
  expect(error).toMatchObject({ name: 'WellheadError', message: 'rows is not a function' })
})

let calls = 0
const client = createClient({
  url: 'http://127.0.0.1:9',
  getToken: () => {
    calls++
    return 'x'
  },
})

function Shown() {
  const { rows, isLoading } = useEndpoint(client, 'a', {})
  const live = useLiveEndpoint(client, 'a', {})
  return createElement('p', null, `${rows} ${isLoading} ${live.rows}`)
}

test('the hooks load nothing on a server', () => {
  const html = renderToString(createElement(StrictMode, null, createElement(Shown)))
  expect([html, calls]).toEqual(['<p>undefined true undefined</p>', 0])
})

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { runCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { onPage, openStage, write } from './stage/stage.ts'

const stage = openStage()
const visit = onPage(stage)
const files = scratchDirectory()
afterAll(() => files.remove())

const tenants = ['hour-acme', 'hour-globex']
let acme: MadeToken
beforeAll(async () => {
  acme = await makeToken(stage.service(), { scopes: ['query'], project: tenants[0] })
})

/** Logs of a shop's API: flat keys, seconds instead of milliseconds, nested customers and arrays. */
function shopLogs(nowMs: number): string {
  const routes = ['/checkout', '/cart', '/search']
  const entries = Array.from({ length: 30 }, (_, n) => ({
    time: new Date(nowMs - n * 60_000).toISOString(),
    project: tenants[n % 2],
    level: n % 10 === 0 ? 'error' : 'info',
    msg: `POST ${routes[n % 3]}`,
    route: routes[n % 3],
    customer: { id: `c${n % 4}`, tier: n % 4 === 0 ? 'gold' : 'free' },
    region: n % 2 ? 'eu-west-1' : 'us-east-1',
    duration_s: (n + 1) / 10,
    items: Array.from({ length: n % 3 }, (_, item) => `sku-${item}`),
  }))
  return entries.map((entry) => JSON.stringify(entry)).join('\n')
}

const question = `SELECT
    route,
    count() AS requests,
    round(max(duration_s) * 1000) AS slowest_ms,
    sum(length(JSONExtractArrayRaw(metadata, 'items'))) AS items
FROM hour_shop
WHERE project = @project AND timestamp > @now - toIntervalHour(@hours)
GROUP BY route
ORDER BY slowest_ms DESC, route`

describe('the second hour, with logs of a shape that nothing built-in has', () => {
  const path = (name: string) => join(files.path, name)
  const run = async (args: string[], input = '') => {
    const { WELLHEAD_ENGINE_NODE = '', WELLHEAD_ENGINE_PATIENCE = '' } = process.env
    const { service, admin } = stage
    const environment = {
      ...{ WELLHEAD_ENGINE_NODE, WELLHEAD_ENGINE_PATIENCE },
      ...{ WELLHEAD_URL: service().url, WELLHEAD_TOKEN: admin().token },
    }
    const { code, stdout, stderr } = await runCommand(args, { cwd: files.path, environment, input })
    return { code, out: stdout + stderr }
  }

  test('goes in files from a sample to a deployed and tested endpoint', async () => {
    writeFileSync(path('sample.ndjson'), shopLogs(Date.UTC(2026, 0, 31, 11, 59, 30)))
    expect((await run(['init', '--template', 'empty'])).code).toBe(0)
    const create = [
      'endpoint',
      'new',
      'hour.routes',
      '--query',
      '-',
      '-p',
      'project=hour-acme',
      '-p',
      'hours=1',
    ]
    expect(await run(create, question)).toMatchObject({ code: 0, out: expect.stringContaining('warm: 5m') })
    const written = readFileSync(path('endpoints/hour.routes.sql'), 'utf8')
    expect(written).toContain('\ncache: none\n')
    // The SQL tells the type of a parameter.
    expect(written).toMatch(/hours:\s*\{?\s*type: integer/)
    expect(await run(['source', 'init', 'hour_shop', '--from', 'sample.ndjson'])).toMatchObject({
      ...{ code: 0, out: 'sources/hour_shop.yaml\n6 columns proposed from 30 entries.\n' },
    })
    expect(readFileSync(path('sources/hour_shop.yaml'), 'utf8')).toContain(
      '  - { name: customer_tier, path: customer.tier, type: text } # 100 % of the entries, such as "gold"\n' +
        '  - { name: region, path: region, type: text } # 100 % of the entries, such as "us-east-1"\n' +
        '  - { name: duration_s, path: duration_s, type: number } # 100 % of the entries, such as 0.1\n',
    )
    mkdirSync(path('fixtures'))
    copyFileSync(path('sample.ndjson'), path('fixtures/hour_shop.ndjson'))
    // Written again, so that its test runs at the time of the fixtures.
    for (const file of ['endpoints/hour.routes.sql', 'tests/hour.routes.yaml']) rmSync(path(file))
    expect((await run(create, question)).code).toBe(0)
    writeFileSync(
      path('endpoints/hour.routes.sql'),
      readFileSync(path('endpoints/hour.routes.sql'), 'utf8').replace(
        '\ncache: none\n',
        '\ncache: none\npublished: true\n',
      ),
    )
    expect(await run(['test', '--update'])).toMatchObject({
      ...{ code: 0, out: expect.stringContaining('1 updated\n') },
    })
    expect(readFileSync(path('tests/hour.routes.yaml'), 'utf8')).toContain(
      '      - { route: /search, requests: 5, slowest_ms: 2700, items: 10 }\n',
    )
    expect(await run(['deploy', '--strict'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^created source hour_shop \(version 1\)\ncreated hour\.routes \(version 1\)\nDeployed /,
      ),
    })
    expect((await run(['diff', '--exit-code'])).code).toBe(0)
  })

  test('stores logs that are sent with curl, and reports those without a project', async () => {
    const body = `${shopLogs(Date.now())}\n{"route":"/nobody","msg":"no project"}`
    const headers = { 'X-API-KEY': stage.admin().token, 'Content-Type': 'application/x-ndjson' }
    const sent = await fetch(`${stage.service().url}/api/logs?source=hour_shop`, {
      method: 'POST',
      headers,
      body,
    })
    expect(await sent.json()).toEqual({ message: 'Logged!', accepted: 31, rejected: 0, errors: [] })
    expect(sent.headers.get('Wellhead-Without-Project')).toBe('1')
    await visit('/console/sources/hour_shop', stage.admin(), async (page) => {
      await page.getByRole('row', { name: 'metadata.customer.tier' }).waitFor()
      const figure = page.getByText('Without a project', { exact: true }).locator('..')
      await figure.getByText('1', { exact: true }).waitFor()
      await figure.getByText('No tenant can see these.', { exact: false }).waitFor()
    })
  })

  test('shows a customer the endpoint with the rows of its own project', async () => {
    const called = await ask(stage.service(), acme.token, 'GET', '/api/endpoints/query/hour.routes?hours=1')
    expect(called.headers.get('Cache-Status')).toBe('Wellhead; fwd=bypass')
    expect(
      called.body.result.map(({ route, requests }: Record<string, unknown>) => [route, requests]),
    ).toEqual([
      ['/cart', 5],
      ['/search', 5],
      ['/checkout', 5],
    ])
    await visit('/console/endpoints/hour.routes?hours=1', acme, async (page) => {
      await page.getByText('Fixed by the token.').waitFor()
      await page.getByRole('cell', { name: '/search', exact: true }).waitFor()
      expect(await page.getByRole('cell', { name: '/nobody', exact: true }).count()).toBe(0)
    })
  })

  test('goes in the console from a question to a published endpoint', async () => {
    await visit('/console/new-endpoint', stage.admin(), async (page) => {
      await page.getByLabel('Name').fill('hour.regions')
      await write(page, "SELECT tier FROM hour_shop WHERE project = 'x'")
      const meant = 'metadata.customer.tier::Nullable(String)'
      await page.getByText(`There is no column tier. Did you mean ${meant}?`, { exact: false }).waitFor()
      await page.getByRole('button', { name: `Insert ${meant}` }).click()
      await page.getByText(`SELECT ${meant} FROM hour_shop`).waitFor()
      await page.getByText('The query is valid.').waitFor()
      await write(
        page,
        'SELECT region, count() AS requests FROM hour_shop WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY GROUP BY region ORDER BY region',
      )
      await page.getByText('The query is valid.').waitFor()
      await page
        .getByLabel('project', { exact: false })
        .first()
        .fill(tenants[0] as string)
      await page.keyboard.press('Control+Enter')
      await page.getByRole('cell', { name: 'us-east-1', exact: true }).waitFor()
      await page.getByRole('button', { name: 'Settings' }).click()
      await page
        .getByText('To keep results warm, enter 900 here and 300 beside it.', { exact: false })
        .waitFor()
      expect(await page.getByLabel('Published to tenants').count()).toBe(0)
      await page.getByRole('button', { name: 'Create endpoint' }).click()
      const dialog = page.getByRole('dialog', { name: 'Publish it to tenants?' })
      await dialog.getByRole('button', { name: 'Create without publishing' }).click()
      await page.getByText('not published', { exact: true }).waitFor()
    })
    const { body } = await stage.asAdmin('GET', '/api/endpoints/hour.regions')
    expect([body.cache_seconds, body.published]).toEqual([null, false])
    await stage.asAdmin('PATCH', '/api/endpoints/hour.regions', { published: true })
    await visit('/console/endpoints/hour.regions', acme, async (page) => {
      await page.getByRole('cell', { name: 'us-east-1', exact: true }).waitFor()
      expect(await page.getByRole('cell', { name: 'eu-west-1', exact: true }).count()).toBe(0)
    })
  })
})

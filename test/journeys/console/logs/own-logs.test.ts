import { readFileSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { pino } from 'pino'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import pinoTransport from '../../../../client/pino.ts'
import { follow } from '../stage/browser.ts'
import { expectFit, onOneLoad, onPage, openStage, show } from '../stage/stage.ts'

const stage = openStage()
const { admin, asAdmin } = stage

const source = 'visit_api'
const customer = 'cus_1007'
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const routes = ['/v1/checkout', '/v1/cart', '/v1/orders']
const refused = 'connect ECONNREFUSED 10.0.3.7:5432'
const stack = `Error: ${refused}\n    at checkout (C:\\new.js:1:1)\n\tat last`

/** What an API writes with pino: the customers differ, the messages do not. Five entries of the customer, three of them errors. */
async function sendWithPino(): Promise<void> {
  const stream = pinoTransport({ url: stage.service().url, token: admin().token, source })
  const logger = pino({ base: { hostname: 'api-7f9c', version: '2.14.0' } }, stream)
  for (let n = 0; n < 300; n++) {
    const id = n % 60 === 7 ? customer : `cus_${2000 + (n % 60)}`
    const isError = n % 60 === 7 && n < 180
    const fields = {
      ...{ customer: { id, tier: n % 3 === 0 ? 'gold' : 'free' }, region: n % 2 ? 'eu' : 'us' },
      ...{ req: { method: n % 2 ? 'POST' : 'GET', url: routes[n % 3] }, responseTime: 12.5 + n },
      res: { statusCode: isError ? 503 : 200 },
      ...(isError && { err: { type: 'Error', message: refused, stack }, trace_id: n === 7 ? trace : `${n}` }),
    }
    if (isError) logger.error(fields, 'request completed')
    else logger.info(fields, 'request completed')
  }
  stream.end()
  await finished(stream)
}

async function sendWithOpenTelemetry(): Promise<void> {
  const exporter = new OTLPLogExporter({
    url: `${stage.service().url}/v1/logs`,
    headers: { 'X-API-KEY': admin().token },
  })
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'payments', project: customer }),
    processors: [new BatchLogRecordProcessor({ exporter })],
  })
  const logger = provider.getLogger('payments')
  for (const [body, id] of [
    ['card declined by the bank', trace],
    ['card charged', 'another trace'],
  ] as const) {
    const attributes = { 'http.response.status_code': 402, trace_id: id }
    logger.emit({ body, severityNumber: 17, severityText: 'ERROR', attributes })
  }
  await provider.forceFlush()
  await provider.shutdown()
}

const row = (page: Page, text: RegExp) => page.getByRole('button', { name: text })
const columnNames = (page: Page) => page.locator('.entry-head > span').allTextContents()
const found = (page: Page, text: string) =>
  page.getByRole('status').getByText(text, { exact: true }).waitFor()

describe('logs of an own shape', () => {
  beforeAll(async () => {
    const made = await asAdmin('POST', '/api/sources', { name: source, project: 'customer.id' })
    expect(made.status).toBe(201)
    await sendWithPino()
    await sendWithOpenTelemetry()
  })
  const walk = onOneLoad(onPage(stage), admin)

  test("show one customer's errors in three actions", () =>
    walk({ path: `/console/logs?source=${source}`, width: 1440 }, async (page) => {
      await found(page, '300 entries')
      // What is the same in every entry is left out, such as the message.
      await expect
        .poll(() => columnNames(page))
        .toEqual(['time', 'project', 'level', 'method', 'url', 'statusCode', 'responseTime', 'err.message'])
      await page.getByLabel('Project', { exact: true }).fill(customer)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: '50 error 3' }).last().click()
      await row(page, /error POST \/v1\/cart 503 19\.5 ms connect ECONNREFUSED 10\.0\.3\.7:5432$/).click()
      await found(page, '3 entries')
      await expect.poll(() => page.locator('.entry').count()).toBe(3)
      const shown = page.locator('.json .value', { hasText: 'at last' })
      expect(await shown.textContent()).toBe(`"${stack.replaceAll('\\', '\\\\')}"`)
      // Counts of the last search are pale until those of this one arrive.
      await page.locator('.facets.old').waitFor({ state: 'detached' })
      for (const [width, theme] of [
        [1440, 'light'],
        [390, 'dark'],
      ] as const) {
        await show(page, width, theme)
        await expectFit(page)
      }
      // The same trace in a source of another shape.
      await page.getByRole('link', { name: 'Same trace_id' }).click()
      await found(page, `2 entries of all sources with ${trace}`)
      await row(page, /otel_logs cus_1007 card declined by the bank$/).waitFor()
      await row(page, /visit_api cus_1007 request completed$/).waitFor()
    }))

  test('show messages that differ beside all other columns', async () => {
    await asAdmin('POST', '/api/sources', { name: 'visit_mixed' })
    const entries = [200, 503, 404].map((statusCode, n) => ({
      ...{ project: `p${n}`, msg: `message ${n}`, level: 30 + n * 10, responseTime: n },
      ...{ req: { method: n ? 'GET' : 'POST', url: routes[n] }, res: { statusCode } },
      ...(n === 1 && { err: { message: refused } }),
    }))
    expect((await asAdmin('POST', '/api/logs?source=visit_mixed', entries)).body.accepted).toBe(3)
    await walk({ path: '/console/logs?source=visit_mixed', width: 1440 }, async (page) => {
      await found(page, '3 entries')
      await expect.poll(async () => (await columnNames(page)).slice(-2)).toEqual(['err.message', 'message'])
      const hidden = () =>
        page.evaluate("(list => list.scrollWidth - list.clientWidth)(document.querySelector('.entries'))")
      expect(await hidden()).toBe(0)
    })
  })

  test('are read with the keyboard', () =>
    walk(`/console/logs?source=${source}&project=${customer}`, async (page) => {
      await found(page, '5 entries')
      await page.locator('.entry').nth(4).waitFor()
      await page.locator('#main').focus()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      const focused = () => page.evaluate("document.activeElement.closest('[data-index]')?.dataset.index")
      expect(await focused()).toBe('0')
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await expect.poll(focused).toBe('2')
      await page.keyboard.press('k')
      await expect.poll(focused).toBe('1')
      await page.keyboard.press('Enter')
      await page.locator('.json').waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Escape')
      await page.locator('.json').waitFor({ state: 'detached' })
      await expect.poll(focused).toBe('1')
      await page.keyboard.press('/')
      expect(await page.evaluate('document.activeElement.role')).toBe('combobox')
    }))

  test('have columns that each person chooses, and that a source can have for everyone', () =>
    walk({ path: `/console/logs?source=${source}`, width: 1440 }, async (page) => {
      await page.locator('.entry').first().click()
      await page.getByRole('button', { name: 'Show metadata.customer.tier as a column' }).click()
      await page.getByRole('button', { name: 'Columns' }).click()
      const dialog = page.getByRole('dialog', { name: 'Columns' })
      for (const name of ['project', 'req.method', 'req.url', 'responseTime', 'err.message']) {
        await dialog.getByRole('button', { name: `Remove ${name}` }).click()
      }
      await dialog.getByRole('button', { name: 'Move customer.tier up' }).click()
      await dialog.getByLabel('Add a field').fill('region')
      await page.keyboard.press('Enter')
      await dialog.getByLabel('Width of region').fill('300')
      await expectFit(page, 'dialog')
      await dialog.getByRole('button', { name: 'Done' }).click()
      const chosen = ['time', 'level', 'tier', 'statusCode', 'region']
      await expect.poll(() => columnNames(page)).toEqual(chosen)
      await page.reload()
      await expect.poll(() => columnNames(page)).toEqual(chosen)
      const head = page.locator('.entry-head span', { hasText: 'tier' })
      const [before, edge] = [await head.boundingBox(), await head.locator('i').boundingBox()]
      await page.mouse.move((edge?.x ?? 0) + 4, (edge?.y ?? 0) + 4)
      await page.mouse.down()
      await page.mouse.move((edge?.x ?? 0) + 64, (edge?.y ?? 0) + 4)
      await page.mouse.up()
      expect(Math.round(((await head.boundingBox())?.width ?? 0) - (before?.width ?? 0))).toBe(60)
      await page.getByRole('button', { name: 'Columns' }).click()
      await dialog.getByRole('button', { name: 'Use for everyone' }).click()
      await dialog.getByRole('button', { name: 'Reset', disabled: true }).waitFor()
      const { body } = await asAdmin('GET', `/api/sources/${source}`)
      expect(body.list_columns).toEqual(['level', 'customer.tier', 'res.statusCode', 'region'])
    }))

  test('have help where a search finds nothing', () =>
    walk(`/console/logs?source=${source}&q=regoin:eu+status>=500`, async (page) => {
      const nothing = page.getByRole('region', { name: 'No entries found' })
      await nothing.getByRole('button', { name: 'Search region:eu status:>=500' }).click()
      await page.waitForURL((url) => url.searchParams.get('q') === 'region:eu status:>=500')
      const old = 'from=2026-01-01T00:00:00.000Z&to=2026-01-01T01:00:00.000Z'
      await follow(page, `/console/logs?source=${source}&${old}`)
      await nothing.getByRole('button', { name: /^Go to the newest/ }).click()
      await found(page, '300 entries')
      await page.getByRole('searchbox', { name: 'Search values of customer.id' }).fill('1007')
      await page
        .getByRole('region', { name: 'customer.id', exact: true })
        .getByRole('button', { name: `${customer} 5` })
        .click()
      await found(page, '5 entries')
    }))

  test('lead on to a file, an endpoint and an alert', () =>
    walk(`/console/logs?source=${source}&project=${customer}&q=ECONNREFUSED`, async (page) => {
      await found(page, '3 entries')
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Export' }).click()
      await page.getByRole('button', { name: 'CSV', exact: true }).click()
      const [head, first, ...rest] = readFileSync(await (await download).path(), 'utf8')
        .trim()
        .split('\r\n')
      // Those of the list, which an earlier test chose.
      expect([head, rest.length]).toEqual([
        '"timestamp","level","customer.tier","res.statusCode","region"',
        2,
      ])
      expect(first).toMatch(/^"[\dT:.-]+Z",50,"(?:gold|free)",503,"eu"$/)
      const whole = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Export' }).click()
      await page.getByRole('button', { name: 'CSV with metadata' }).click()
      expect(readFileSync(await (await whole).path(), 'utf8')).toContain(refused)
      await page.getByRole('button', { name: 'Alert on this' }).click()
      const dialog = page.getByRole('dialog', { name: 'Alert on this' })
      await dialog.getByLabel('Name of the endpoint').fill('visit.refused')
      await expectFit(page, 'dialog')
      await dialog.getByRole('button', { name: 'Continue' }).click()
      const form = page.getByRole('dialog', { name: 'New alert' })
      await form.getByRole('button', { name: 'Preview' }).click()
      await form.getByText(/^Now firing, value 3\./).waitFor()
      await follow(page, '/console/endpoints')
      await follow(page, `/console/logs?source=${source}&project=${customer}&q=ECONNREFUSED`)
      await page.getByRole('button', { name: 'Save as endpoint' }).click()
      await page.getByText('The query is valid.').waitFor()
      await page.getByText("matches('ECONNREFUSED')").waitFor()
      expect(await page.getByText('This query comes from a link.').count()).toBe(0)
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.locator('.cost').getByText('3 rows').waitFor()
    }))

  test('belong to the project at a path, which the page of the source proposes', async () => {
    await asAdmin('POST', '/api/sources', { name: 'visit_owned' })
    await asAdmin('POST', '/api/logs?source=visit_owned', [{ msg: 'a', tenant: { id: 't1' } }])
    await walk('/console/sources/visit_owned', async (page) => {
      const project = page.getByRole('region', { name: 'Project' })
      await project.getByRole('button', { name: 'Use tenant.id 100 %, such as t1' }).click()
      await project.getByText('metadata.tenant.id').waitFor()
      expect(await project.getByLabel('Path of the project').inputValue()).toBe('tenant.id')
      expect((await asAdmin('GET', '/api/sources/visit_owned')).body.project).toBe('tenant.id')
      // Examples have the form in which SQL and searches read them.
      await page.getByRole('cell', { name: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ }).waitFor()
      await show(page, 390, 'dark')
      await expectFit(page)
    })
  })

  test('pass the rules of their source, which its page tries, changes and counts', async () => {
    await asAdmin('POST', '/api/sources', { name: 'visit_ruled' })
    const send = (event_message: string) =>
      asAdmin('POST', '/api/logs?source=visit_ruled', [{ event_message, metadata: { level: 'info' } }])
    await send('GET /health')
    await send('ada@example.com signed in')
    await walk('/console/sources/visit_ruled', async (page) => {
      const rules = page.getByRole('region', { name: 'Rules', exact: true })
      await rules.getByText('No rules.').waitFor()
      await rules.getByRole('button', { name: 'Edit rules' }).click()
      const form = page.getByRole('dialog', { name: 'Rules of visit_ruled' })
      const add = form.getByRole('button', { name: 'Add a rule' })
      const rule = (number: number) => form.getByRole('group', { name: `Rule ${number}` })
      await add.click()
      await rule(1).getByLabel('Action').selectOption('mask')
      await rule(1).getByLabel('card').check()
      await rule(1).getByLabel('In', { exact: true }).fill('event_message, user."e-mail, private"')
      await add.click()
      await rule(2).getByLabel('Entries that match').fill('(a')
      await form.getByRole('button', { name: 'Preview' }).click()
      await form.getByRole('alert').getByText('Unclosed bracket').waitFor()
      await rule(2).getByLabel('Entries that match').fill('health')
      await add.click()
      await rule(3).getByLabel('Action').selectOption('sample')
      await rule(3).getByLabel('Share to keep').fill('0.5')
      await rule(3).getByLabel('Of entries that match').fill('level:debug')
      await form.getByRole('button', { name: 'Move rule 2 up' }).click()
      await form.getByRole('button', { name: 'Preview' }).click()
      const preview = form.getByRole('region', { name: 'Preview' })
      await preview.getByText('Of the newest 2 entries, 1 would be dropped and 1 changed.').waitFor()
      await preview.getByRole('row', { name: /^ada@example.com signed in .* \[email\] signed in/ }).waitFor()
      await preview.getByRole('row', { name: /^GET \/health .* dropped$/ }).waitFor()
      for (const [width, theme] of [
        [1280, 'light'],
        [390, 'dark'],
      ] as const) {
        await show(page, width, theme)
        await expectFit(page, 'dialog')
      }
      await form.getByRole('button', { name: 'Save' }).click()
      await form.waitFor({ state: 'detached' })
      const saved = [
        { drop: 'health' },
        { mask: ['email', 'card'], in: ['event_message', 'user."e-mail, private"'] },
        { sample: 0.5, where: 'level:debug' },
      ]
      expect((await asAdmin('GET', '/api/sources/visit_ruled')).body.rules).toEqual(saved)
      await send('GET /health')
      await send('eve@example.com')
      await page.reload()
      await rules.getByRole('row', { name: 'drop health this source 1' }).waitFor()
      const mask = 'mask email, card in event_message, user."e-mail, private" this source 1'
      await rules.getByRole('row', { name: mask }).waitFor()
      await page
        .getByRole('region', { name: 'Versions' })
        .getByRole('row', { name: /^rules / })
        .waitFor()
      await expectFit(page)
    })
  })

  test('open again where they were read last', () =>
    walk(`/console/logs?source=${source}`, async (page) => {
      await found(page, '300 entries')
      await page.goto('/console/logs')
      await found(page, '300 entries')
      expect(await page.getByLabel('Source').inputValue()).toBe(source)
    }))
})

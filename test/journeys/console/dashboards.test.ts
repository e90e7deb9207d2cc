import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeToken } from '../../support/callers.ts'
import { faultsOf, follow, newContext } from './stage/browser.ts'
import { projects } from './stage/data.ts'
import { boxOf, expectFit, expectNoOverflow, onOneLoad, onPage, openStage } from './stage/stage.ts'

const [shop, notes] = projects
const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage

const endpoint = (name: string, query: string, more: object = {}) => ({
  ...{ name, query, published: true, parameters: { project: { required: true, example: shop } }, ...more },
})
/** A list of some values, one of any, and a day. */
const picked = {
  sizes: { type: 'list', enum: ['s', 'm, l', 'xl'] },
  tags: { type: 'list' },
  day: { type: 'date' },
}
const endpoints = [
  endpoint('board.count', 'SELECT count() AS requests FROM edge_logs WHERE project = @project'),
  endpoint(
    'board.minutes',
    'SELECT toStartOfMinute(timestamp) AS minute, count() AS requests FROM edge_logs WHERE project = @project GROUP BY minute ORDER BY minute',
  ),
  endpoint('board.sizes', "SELECT concat(@size, ' of ', @project) AS size", {
    parameters: { project: { required: true }, size: {} },
  }),
  endpoint(
    'board.picked',
    "SELECT arrayStringConcat(@sizes, '+') AS sizes, arrayStringConcat(@tags, '+') AS tags, toString(@day) AS day, @project AS project",
    { parameters: { project: { required: true }, ...picked } },
  ),
]
const panel = (name: string) => ({ endpoint: name, parameters: { project: '@project' } })
const board = (name: string, fields: object = {}) => ({
  name,
  title: `Board ${name}`,
  parameters: { project: { required: true } },
  rows: [{ items: [{ ...panel('board.count'), title: 'Requests' }, panel('board.minutes')] }],
  ...fields,
})

beforeAll(async () => {
  const { status, body } = await asAdmin('POST', '/api/deployments', {
    endpoints,
    dashboards: [board('board.own')],
  })
  expect([status, body.error]).toEqual([200, undefined])
})

describe('an admin', () => {
  const walk = onOneLoad(visit, admin)
  let visitor: Page
  beforeAll(async () => {
    visitor = await (await newContext(stage.browser(), stage.service())).newPage()
  })
  afterAll(() => visitor?.context().close())

  test('a dashboard is built with the keyboard, saved, and keeps its parameters in the address', () =>
    walk('/console/dashboards', async (page) => {
      await page.getByRole('button', { name: 'New dashboard' }).press('Enter')
      const form = page.getByRole('dialog', { name: 'New dashboard' })
      await form.getByLabel('Name').fill('board.made')
      await form.getByLabel('Title').fill('Made here')
      await form.getByLabel('Title').press('Enter')
      await page.getByText('No panels yet').waitFor()
      for (const [name, title] of [
        ['board.count', 'Count'],
        ['board.minutes', 'Minutes'],
      ] as const) {
        await page.getByRole('button', { name: 'Add panel' }).press('Enter')
        const added = page.getByRole('dialog', { name: 'Add panel' })
        await added.getByLabel('Endpoint').selectOption(name)
        await added.getByLabel('Title').fill(title)
        await added.getByLabel('Title').press('Enter')
        await page.getByRole('region', { name: title }).waitFor()
      }
      await page.getByText('Choose project above.').first().waitFor()
      await page.getByLabel('project', { exact: true }).fill(shop)
      await page.keyboard.press('Enter')
      await page.locator('.big-figures dd').first().filter({ hasText: /^\d+$/ }).waitFor()
      await page.locator('canvas').waitFor()
      await page.getByRole('button', { name: 'Move Minutes', exact: true }).press('ArrowLeft')
      await page.locator('[data-place="0 0"]', { hasText: 'Minutes' }).waitFor()
      await page.getByRole('button', { name: /^Width of Minutes/ }).press('ArrowRight')
      await page.getByRole('button', { name: 'Width of Minutes: 7 of 12' }).waitFor()
      await page.getByRole('button', { name: 'YAML' }).press('Enter')
      const yaml = page.getByLabel('dashboards/board.made.yaml')
      await expect.poll(() => yaml.inputValue()).toContain('endpoint: board.minutes')
      expect(await faultsOf(page)).toEqual([])
      await page.getByRole('button', { name: 'Save' }).press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Made here' }).waitFor()
      expect(new URL(page.url()).searchParams.get('project')).toBe(shop)
      const saved = async () => (await asAdmin('GET', '/api/dashboards/board.made')).body
      await expect.poll(saved, { timeout: 60_000 }).toMatchObject({
        parameters: { project: { required: true } },
        rows: [
          {
            items: [
              { endpoint: 'board.minutes', width: 7 },
              { endpoint: 'board.count', width: 6 },
            ],
          },
        ],
      })
      await page.reload()
      await page.locator('.big-figures dd').first().filter({ hasText: /^\d+$/ }).waitFor()
      await expectFit(page)
    }))

  test('panels are dragged and widened with the mouse', async () => {
    await asAdmin('POST', '/api/dashboards', board('board.mouse'))
    await walk(`/console/dashboards/board.mouse?_edit=1&project=${shop}`, async (page) => {
      await page.locator('canvas').waitFor()
      const handle = await page.getByRole('button', { name: 'Move Requests', exact: true }).boundingBox()
      const target = await page.locator('[data-place="0 1"]').boundingBox()
      if (!handle || !target) throw new Error('The panels are not visible.')
      await page.mouse.move(handle.x + 5, handle.y + 5)
      await page.mouse.down()
      await page.mouse.move(target.x + target.width / 2, target.y + 60, { steps: 4 })
      await page.mouse.up()
      await page.locator('[data-place="0 1"]', { hasText: 'Requests' }).waitFor()
      const edge = await page.getByRole('button', { name: /^Width of Requests/ }).boundingBox()
      const line = await page.locator('.dashboard-row').boundingBox()
      if (!edge || !line) throw new Error('The panels are not visible.')
      await page.mouse.move(edge.x + 5, edge.y + 5)
      await page.mouse.down()
      await page.mouse.move(line.x + line.width * 0.75, edge.y + 5, { steps: 4 })
      await page.mouse.up()
      await page.getByRole('button', { name: /^Width of Requests: 3 of 12/ }).waitFor()
    })
  })

  test('a panel fails alone, with a sentence and a retry, and text cannot run anything', async () => {
    const markdown =
      '<img src=x onerror="globalThis.hacked = 1"> [bad](javascript:globalThis.hacked=1) [worse](JaVaScRiPt:x) [good](https://example.com) **bold**'
    await asAdmin('POST', '/api/endpoints', endpoint('board.brief', 'SELECT 1 AS n', { parameters: {} }))
    const items = [
      { endpoint: 'board.brief', title: 'Brief' },
      { ...panel('board.count'), title: 'Whole' },
      { markdown },
    ]
    await asAdmin('POST', '/api/dashboards', board('board.bad', { rows: [{ items }] }))
    const changed = { parameters: { size: { required: true } }, query: 'SELECT @size AS n' }
    expect((await asAdmin('PATCH', '/api/endpoints/board.brief', changed)).status).toBe(409)
    expect((await asAdmin('PATCH', '/api/endpoints/board.brief?breaking=true', changed)).status).toBe(200)
    await walk(`/console/dashboards/board.bad?project=${shop}`, async (page) => {
      const brief = page.getByRole('region', { name: 'Brief' })
      await brief.getByRole('alert').getByText('size').waitFor()
      await page.getByRole('region', { name: 'Whole' }).locator('.big-figures dd').first().waitFor()
      const text = page.getByRole('region', { name: 'Text' })
      expect(await text.textContent()).toContain('<img src=x onerror=')
      const links = text.getByRole('link')
      expect([await links.count(), await links.getAttribute('href')]).toEqual([1, 'https://example.com'])
      expect(await text.locator('img').count()).toBe(0)
      expect(await page.evaluate('globalThis.hacked')).toBeUndefined()
      await asAdmin('PATCH', '/api/endpoints/board.brief?breaking=true', {
        parameters: {},
        query: 'SELECT 1 AS n',
      })
      await brief.getByRole('button', { name: 'Try again' }).click()
      await brief.locator('.big-figures dd').first().filter({ hasText: /^1$/ }).waitFor()
    })
  })

  test('a link opens the dashboard without signing in, prints, and ends at once', async () => {
    await walk(`/console/dashboards/board.own?project=${shop}`, async (page) => {
      await page.getByRole('button', { name: 'Share' }).click()
      const dialog = page.getByRole('dialog', { name: 'Share Board board.own' })
      await dialog.getByLabel('Project', { exact: true }).fill(shop)
      await dialog.getByRole('button', { name: 'Create link' }).click()
      const url = (await dialog.locator('.note-box .mono').textContent()) as string
      expect(await faultsOf(page, 'dialog')).toEqual([])
      await visitor.goto(new URL(url).pathname)
      await visitor.getByRole('heading', { level: 1, name: 'Board board.own' }).waitFor()
      await visitor.locator('.big-figures dd').first().filter({ hasText: /^\d+$/ }).waitFor()
      await visitor.locator('canvas').waitFor()
      expect(await visitor.getByLabel('project', { exact: true }).count()).toBe(0)
      expect(await faultsOf(visitor)).toEqual([])
      await visitor.emulateMedia({ media: 'print' })
      expect(await visitor.getByRole('button', { name: 'Reload' }).isVisible()).toBe(false)
      expect((await visitor.pdf()).length).toBeGreaterThan(1000)
      await visitor.emulateMedia({ media: 'screen' })
      await dialog.getByRole('button', { name: 'End link' }).click()
      await dialog.getByText('No links yet.').waitFor()
      await visitor.getByRole('button', { name: 'Reload' }).click()
      await visitor.getByText('This link does not work anymore.').waitFor()
    })
  })

  test('parameters are declared, changed and removed in the editor, and a link fixes some', async () => {
    const item = { endpoint: 'board.sizes', parameters: { project: '@project', size: 's' }, title: 'Sizes' }
    await asAdmin('POST', '/api/dashboards', board('board.sized', { rows: [{ items: [item] }] }))
    await walk(`/console/dashboards/board.sized?_edit=1&project=${shop}`, async (page) => {
      await page.getByRole('cell', { name: `s of ${shop}` }).waitFor()
      const section = page.getByRole('region', { name: 'Parameters' })
      for (const name of ['size', 'unused']) {
        await section.getByLabel('New parameter').fill(name)
        await section.getByLabel('New parameter').press('Enter')
        await section.getByRole('group', { name: `@${name}` }).waitFor()
      }
      await section.getByRole('button', { name: 'Remove the declaration of unused' }).press('Enter')
      expect(await section.getByRole('button', { name: '@unused' }).count()).toBe(0)
      await section.getByLabel('New parameter').and(page.locator(':focus')).waitFor()
      await section.getByRole('button', { name: '@size' }).press('Enter')
      const size = section.getByRole('group', { name: '@size' })
      await size.getByLabel('Allowed values').fill('s, m, l')
      await size.getByLabel('Default').fill('m')
      await expectFit(page)
      await size.getByRole('button', { name: 'Done' }).press('Enter')
      await page.getByRole('button', { name: 'Edit Sizes' }).click()
      const dialog = page.getByRole('dialog', { name: 'board.sizes' })
      await dialog.getByLabel('size').fill('@size')
      await dialog.getByRole('button', { name: 'Apply' }).click()
      await page.getByRole('cell', { name: `m of ${shop}` }).waitFor()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { level: 1, name: 'Board board.sized' }).waitFor()

      await page.getByRole('button', { name: 'Share' }).click()
      const share = page.getByRole('dialog', { name: 'Share Board board.sized' })
      await share.getByLabel('Project', { exact: true }).fill(shop)
      await share.getByLabel('size').selectOption('l')
      expect(await faultsOf(page, 'dialog')).toEqual([])
      await share.getByRole('button', { name: 'Create link' }).click()
      const url = (await share.locator('.note-box .mono').textContent()) as string
      await share.getByRole('cell', { name: 'size=l' }).waitFor()
      await expectFit(page, 'dialog')
      await visitor.goto(`${new URL(url).pathname}?size=s`)
      await visitor.getByRole('cell', { name: `l of ${shop}` }).waitFor()
      expect(await visitor.getByLabel('size', { exact: true }).count()).toBe(0)
    })
  })

  test('several values and a day are chosen, and a link fixes a list', async () => {
    const parameters = { project: { required: true }, ...picked }
    const handed = { project: '@project', sizes: '@sizes', tags: '@tags', day: '@day' }
    const rows = [{ items: [{ endpoint: 'board.picked', parameters: handed, chart: 'table' }] }]
    await asAdmin('POST', '/api/dashboards', board('board.lists', { parameters, rows }))
    await walk(`/console/dashboards/board.lists?project=${shop}`, async (page) => {
      const bar = page.getByRole('group', { name: 'Parameters' })
      const sizes = bar.getByRole('group', { name: 'sizes' })
      await sizes.getByLabel('xl').check()
      await sizes.getByLabel('m, l').press('Space')
      await bar.getByLabel('tags').fill('a,b\nc')
      await bar.getByLabel('day').fill('2026-11-18')
      await page.getByRole('cell', { name: 'm, l+xl' }).waitFor()
      await page.getByRole('cell', { name: 'a,b+c' }).waitFor()
      await page.getByRole('cell', { name: '2026-11-18' }).waitFor()
      await expectFit(page)
      await page.reload()
      await page.getByRole('cell', { name: 'a,b+c' }).waitFor()
      expect(await bar.getByLabel('tags').inputValue()).toBe('a,b\nc')
      await sizes.getByLabel('m, l').uncheck()
      await page.getByRole('cell', { name: 'xl', exact: true }).waitFor()

      await page.getByRole('button', { name: 'Share' }).click()
      const share = page.getByRole('dialog', { name: 'Share Board board.lists' })
      await share.getByLabel('Project', { exact: true }).fill(shop)
      await share.getByRole('group', { name: 'sizes' }).getByLabel('m, l').check()
      await share.getByLabel('tags').fill('x')
      await expectFit(page, 'dialog')
      await share.getByRole('button', { name: 'Create link' }).click()
      const url = (await share.locator('.note-box .mono').textContent()) as string
      await visitor.goto(`${new URL(url).pathname}?sizes=s&day=2026-11-17`)
      await visitor.getByRole('cell', { name: 'm, l' }).waitFor()
      await visitor.getByRole('cell', { name: '2026-11-17' }).waitFor()
      expect(await visitor.getByRole('group', { name: 'sizes' }).count()).toBe(0)
    })
  })
})

test('a customer sees published dashboards of its project, on a phone as well', async () => {
  await asAdmin('POST', '/api/dashboards', board('board.open', { published: true }))
  const { token } = await makeToken(stage.service(), { scopes: ['query'], project: notes })
  await visit('/console/dashboards', { token }, async (page) => {
    await page.getByRole('link', { name: 'board.open' }).waitFor()
    expect(await page.getByRole('link', { name: 'board.own' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'New dashboard' }).count()).toBe(0)
    await page.getByRole('link', { name: 'board.open' }).click()
    await page.locator('.big-figures dd').first().filter({ hasText: /^\d+$/ }).waitFor()
    expect(await page.getByLabel('project', { exact: true }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)
    await page.setViewportSize({ width: 390, height: 800 })
    await expectNoOverflow(page)
    expect(await faultsOf(page)).toEqual([])
  })
})

test('panels call columns by words, say since when a number changed, and show every column on a phone', async () => {
  const wide = Array.from({ length: 8 }, (_, n) => `${n} AS wide_column_${n}`).join(', ')
  const at = (hour: number) =>
    `toDateTime('2026-01-31 0${hour}:00:00', 'UTC') AS t, ${hour * 100} AS p95_ms, 1 AS n`
  await asAdmin('POST', '/api/endpoints', { name: 'board.wide', query: `SELECT ${wide}` })
  const query = `SELECT ${at(1)} UNION ALL SELECT ${at(2)}`
  await asAdmin('POST', '/api/endpoints', { name: 'board.times', query })
  const items = [
    { endpoint: 'board.times', chart: 'number', y: ['p95_ms', 'n'], labels: { n: 'Visits' }, title: 'Times' },
    { endpoint: 'board.wide', chart: 'table', title: 'Wide' },
  ]
  const { status } = await asAdmin('POST', '/api/dashboards', board('board.words', { rows: [{ items }] }))
  expect(status).toBe(201)
  const { token } = await makeToken(stage.service(), { scopes: ['dashboard:board.words'] })
  await visit(`/embed/dashboards/board.words#token=${token}`, {}, async (page) => {
    const times = page.getByRole('region', { name: 'Times' })
    await times.getByText('200 ms').waitFor()
    expect(await times.locator('dt').allTextContents()).toEqual(['p95', 'Visits'])
    expect(await times.locator('.under').first().textContent()).toMatch(/^\+100 % since 01-3\d \d\d:00$/)
    const icon = await boxOf(page.getByRole('button', { name: 'Reload' }).locator('svg'))
    expect([icon.width, icon.height]).toEqual([16, 16])
    await page.setViewportSize({ width: 390, height: 800 })
    const cells = page.getByRole('region', { name: 'Wide' }).getByRole('cell')
    await page.locator('.grid.stacked').waitFor()
    for (const cell of await cells.all()) {
      const { x, width } = await boxOf(cell)
      expect(x + width).toBeLessThanOrEqual(390)
    }
    expect(await cells.first().getAttribute('data-title')).toBe('wide column 0')
    await expectFit(page)
  })
})

/** What the page lets people do, by the names of its controls. */
const changing = /^(New|Add|Edit|Delete|Share|Save|Create|Remove|Restore|Move|Width|End)\b/

test.each([
  ['read', [], []],
  ['edit', ['New dashboard'], ['Share', 'Delete', 'Edit']],
])(
  'with the scope %s, pages of dashboards and sources offer only what the service allows',
  async (scope, list, one) => {
    const { token } = await makeToken(stage.service(), { scopes: [scope] })
    await visit('/console/dashboards', { token }, async (page) => {
      const controls = async () => {
        const found = page.locator('main').locator('button, a.button, input[type=submit]')
        return (await found.allTextContents()).filter((text) => changing.test(text.trim()))
      }
      await page.getByRole('link', { name: 'board.own' }).waitFor()
      expect(await controls()).toEqual(list)
      await follow(page, `/console/dashboards/board.own?project=${shop}`)
      await page.locator('canvas').waitFor()
      expect(await controls()).toEqual(one)
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('group', { name: 'Versions' }).waitFor()
      expect(await controls()).toEqual(one)
      await follow(page, '/console/sources?_new=1')
      await page.getByRole('link', { name: 'edge_logs', exact: true }).waitFor()
      expect([await controls(), await page.getByRole('dialog').count()]).toEqual([[], 0])
      await follow(page, '/console/sources/edge_logs')
      await page.getByRole('cell', { name: 'metadata.request.path' }).waitFor()
      await page.getByText('Entries are deleted after').waitFor()
      expect([await controls(), await page.getByRole('link', { name: 'Create one' }).count()]).toEqual([
        [],
        0,
      ])
      expect(await faultsOf(page)).toEqual([])
    })
  },
)

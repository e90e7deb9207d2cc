import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { follow } from './stage/browser.ts'
import { projects } from './stage/data.ts'
import { expectFit, onOneLoad, onPage, openStage, show, write } from './stage/stage.ts'

const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage

const minute = 'toDateTime(1767225600 + 60 * number) AS minute'
const lines = `SELECT ${minute}, number AS requests, -number AS balance, number * 1500 AS p95_ms FROM numbers(30)`
const bars =
  "SELECT concat('/path/', toString(number)) AS path, number * 1000000 AS egress_bytes FROM numbers(5)"
const queries = {
  lines,
  split: `SELECT ${minute}, name, number AS requests, 1 AS errors FROM numbers(12) ARRAY JOIN arrayMap(n -> concat('f', toString(n)), range(15)) AS name`,
  bars,
  long: "SELECT concat('/a/long/path/', toString(number)) AS path, number AS requests, number AS errors FROM numbers(5)",
  days: "SELECT toDate('2026-01-01') + number AS day, number AS requests FROM numbers(3)",
  counts: 'SELECT toDateTime(1767225600 + 3600 * number) AS hour, number % 2 AS requests FROM numbers(25)',
  number: 'SELECT 1234567 AS requests',
  logs: 'SELECT toString(number) AS message FROM numbers(3)',
  // Journeys save other charts of these.
  saved: lines,
  gone: bars,
}

beforeAll(async () => {
  const made = Object.entries(queries).map(([name, query]) =>
    asAdmin('POST', '/api/endpoints', {
      ...{ name: `charts.${name}`, query },
      ...(name === 'bars' && { max_rows: 3 }),
    }),
  )
  await Promise.all(made)
})

const pathOf = (name: keyof typeof queries) => `/console/endpoints/charts.${name}?_view=chart`

interface DrawnText {
  text: string
  isCut: boolean
}

/** Records what is written on canvases, and whether it fits. */
const record = `
  globalThis.drawnTexts = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { width } = this.measureText(text)
    const before = { center: width / 2, right: width, end: width }[this.textAlign] ?? 0
    const left = new DOMPoint(x - before, y).matrixTransform(this.getTransform()).x
    drawnTexts.push({ text, isCut: left < -1 || left + width > this.canvas.width + 1 })
    fillText.call(this, text, x, y)
  }`

/** Loads the page in a time zone, and tells what it has drawn. */
const inZone = (
  name: keyof typeof queries,
  timeZone: string,
  journey: (page: Page, drawn: () => Promise<DrawnText[]>) => Promise<void>,
) =>
  visit(pathOf(name), { ...admin(), timeZone, script: record }, (page) =>
    journey(page, () => page.evaluate<DrawnText[]>('drawnTexts')),
  )

const chart = (page: Page, name: string) => page.getByRole('slider', { name: `Chart of ${name}` })

describe('a chart', () => {
  const walk = onOneLoad(visit, admin)
  const open = (name: keyof typeof queries, journey: (page: Page) => Promise<void>) =>
    walk(pathOf(name), async (page) => {
      await page.getByRole('textbox', { name: 'SQL of the endpoint' }).waitFor()
      await journey(page)
    })

  test('is chosen from the columns', async () => {
    await open('lines', async (page) => {
      await chart(page, 'requests, balance over minute').waitFor()
      await page.getByText('Not shown: p95_ms.').waitFor()
    })
    await open('split', async (page) => {
      await chart(page, 'requests by name over minute').waitFor()
      await page.getByText('The 12 largest of 15. Not shown: f').waitFor()
    })
    await open('bars', (page) => chart(page, 'egress_bytes over path').waitFor())
    await open('long', async (page) => {
      const bars = page.getByRole('region', { name: 'Chart of requests, errors over path' })
      await bars.getByText('/a/long/path/4').waitFor()
      expect(await bars.getByTitle('errors: 4').locator('i').getAttribute('style')).toContain('--danger')
    })
    await open('number', (page) => page.locator('.big-figures', { hasText: '1,234,567' }).waitFor())
    await open('logs', (page) => page.getByText('No column has numbers.').waitFor())
  })

  test('can be read with the keyboard, in local time or UTC', () =>
    open('lines', async (page) => {
      await page.getByRole('button', { name: 'UTC' }).click()
      const slider = chart(page, 'requests')
      await slider.focus()
      await page.keyboard.press('Home')
      const text = () => slider.getAttribute('aria-valuetext')
      await expect.poll(text).toBe('2026-01-01 00:00:00 UTC: requests 0, balance 0')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowRight')
      await expect.poll(text).toBe('2026-01-01 00:02:00 UTC: requests 2, balance −2')
      await page.getByRole('button', { name: /^balance/ }).click()
      await page.locator('.legend [aria-pressed=false]', { hasText: 'balance' }).waitFor()
    }))

  test('has whole ticks for counts, and cuts no label', () =>
    inZone('counts', 'UTC', async (page, drawn) => {
      await chart(page, 'requests over hour').waitFor()
      const texts = await drawn()
      expect(texts.map(({ text }) => text)).toEqual(expect.arrayContaining(['0', '1', '00:00']))
      expect(texts.filter(({ text, isCut }) => isCut || /^\d*\.\d/.test(text))).toEqual([])
    }))

  test('shows days as they are in every time zone', () =>
    inZone('days', 'America/New_York', async (page, drawn) => {
      await chart(page, 'requests over day').focus()
      await page.keyboard.press('Home')
      const text = () => chart(page, 'requests over day').getAttribute('aria-valuetext')
      await expect.poll(text).toBe('2026-01-01: requests 0')
      const texts = (await drawn()).map((one) => one.text)
      expect(texts).toEqual(expect.arrayContaining(['01-01', '01-02']))
      expect(texts.filter((one) => one.includes(':'))).toEqual([])
      await page.getByRole('button', { name: 'Table' }).first().click()
      await page.getByRole('cell', { name: '2026-01-01', exact: true }).waitFor()
    }))

  test('is changed by hand, marks the draft as changed, and is kept by saving', () =>
    open('saved', async (page) => {
      await page.getByRole('button', { name: 'Chart settings' }).click()
      await page.getByRole('group', { name: 'Chart type' }).getByText('Stacked').click()
      await page.getByRole('button', { name: 'Discard changes' }).waitFor()
      await page.getByRole('checkbox', { name: 'p95_ms' }).check()
      await page.getByRole('checkbox', { name: 'balance' }).uncheck()
      await page.getByRole('checkbox', { name: 'requests' }).uncheck()
      await chart(page, 'p95_ms over minute').waitFor()
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      const { body } = await asAdmin('GET', '/api/endpoints/charts.saved')
      expect(body.chart).toEqual({ type: 'stacked', x: null, y: ['p95_ms'], series: null })
      // An endpoint with a chart opens with it.
      await follow(page, '/console/endpoints')
      await follow(page, '/console/endpoints/charts.saved')
      await chart(page, 'p95_ms over minute').waitFor()
      await page.getByRole('button', { name: 'Chart settings' }).click()
      await page.getByRole('group', { name: 'Chart type' }).getByText('Automatic').click()
      await chart(page, 'requests, balance over minute').waitFor()
    }))

  test('names a column that the result does not have', async () => {
    const gone = { chart: { type: 'bars', x: 'gone', y: [], series: 'lost' } }
    await asAdmin('PATCH', '/api/endpoints/charts.gone', gone)
    await open('gone', async (page) => {
      await page.getByText('The result has no column "gone"').waitFor()
      await page.getByRole('button', { name: 'Chart settings' }).click()
      await page.getByLabel('X-axis').selectOption('path')
      await page.getByText('The result has no column "lost"').waitFor()
      const series = page.getByRole('combobox', { name: /^Series/ })
      expect(await series.inputValue()).toBe('lost')
      await series.selectOption('')
      await chart(page, 'egress_bytes over path').waitFor()
    })
  })

  test('of the playground is kept by the endpoint that is saved from it', () =>
    walk('/console/playground?_view=chart', async (page) => {
      await write(page, queries.split)
      await page.keyboard.press('Control+Enter')
      await chart(page, 'requests by name').waitFor()
      await page.getByRole('button', { name: 'Chart settings' }).click()
      await page.getByRole('group', { name: 'Chart type' }).getByText('Number').click()
      await page.locator('.big-figures', { hasText: '11' }).first().waitFor()
      await page.getByRole('button', { name: 'Save as endpoint' }).click()
      await page.getByRole('heading', { name: 'New endpoint' }).waitFor()
      await page.locator('.big-figures', { hasText: '11' }).first().waitFor()
      await page.getByRole('button', { name: 'Chart settings' }).click()
      await page.getByRole('group', { name: 'Chart type' }).getByText('Table').click()
      await page.getByRole('columnheader', { name: 'errors' }).waitFor()
    }))

  test('of an endpoint with long SQL is visible without scrolling', async () => {
    for (const [width, height] of [
      [1440, 900],
      [1024, 768],
    ] as const) {
      await walk('/console/endpoints', async (page) => {
        await page.setViewportSize({ width, height })
        const shown = '_view=chart&interval=minutely'
        await follow(page, `/console/endpoints/usage.api-counts?project=${projects[0]}&${shown}`)
        const drawn = page.locator('.chart')
        await drawn.locator('canvas').waitFor()
        await page.getByRole('textbox', { name: 'SQL of the endpoint' }).waitFor()
        const bottom = async () => {
          const box = await drawn.boundingBox()
          return box && box.y + box.height
        }
        await expect.poll(bottom).toBeLessThan(height)
      })
    }
  })

  test('has no accessibility violations in either theme, narrow or wide', async () => {
    for (const name of ['split', 'number', 'logs'] as const) {
      await open(name, async (page) => {
        await page.locator(name === 'split' ? '.chart canvas' : '.big-figures, .empty').waitFor()
        if (name === 'split') await page.getByRole('button', { name: 'Chart settings' }).click()
        for (const [theme, width] of [
          ['light', 360],
          ['dark', 1440],
        ] as const) {
          await show(page, width, theme)
          await expectFit(page)
        }
      })
    }
  })
})

describe('a download', () => {
  const walk = onOneLoad(visit, admin)
  const fileOf = async (page: Page, format: string) => {
    const started = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download', exact: true }).click()
    await page.getByRole('button', { name: `Download ${format}` }).click()
    const file = await started
    return { name: file.suggestedFilename(), content: readFileSync(await file.path()) }
  }

  test('of an endpoint is CSV, JSON or Parquet, and says where it was cut', () =>
    walk('/console/endpoints/charts.bars?_view=table', async (page) => {
      await page.getByRole('columnheader', { name: 'path' }).waitFor()
      const csv = await fileOf(page, 'CSV')
      expect([csv.name, csv.content.toString()]).toEqual([
        'charts.bars.csv',
        '"path","egress_bytes"\n"/path/0",0\n"/path/1",1000000\n"/path/2",2000000\n',
      ])
      await page.getByText('The file is cut at the row limit.').waitFor()
      const json = await fileOf(page, 'JSON')
      expect(JSON.parse(json.content.toString()).result).toHaveLength(3)
      const parquet = await fileOf(page, 'Parquet')
      expect([parquet.name, parquet.content.subarray(0, 4).toString()]).toEqual([
        'charts.bars.parquet',
        'PAR1',
      ])
    }))

  test('of a draft has the rows of the draft', () =>
    walk('/console/endpoints/charts.number', async (page) => {
      await write(page, "SELECT 7 AS lucky, '=1+1' AS formula")
      await page.keyboard.press('Control+Enter')
      await page.getByRole('columnheader', { name: 'lucky' }).waitFor()
      expect((await fileOf(page, 'CSV')).content.toString()).toBe(`"lucky","formula"\n7,"'=1+1"\n`)
      expect((await fileOf(page, 'Parquet')).content.subarray(0, 4).toString()).toBe('PAR1')
    }))
})

import { beforeAll, describe, expect, test } from 'vitest'
import { follow } from './stage/browser.ts'
import { boxOf, expectNoOverflow, onOneLoad, onPage, openStage, show } from './stage/stage.ts'

const stage = openStage()
const { admin, asAdmin } = stage
const call = (name: string) => asAdmin('GET', `/api/endpoints/query/${name}`)
const page = (name: string, tab: string) => `/console/endpoints/${name}?_tab=${tab}`

beforeAll(async () => {
  const parameters = { n: { type: 'integer' } }
  for (const name of ['used.numbers', 'used.dropped', 'used.looks']) {
    const numbers = { name, query: 'SELECT @n AS n', parameters, cache_seconds: 600 }
    await asAdmin('POST', '/api/endpoints', numbers)
  }
  await asAdmin('POST', '/api/endpoints', {
    name: 'used.slow',
    query: 'SELECT max(cityHash64(number)) AS n FROM numbers(20000000000)',
    timeout_seconds: 1,
  })
  await asAdmin('POST', '/api/endpoints', {
    name: 'used.lasting',
    query: 'SELECT max(cityHash64(number)) AS n FROM numbers(@rows)',
    parameters: { rows: { type: 'integer', required: true, example: 1 } },
  })
})

describe('usage of an endpoint', () => {
  const walk = onOneLoad(onPage(stage), admin)

  test('shows requests, latency, cache hits, callers, errors with their meaning, and slow requests', async () => {
    for (const query of ['used.numbers?n=1', 'used.numbers?n=1', 'used.slow']) await call(query)
    await stage.service().statistics?.flush()
    await walk(page('used.numbers', 'usage'), async (tab) => {
      await tab.getByRole('slider', { name: 'Requests in the last hour: 2, 0 errors' }).waitFor()
      await tab.getByRole('slider', { name: /^Latency in the last hour: p50 .*, p95 .*, p99 / }).waitFor()
      await tab.getByRole('slider', { name: 'Cache hits in the last hour: 1 of 2 requests' }).waitFor()
      await tab.getByText('No errors.').waitFor()
      await tab.getByRole('cell', { name: 'Admin token' }).first().waitFor()
      await tab.getByRole('button', { name: '1 day' }).click()
      await tab.getByRole('slider', { name: 'Requests in the last day: 2, 0 errors' }).waitFor()
    })
    await walk(page('used.slow', 'usage'), async (tab) => {
      await tab.getByRole('slider', { name: 'Requests in the last hour: 1, 1 error' }).waitFor()
      const errors = tab.getByRole('region', { name: 'Errors in the last hour' })
      await errors.getByText('504 query_timeout').waitFor()
      await errors.getByText('The query was stopped at its time limit.').waitFor()
      const requests = tab.getByRole('region', { name: 'Slowest and failed requests' })
      await requests.getByRole('button', { name: 'Failed (1)' }).click()
    })
    await call('used.lasting?rows=1000')
    await stage.service().statistics?.flush()
    await walk(page('used.lasting', 'usage'), async (tab) => {
      const requests = tab.getByRole('region', { name: 'Slowest and failed requests' })
      await requests
        .getByRole('button', { name: /^Details of the request/ })
        .first()
        .click()
      await requests.getByText('version 1').waitFor()
    })
  })

  test('shows cached results, and drops them after a question', async () => {
    await call('used.dropped?n=7')
    await walk(page('used.dropped', 'cache'), async (tab) => {
      const row = tab.getByRole('row').filter({ hasText: 'n=7' })
      await row.getByText('fresh').waitFor()
      await tab.getByRole('button', { name: 'Drop cached results' }).click()
      await tab.getByRole('button', { name: 'Cancel' }).click()
      await row.waitFor()
      await tab.getByRole('button', { name: 'Drop cached results' }).click()
      await tab.getByRole('button', { name: /^Drop \d+ cached results?$/ }).click()
      await tab.getByRole('heading', { name: 'No cached results' }).waitFor()
      expect((await asAdmin('GET', '/api/endpoints/used.dropped/cache')).body.total).toBe(0)
    })
  })

  test('leads to the settings if results are not cached', () =>
    walk(page('used.slow', 'cache'), async (tab) => {
      await tab.getByRole('heading', { name: 'Results are not cached' }).waitFor()
      await tab.getByRole('main').getByRole('link', { name: 'settings' }).click()
      await tab.getByLabel('Cache lifetime, seconds').waitFor()
    }))

  test('fits each size with a chart in view', async () => {
    await call('used.looks?n=9')
    await stage.service().statistics?.flush()
    await walk(page('used.looks', 'usage'), async (tab) => {
      const chart = tab.getByRole('slider', { name: /^Requests in/ })
      for (const width of [1440, 1024, 390]) {
        await show(tab, width, 'light')
        await chart.waitFor()
        await expectNoOverflow(tab)
        const { y, height } = await boxOf(chart)
        expect(y + height).toBeLessThan(844)
      }
      await follow(tab, page('used.looks', 'cache'))
      await tab.getByText('fresh').first().waitFor()
      for (const width of [390, 1440]) {
        await show(tab, width, 'light')
        await expectNoOverflow(tab)
      }
    })
  })
})

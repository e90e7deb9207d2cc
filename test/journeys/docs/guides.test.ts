import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { systemTime } from '../../../src/core/base/clock.ts'
import { readDefinition } from '../../../src/core/endpoints/definition/definition-file.ts'
import { freePort } from '../../support/network/free-port.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { describeDashboard } from './dashboard.ts'
import {
  type Block,
  codeIn,
  expectRows,
  guideTimeMs,
  readGuide,
  readRequest,
  tableRows,
} from './guide-page.ts'

const guides = ['clickhouse-sql.md', 'from-logflare.md', 'from-tinybird.md', 'grafana.md'] as const
const json = { 'Content-Type': 'application/json' }

let service: RunningService
let pagePort: number
let nowMs = guideTimeMs

async function post(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await service.call(path, { method: 'POST', headers: json, body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const preview = (query: string) => post('/api/endpoints/preview', { endpoint: { query }, parameters: {} })

/** Saves an endpoint file under the name that the next request uses; requests by id work with any. */
async function save({ text, at }: Block, reference = ''): Promise<void> {
  const name = /^[0-9A-F-]{36}$/.test(reference) ? 'moved' : reference
  const reading = readDefinition(`${name}.sql`, text)
  if ('problems' in reading) throw new Error(`${at}: ${JSON.stringify(reading.problems)}`)
  const saved = await post('/api/endpoints', reading.definition)
  expect([saved.status, saved.body.error], at).toEqual([201, undefined])
  expect(saved.body.warnings ?? [], at).toEqual([])
}

/** Runs the blocks of a page from top to bottom. Requests use the last token that the page created. */
async function run(blocks: readonly Block[]): Promise<string | undefined> {
  let token: string | undefined
  for (const [index, block] of blocks.entries()) {
    const { language, note, text, at } = block
    const next = blocks[index + 1]
    const shown = next && ['jsonl', 'csv'].includes(next.language) ? next : undefined
    if (language === 'sql' && text.startsWith('/*')) {
      const call = blocks.slice(index).find((later) => later.language === 'http')
      await save(block, call && /query\/([\w.-]+)/.exec(call.text)?.[1])
    } else if (language === 'sql') {
      const checked = await post('/api/endpoints/check', { query: text })
      const ran = await preview(text)
      const refused = note === 'wrong' && shown === undefined
      expect([checked.status, ran.status], `${at} ${JSON.stringify(ran.body)}`).toEqual(
        refused ? [422, 422] : [200, 200],
      )
      if (note !== 'wrong') expect(checked.body.warnings ?? [], at).toEqual([])
      else if (!refused) expect(checked.body.warnings, at).not.toEqual([])
      if (shown) expectRows(ran.body.result, shown)
    } else if (language === 'http') {
      const { path, init } = readRequest(block)
      const key =
        !path.startsWith('/api/endpoints/query/') || token === undefined ? {} : { 'X-API-KEY': token }
      const response = await service.call(path, { ...init, headers: { ...init.headers, ...key } })
      const body = await response.text()
      expect(response.ok, `${at} ${body}`).toBe(true)
      if (shown?.language === 'csv') expect(body.trimEnd(), at).toBe(shown.text.trimEnd())
      else {
        const answer = JSON.parse(body)
        token = answer.token ?? token
        if (shown) expectRows(answer.result ?? answer, shown)
      }
    }
  }
  return token
}

beforeAll(async () => {
  pagePort = await freePort()
  service = await openService({
    time: systemTime({ now: () => nowMs }),
    environment: { WELLHEAD_CORS_ORIGINS: `https://app.example.com,http://127.0.0.1:${pagePort}` },
  })
  for (const { language, note, text, at } of guides.flatMap((name) => readGuide(name).blocks)) {
    if (language !== 'ndjson') continue
    const response = await service.call(`/api/logs?source=${note}`, { method: 'POST', body: text })
    expect(await response.json(), at).toMatchObject({
      accepted: text.trimEnd().split('\n').length,
      rejected: 0,
    })
  }
})

afterAll(async () => {
  await service?.close()
})

describe('docs/guides/clickhouse-sql.md', () => {
  const { page, blocks } = readGuide('clickhouse-sql.md')

  test('shows SQL that runs and the rows that it returns', async () => {
    expect(blocks.filter(({ language }) => language === 'sql').length).toBeGreaterThan(10)
    await run(blocks)
  })

  test('shows functions that exist, beside those of Postgres and BigQuery', async () => {
    const expressions = tableRows(page, 'You write', 'Here').flatMap(([, here]) => codeIn(here))
    const runnable = expressions.filter((code) => !/^(?:[A-Z]{4,}|dateDiff$|@project$)/.test(code))
    expect(runnable.length).toBeGreaterThan(25)
    const refused: string[] = []
    for (const code of runnable) {
      const { status, body } = await preview(`
        SELECT ${code} AS value
        FROM (
          SELECT
            event_message, metadata, timestamp AS t, request_path AS s, metadata.tags::Array(String) AS a,
            ifNull(origin_time, 0) AS x, toInt64(x) AS p, toInt64(7) AS q
          FROM edge_logs
          WHERE project = 'shop' AND timestamp > @now - INTERVAL 1 DAY
        )`)
      if (status !== 200) refused.push(`${code}: ${JSON.stringify(body)}`)
    }
    expect(refused).toEqual([])
  })
})

describe('docs/guides/from-logflare.md', () => {
  const { page, blocks } = readGuide('from-logflare.md')

  test('shows endpoints and requests that work', async () => {
    await run(blocks)
  })

  test('lists the names under which sources accept entries', async () => {
    const sources = (await (await service.call('/api/sources')).json()) as {
      name: string
      aliases: string[]
    }[]
    const listed = tableRows(page, 'Logflare', 'Source').map((cells) => cells.flatMap(codeIn))
    expect(listed).toHaveLength(9)
    const known = sources.flatMap(({ name, aliases }) => aliases.map((alias) => `${alias} ${name}`))
    expect(known).toEqual(expect.arrayContaining(listed.map((names) => names.join(' '))))
  })

  test('is right about requests that differ', async () => {
    const { url, adminToken } = service
    const keyInUrl = await fetch(
      `${url}/api/endpoints/query/logs.all?project=shop&api_key=${adminToken.token}`,
    )
    expect(keyInUrl.status).toBe(401)
    const bySource = await preview(
      'SELECT count() AS n FROM `cloudflare.logs.prod` WHERE timestamp > @now - INTERVAL 1 DAY',
    )
    expect(bySource.status).toBe(422)
  })
})

describe('docs/guides/from-tinybird.md', () => {
  test('shows endpoints, sources and tokens that work', async () => {
    const token = await run(readGuide('from-tinybird.md').blocks)
    const call = (query: string) =>
      service.call(`/api/endpoints/query/requests.by-path${query}`, {
        headers: { 'X-API-KEY': token as string },
      })
    const omitted = await call('')
    const { result } = (await omitted.json()) as { result: { requests: number }[] }
    expect(result.map(({ requests }) => requests)).toEqual([2, 2])
    expect([(await call('?hours=24')).status, (await call('?project=other')).status]).toEqual([403, 403])
  })
})

describe('docs/guides/grafana.md', () => {
  const { page, blocks } = readGuide('grafana.md')

  test("shows the responses to the data source's requests", async () => {
    await run(blocks)
  })

  test('names the header, the health check and the parameters of the panel', async () => {
    const { datasources } = parse(blocks.find(({ language }) => language === 'yaml')?.text ?? '')
    const { url, jsonData } = datasources[0]
    expect(jsonData.allowedHosts).toEqual([url])
    const health = await service.call(jsonData.customHealthCheckUrl.replace(url, ''), {
      headers: { [jsonData.apiKeyKey]: service.adminToken.token },
    })
    expect(health.status).toBe(200)
    const request = blocks.find(({ text }) => text.includes('/query/requests.by-time'))?.text ?? ''
    const sent = new URL(request.split('\n')[0]?.split(' ')[1] ?? '', url).searchParams
    expect(
      tableRows(page, 'Query parameter', 'Value')
        .flatMap(([name]) => codeIn(name))
        .sort(),
    ).toEqual([...sent.keys()])
  })
})

describeDashboard({
  service: () => service,
  pagePort: () => pagePort,
  setTime: (ms) => {
    nowMs = ms
  },
})

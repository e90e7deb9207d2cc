import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openService, type RunningService } from '../../support/service.ts'
import { refused, shapes } from './shapes.ts'
import { vectorSinks } from './vector.ts'

const tokens = { LOGFLARE_PUBLIC_ACCESS_TOKEN: 'public', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' }
/** The start of a minute, so that the entries are in two of them. */
const startMs = Math.floor((Date.now() - 1_800_000) / 60_000) * 60_000
const window = { iso_timestamp_start: new Date(startMs - 60_000).toISOString(), iso_timestamp_end: '' }

let service: RunningService

beforeAll(async () => {
  service = await openService({ environment: tokens })
  // As Vector does: the first request follows the health check.
  expect((await fetch(`${service.url}/health`)).status).toBe(200)
  for (const { source, events } of vectorSinks(startMs)) {
    const response = await send(`/api/logs?source_name=${source}`, 'public', events)
    expect(await response.json()).toMatchObject({ accepted: events.length, rejected: 0 })
  }
  const other = [{ id: 'other', project: 'other', event_message: 'of another project', timestamp: startMs }]
  await send('/api/logs?source_name=cloudflare.logs.prod', 'public', other)
})

afterAll(() => service.close())

function send(path: string, token: string, body: unknown): Promise<Response> {
  return fetch(service.url + path, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

function get(path: string, token = 'private'): Promise<Response> {
  return fetch(service.url + path, { headers: { 'x-api-key': token } })
}

interface Result {
  result?: Record<string, unknown>[]
  error?: string
}

async function query(name: string, parameters: Record<string, string>): Promise<Result> {
  const search = new URLSearchParams({ project: 'default', ...parameters })
  const response = await get(`/logflare/api/endpoints/query/${name}?${search}`)
  expect(response.status).toBe(200)
  return (await response.json()) as Result
}

const bigQuery = (sql: string) => query('logs.all', { ...window, sql })

describe('BigQuery SQL', () => {
  test.each(shapes(startMs))('$name', async ({ sql, rows }) => {
    const answer = await bigQuery(sql)
    expect(answer).toEqual({ result: rows })
    // Studio builds its table from the keys of the first row.
    expect(answer.result?.map(Object.keys)).toEqual(rows.map(Object.keys))
  })

  test.each(refused)('refuses %s', async (sql, message) => {
    const { error, ...others } = await bigQuery(sql)
    expect(error).toMatch(message)
    expect(others).toEqual({})
  })
})

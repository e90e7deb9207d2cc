import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { functions } from '../../../console/src/query/editor/sql-words.ts'
import { builtInEndpoints, builtInSources } from '../../../console/src/ui/built-in/built-in.ts'
import { builtInSources as sourcesOfEveryService } from '../../../src/built-in-sources.ts'
import { isAggregate, isAllowedFunction, isGenerator } from '../../../src/core/sql/functions.ts'
import { rawStatus } from '../../support/network/raw-request.ts'
import { projects } from './stage/data.ts'
import { onPage, openStage } from './stage/stage.ts'

const stage = openStage()
const visit = onPage(stage)

describe('files of the console', () => {
  test('the page loads nothing from other hosts, and its files are cached forever', async () => {
    const page = await fetch(`${stage.service().url}/`)
    const html = await page.text()
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
    expect(page.headers.get('cache-control')).toBe('no-cache')
    expect(html).not.toMatch(/<style|<script(?![^>]*src=)|https?:\/\//)
    const files = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path)
    expect(files.length).toBeGreaterThan(2)
    for (const file of files) {
      const answer = await fetch(stage.service().url + file)
      expect([file, answer.status]).toEqual([file, 200])
      expect(answer.headers.get('cache-control')).toContain('immutable')
    }
    const etag = page.headers.get('etag') as string
    expect((await fetch(`${stage.service().url}/`, { headers: { 'If-None-Match': etag } })).status).toBe(304)
  })

  test.each(['/console', '/console/'])('opens at %s', async (path) => {
    expect((await fetch(stage.service().url + path)).status).toBe(200)
    await visit(path, stage.admin(), (page) => page.getByRole('heading', { name: 'Overview' }).waitFor())
  })

  test('has a page for addresses that do not exist', async () => {
    const answer = await fetch(`${stage.service().url}/console/nope`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    await visit('/console/nope', stage.admin(), async (page) => {
      await page.getByText('/console/nope does not exist.').waitFor()
      await page.getByRole('main').getByRole('link').click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    })
  })

  test('serves nothing but its files, however the path is written', async () => {
    for (const path of [
      '/console/assets/../index.html',
      '/console/assets/%2e%2e%2f%2e%2e%2fpackage.json',
      '/console/assets/..%5c..%5cpackage.json',
      '/console/assets/__proto__',
      '/console/assets/',
      '/console/nothing',
    ]) {
      expect([path, await rawStatus(stage.service(), `GET ${path}`)]).toEqual([path, 404])
    }
  })
})

test('a page to embed can be framed by every origin unless the settings say otherwise', async () => {
  const { headers } = await fetch(`${stage.service().url}/embed/logs.all`)
  expect(headers.get('content-security-policy')).toMatch(/frame-ancestors \*$/)
  expect(headers.get('x-frame-options')).toBeNull()
})

test('allows every function that the editor suggests in saved SQL', () => {
  const may = (name: string) => isAllowedFunction(name) || isAggregate(name) || isGenerator(name)
  // This one is of ours, and the engine never sees it.
  expect(functions.filter((name) => !may(name))).toEqual(['matches'])
})

test('groups exactly the sources and endpoints that every service has', () => {
  expect([...builtInSources].toSorted()).toEqual(sourcesOfEveryService.map(({ name }) => name).toSorted())
  const folder = new URL('../../../shipped/endpoints/', import.meta.url)
  const files = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'))
  const ids = files.map((text) => /^id: (\S+)$/m.exec(text)?.[1])
  expect([...builtInEndpoints.keys()].toSorted()).toEqual(ids.toSorted())
  for (const [id, source] of builtInEndpoints) {
    expect(files.find((text) => text.includes(id))).toMatch(new RegExp(`FROM ${source}\\b`))
  }
})

describe('finding entries', () => {
  const search = (path: string, body: unknown) =>
    stage.asAdmin('POST', `/api/sources/edge_logs/${path}`, body)
  // Other files send entries to the same service.
  const query = `project:(${projects.join(' OR ')})`
  const day = { from: new Date(Date.now() - 86_400_000).toISOString(), query }

  test('returns entries page by page, each once', async () => {
    const seen: string[] = []
    let before: { timestamp: number; id: string } | undefined
    for (;;) {
      const { body } = await search('search', { ...day, limit: 50, ...(before && { before }) })
      seen.push(...body.map(({ id }: { id: string }) => id))
      const last = body.at(-1)
      if (body.length < 50) break
      before = { timestamp: last.timestamp, id: last.id }
    }
    expect(seen).toHaveLength(110)
    expect(new Set(seen).size).toBe(110)
  })

  test('compares values as text or numbers, and treats hostile values as values', async () => {
    const count = async (query: string) =>
      (await search('search', { ...day, project: projects[0], limit: 500, query })).body.length
    const status = 'response.status_code'
    expect(await count(`${status}:500`)).toBe(6)
    expect(await count(`NOT ${status}:500`)).toBe(49)
    expect(await count(`${status}:>=300`)).toBe(6)
    expect(await count(`${status}:*`)).toBe(55)
    expect(await count('not.there:*')).toBe(0)
    expect(await count('NOT not.there:*')).toBe(55)
    expect(await count(`NOT ${status}:>=300`)).toBe(49)
    expect(await count('NOT not.there:>=300')).toBe(55)
    expect(await count('NOT event_message:*Orders*')).toBe(36)
    expect(await count('ORDERS "get |"')).toBe(19)
    const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
    const hostile = ["' OR 1=1 --", '\\', '`', '{x:String}', '%', '\u0000']
    for (const text of hostile) {
      const condition = `request.method:${quoted(text)} ${quoted(text)}`
      expect([text, await count(condition)]).toEqual([text, 0])
    }
    const paths = ['a`) OR 1=1 --', 'a\\`b', "a'b", 'request.`x`', 'a b', 'ä']
    expect(await count(paths.map((path) => `NOT ${quoted(path)}:x`).join(' '))).toBe(55)
  })

  test('rejects invalid requests and names the field', async () => {
    for (const [path, body, parameter] of [
      ['search', { limit: 1001 }, 'limit'],
      ['search', { from: 'yesterday' }, 'from'],
      ['search', { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'to'],
      ['search', { query: 'a..b:x' }, 'query'],
      ['search', { filters: [] }, 'filters'],
      ['search', { text: ['x'] }, 'text'],
      ['search', { sql: 'SELECT 1' }, 'sql'],
      ['histogram', { buckets: 0 }, 'buckets'],
      ['values', {}, 'path'],
    ] as const) {
      const { status, body: answer } = await search(path, body)
      expect([path, body, status, answer.error?.parameter]).toEqual([path, body, 400, parameter])
    }
  })

  test('returns counts and values that agree with the entries', async () => {
    const { body } = await search('histogram', { ...day, buckets: 30 })
    const total = body.buckets.reduce((sum: number, { count }: { count: number }) => sum + count, 0)
    expect([body.bucket_seconds, total]).toEqual([3600, 110])
    const values = await search('values', { ...day, path: 'project' })
    expect(values.body.map(({ count }: { count: number }) => count)).toEqual([55, 55])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { type EventReader, openEvents } from '../../support/network/event-reader.ts'
import type { RunningService } from '../../support/service.ts'

export function liveJourneys(running: () => RunningService): void {
  const { send, recent } = logClient(running)
  const readers: EventReader[] = []
  const open = async (path: string, token = running().adminToken.token, headers = {}) => {
    const reader = await openEvents(running().url + path, token, headers)
    readers.push(reader)
    return reader
  }
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const rowsOf = async (reader: EventReader) => {
    const event = await reader.next()
    return event?.event === 'result' ? JSON.parse(event.data).result : event
  }

  describe('live entries and results', () => {
    const query = '/api/endpoints/query'
    let tenant: { id: string; token: string }

    beforeAll(async () => {
      await admin('POST', '/api/sources', { name: 'live_logs', aliases: ['live.logs'], published: true })
      const counted = 'SELECT project, count() AS n FROM live_logs GROUP BY project ORDER BY project'
      await admin('POST', '/api/endpoints', { published: true, name: 'live.counts', query: counted })
      await admin('POST', '/api/endpoints', {
        published: true,
        name: 'live.cached',
        query: counted,
        cache_seconds: 1,
      })
      tenant = await makeToken(running(), { scopes: ['query', 'search'], project: 'a' })
    })
    afterAll(() => {
      for (const reader of readers) reader.close()
    })

    test('sends a stored entry to all readers of its source, in the form of a listing', async () => {
      const one = await open('/api/sources/live.logs/tail')
      const other = await open('/api/sources/live_logs/tail?query=HELLO&project=a')
      const own = await open('/api/sources/live_logs/tail', tenant.token)
      const entries = [
        {
          id: '1',
          project: 'a',
          event_message: 'hello "ü"',
          metadata: { deep: { 'a.b': [1, 'x'] }, big: 2 ** 40 },
        },
        { id: '2', project: 'b', event_message: 'hello', timestamp: (Date.now() - 60_000) * 1000 + 1 },
        'no entry',
        { id: '3', project: 'a', event_message: 'bye' },
      ]
      const sent = await send('live_logs', JSON.stringify(entries))
      expect(sent.body).toMatchObject({ accepted: 3, rejected: 1 })
      const listed = new Map((await recent('live_logs')).map((entry) => [entry.id, entry]))
      const seen = async (reader: EventReader) => JSON.parse((await reader.next())?.data as string)
      for (const id of ['1', '2', '3']) expect(await seen(one)).toEqual(listed.get(id))
      expect(await seen(other)).toEqual(listed.get('1'))
      for (const id of ['1', '3']) expect(await seen(own)).toEqual(listed.get(id))
    })

    test('sends rejected entries to readers of the quarantine', async () => {
      const quarantine = await open('/api/sources/quarantine/tail?query=%22not+an%22')
      await send('live_logs', JSON.stringify(['not an entry']))
      expect(JSON.parse((await quarantine.next())?.data as string)).toMatchObject({
        event_message: '"not an entry"',
        metadata: { source: 'live_logs', index: 0 },
      })
    })

    test('sends entries that the service writes itself in the form of a listing, if their fields match', async () => {
      const audit = await open('/api/sources/audit_events/tail?query=target:live_audited')
      await admin('POST', '/api/sources', { name: 'live_audited' })
      const seen = JSON.parse((await audit.next())?.data as string)
      expect(seen.metadata).toMatchObject({ action: 'source.create', target: 'live_audited' })
      expect(await recent('audit_events')).toContainEqual(seen)
    })

    test('sends missed entries after a reconnect', async () => {
      const before = await open('/api/sources/live_logs/tail?project=a')
      await send('live_logs', JSON.stringify([{ project: 'a', id: '4' }]))
      const { id } = (await before.next()) as { id: string }
      before.close()
      await send(
        'live_logs',
        JSON.stringify([
          { project: 'b', id: '5' },
          { project: 'a', id: '6' },
        ]),
      )
      const after = await open('/api/sources/live_logs/tail?project=a', undefined, { 'Last-Event-ID': id })
      expect(JSON.parse((await after.next())?.data as string)).toMatchObject({ id: '6' })
    })

    test('sends a result at once and whenever entries change it, and to a tenant only its own', async () => {
      const all = await open(`${query}/live.counts`)
      const own = await open(`${query}/live.counts`, tenant.token)
      expect(all.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      const [a, b] = await rowsOf(all)
      expect([a.project, b.project]).toEqual(['a', 'b'])
      expect(await rowsOf(own)).toEqual([a])
      await send('live_logs', JSON.stringify([{ project: 'a' }, { project: 'b' }]))
      expect(await rowsOf(all)).toEqual([
        { project: 'a', n: a.n + 1 },
        { project: 'b', n: b.n + 1 },
      ])
      expect(await rowsOf(own)).toEqual([{ project: 'a', n: a.n + 1 }])
    })

    test('sends a cached result when the cache has a newer one, unless the reader has it', async () => {
      const first = await open(`${query}/live.cached`)
      const { id, data } = (await first.next()) as { id: string; data: string }
      const called = await admin('GET', `${query}/live.cached`)
      expect([called.headers.get('etag'), called.body]).toEqual([id, JSON.parse(data)])
      const again = await open(`${query}/live.cached`, undefined, { 'Last-Event-ID': id })
      await send('live_logs', JSON.stringify([{ project: 'c' }]))
      for (const reader of [first, again]) expect(await rowsOf(reader)).toContainEqual({ project: 'c', n: 1 })
    })

    test('reports errors before a stream begins', async () => {
      const status = async (path: string, token?: string) => (await open(path, token)).status
      expect(await status(`${query}/no.such`)).toBe(404)
      expect(await status(`${query}/logs.all`)).toBe(400)
      expect(await status(`${query}/logs.all?project=b`, tenant.token)).toBe(403)
      // _format takes precedence over Accept.
      const csv = await open(`${query}/live.counts?_format=csv`)
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(await status('/api/sources/no_such/tail')).toBe(404)
      const posted = await ask(
        running(),
        running().adminToken.token,
        'POST',
        `${query}/live.counts`,
        {},
        {
          Accept: 'text/event-stream',
        },
      )
      expect(posted.status).toBe(406)
    })

    test('ends streams with their token, endpoint or source', async () => {
      const own = await open('/api/sources/live_logs/tail', tenant.token)
      await admin('DELETE', `/api/access-tokens/${tenant.id}`)
      expect(await own.next()).toBeUndefined()
      const counts = await open(`${query}/live.counts`)
      await counts.next()
      await admin('PATCH', '/api/endpoints/live.counts', { description: 'changed' })
      expect(await counts.next()).toBeUndefined()
      const tail = await open('/api/sources/live_logs/tail')
      const used = await admin('DELETE', '/api/sources/live_logs?confirm=live_logs')
      expect([used.status, used.body.error.code]).toEqual([409, 'in_use'])
      await admin('POST', '/api/deployments', {
        delete: { endpoints: used.body.error.users.map((user: string) => user.slice('endpoints/'.length)) },
      })
      await admin('DELETE', '/api/sources/live_logs?confirm=live_logs')
      expect(await tail.next()).toBeUndefined()
    })
  })
}

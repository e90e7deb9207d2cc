import { beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import type { RunningService } from '../../support/service.ts'

const hourMs = 3_600_000

export function erasureJourneys(running: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, path, body, headers)
  const send = (source: string, entries: unknown, headers?: Record<string, string>) =>
    admin('POST', `/api/logs?source=${source}`, entries, headers)
  const entryOf = (project: string, id: string, hours = 0) => ({
    ...{ project, id, event_message: `secret of ${project}` },
    timestamp: new Date(Date.now() - hours * hourMs).toISOString(),
  })
  const idsIn = async (source: string, project: string) => {
    const search = { project, from: '2020-01-01T00:00:00Z', limit: 100 }
    const { body } = await admin('POST', `/api/sources/${source}/search`, search)
    return body.map(({ id }: { id: string }) => id).sort()
  }
  const erase = async (body: object) => {
    const begun = await admin('POST', '/api/erasures', body)
    expect([begun.status, begun.body], JSON.stringify(begun.body)).toMatchObject([
      202,
      { state: expect.any(String) },
    ])
    return begun.body as { id: string; entries: number }
  }
  const done = (id: string) =>
    expect
      .poll(async () => (await admin('GET', `/api/erasures/${id}`)).body, { interval: 100 })
      .toMatchObject({ state: 'done', backups_before: expect.any(String) })

  describe('erasures', () => {
    beforeAll(async () => {
      for (const name of ['erase_logs', 'erase_more'])
        await admin('POST', '/api/sources', { name, published: true })
      await admin('POST', '/api/endpoints', {
        name: 'erase.cached',
        query: 'SELECT id FROM erase_logs WHERE project = @project ORDER BY id',
        parameters: { project: { required: true } },
        cache_seconds: 600,
        published: true,
      })
    })

    test('of a whole project remove its rows of tables, and no others', async () => {
      await admin('POST', '/api/tables', { name: 'erase_customers' })
      const rows = ['erase-t', 'erase-u', 'erase-t'].map((project, n) => ({ project, n }))
      expect((await admin('PUT', '/api/tables/erase_customers/rows', rows)).status).toBe(200)
      const read = async () =>
        (await admin('POST', '/api/sql', { query: 'SELECT n FROM erase_customers ORDER BY n' })).body.result
      await done((await erase({ project: 'erase-t', source: 'erase_logs' })).id)
      expect(await read()).toHaveLength(3)
      // Rows have no time.
      await done((await erase({ project: 'erase-t', to: '2020-01-01T00:00:00Z' })).id)
      expect(await read()).toHaveLength(3)
      await done((await erase({ project: 'erase-t' })).id)
      expect(await read()).toEqual([{ n: 1 }])
      // They do not come back with the same file unless that is confirmed.
      const put = (query: string) => admin('PUT', `/api/tables/erase_customers/rows${query}`, rows)
      for (const query of ['', '?dry_run=true']) {
        const refused = await put(query)
        expect([refused.status, refused.body.error?.code]).toEqual([409, 'breaking_change'])
        expect(refused.body.error.changes[0].message).toBe(
          'rows of erased projects would come back: "erase-t"',
        )
      }
      expect(await read()).toEqual([{ n: 1 }])
      expect((await put('?restore_erased=true')).status).toBe(200)
      // What was restored on purpose can be sent again.
      expect((await put('')).status).toBe(200)
      expect(await read()).toHaveLength(3)
    })

    test('erase all entries of a project everywhere, and no others', async () => {
      const at = Date.now()
      const key = { 'Idempotency-Key': 'erase-key' }
      const first = [entryOf('erase-a', '1'), entryOf('erase-a', '2', 5)]
      await send('erase_logs', first, key)
      // Ahead of the clock, as of a sender whose own is.
      await send('erase_logs', [entryOf('erase-a', '3', -0.5), entryOf('erase-b', '4')])
      await send('erase_more', [entryOf('erase-a', '5'), entryOf('erase-b', '6')])
      const rejected = {
        project: 'erase-a',
        id: 'q1',
        timestamp: 'no time',
        event_message: 'rejected secret',
      }
      await send('erase_logs', [rejected, { ...rejected, project: 'erase-b', id: 'q2' }])
      await send(
        'erase_logs',
        '{"project":"erase-a","event_message":"broken secret}\n{"project":"erase-e"}',
        {
          'Content-Type': 'application/x-ndjson',
        },
      )
      const tenant = await makeToken(running(), { scopes: ['query', 'search'], project: 'erase-a' })
      const call = (project: string) => admin('GET', `/api/endpoints/query/erase.cached?project=${project}`)
      const own = () => ask(running(), tenant.token, 'GET', '/api/endpoints/query/erase.cached')
      for (const { body } of [await call('erase-a'), await own()]) expect(body.result).toHaveLength(3)
      expect((await call('erase-b')).body.result).toHaveLength(1)
      const stream = await openEvents(`${running().url}/api/sources/erase_logs/tail`, tenant.token)

      // The request of the tenant is an entry of its project, too, once it is stored.
      await expect.poll(() => idsIn('endpoint_requests', 'erase-a')).toHaveLength(1)
      const dry = await admin('POST', '/api/erasures', { project: 'erase-a', dry_run: true })
      // Four entries, two that were rejected, and the request.
      const terms = { project: 'erase-a', source: null, from: null, to: expect.any(String), ids: null }
      const times = { created_at: null, done_at: null, backups_before: null }
      expect([dry.status, dry.body]).toEqual([200, { id: null, ...terms, state: null, entries: 7, ...times }])
      expect((await call('erase-a')).body.result).toHaveLength(3)

      const { id, entries } = await erase({ project: 'erase-a' })
      expect(entries).toBe(7)
      // Hidden at once, before anything is deleted.
      for (const { body } of [await call('erase-a'), await own()]) expect(body.result).toEqual([])
      expect(await idsIn('erase_logs', 'erase-a')).toEqual([])
      await done(id)
      stream.close()
      const { body } = await admin('GET', `/api/erasures/${id}`)
      expect(Date.parse(body.backups_before)).toBeGreaterThanOrEqual(at)
      for (const source of ['erase_logs', 'erase_more']) {
        expect(await idsIn(source, 'erase-a')).toEqual([])
        expect(await idsIn(source, 'erase-b')).toHaveLength(1)
      }
      const kept = await admin('POST', '/api/sources/quarantine/search', { query: 'secret', limit: 100 })
      const texts = kept.body.map(({ event_message }: { event_message: string }) => event_message)
      expect(texts.filter((text: string) => text.includes('erase-a'))).toEqual([])
      expect(texts.some((text: string) => text.includes('q2'))).toBe(true)
      const keys = "SELECT count() FROM _idempotency WHERE project = 'erase-a'"
      const { body: left } = await running().engine.query(
        { sql: keys, format: 'TabSeparated' },
        { deadlineMs: 30_000 },
      )
      expect(left.toString().trim()).toBe('0')
      // The key is forgotten, by the service and by the engine, so the same request is a new one, and then a repeated one.
      for (const replayed of [null, 'true']) {
        const again = await send('erase_logs', first, key)
        expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, replayed])
        expect(await idsIn('erase_logs', 'erase-a')).toEqual(['1', '2'])
      }
      const { body: audit } = await admin('POST', '/api/sources/audit_events/search', { query: id })
      expect(audit[0].metadata).toMatchObject({ action: 'erasure.create', target: 'erase-a' })
      expect(JSON.stringify(audit)).not.toContain('secret')
    })

    test('find rejected entries where their source has the project, and no others', async () => {
      await admin('POST', '/api/sources', { name: 'erase_nested', project: 'customer.id' })
      const rejected = (id: string, more: object) => ({ id, timestamp: 'no time', ...more })
      await send('erase_nested', [
        rejected('n1', { customer: { id: '78001' } }),
        rejected('n2', { metadata: { customer: { id: '78001' } } }),
        rejected('n3', { project_ref: '78001' }),
        rejected('n4', { customer: { id: 'erase-m' }, project_ref: '78001' }),
        rejected('n5', { project: 'erase-m', customer: { id: '78001' } }),
        rejected('n6', { project: 'erase-m', event_message: '78001' }),
      ])
      // Only their own sources have the project there.
      await send('erase_logs', [
        rejected('n7', { customer: { id: '78001' } }),
        rejected('n8', { project: 78001 }),
      ])
      const ids = async () => {
        const search = { query: '"no time"', from: '2020-01-01T00:00:00Z', limit: 100 }
        const { body } = await admin('POST', '/api/sources/quarantine/search', search)
        const texts = body.map(({ event_message }: { event_message: string }) => JSON.parse(event_message).id)
        return texts.filter((id: string) => /^n\d$/.test(id)).sort()
      }
      expect(await ids()).toHaveLength(8)
      await done((await erase({ project: '78001' })).id)
      expect(await ids()).toEqual(['n4', 'n5', 'n6', 'n7'])
    })

    test('reach the history of alerts on behalf of the project, groups that name it, and what waits to be sent', async () => {
      const rows = async (sql: string) => {
        const { body } = await running().engine.query({ sql, format: 'JSONEachRow' }, { deadlineMs: 30_000 })
        return body.toString()
      }
      const waiting = () =>
        rows(
          "SELECT argMax(a.body, a.sequence) AS newest FROM _alerts AS a WHERE position(id, ' ') > 0 GROUP BY id HAVING position(newest, 'secret of erase-n') > 0",
        )
      const events = async (project: string) => {
        const at = (...keys: string[]) =>
          `JSONExtractString(metadata, ${keys.map((key) => `'${key}'`)}) = '${project}'`
        const query = `SELECT count() AS n FROM alert_events WHERE metadata LIKE '%"state":"firing"%' AND (${at('project')} OR ${at('key', 'project')})`
        return (await admin('POST', '/api/sql', { query })).body.result[0].n
      }
      const texts = 'SELECT project, event_message AS text, 1 AS n FROM erase_logs'
      await admin('POST', '/api/endpoints', {
        name: 'erase.texts',
        query: `${texts} WHERE project = @project`,
        parameters: { project: { required: true } },
      })
      await admin('POST', '/api/endpoints', {
        name: 'erase.groups',
        query: `${texts} WHERE project LIKE 'erase-n%'`,
      })
      await send('erase_logs', [entryOf('erase-n', '1'), entryOf('erase-nn', '2')])
      // Nothing listens there.
      const notify = [{ type: 'webhook', url: 'http://127.0.0.1:1/' }]
      const own = {
        name: 'erase-own',
        endpoint: 'erase.texts',
        parameters: { project: 'erase-n' },
        when: 'rows > 0',
      }
      const all = { name: 'erase-all', endpoint: 'erase.groups', by: ['project', 'text'], when: 'any(n) > 0' }
      for (const alert of [{ ...own, notify }, all]) {
        const { status, body } = await admin('POST', '/api/alerts', { ...alert, every_seconds: 3600 })
        expect(status, JSON.stringify(body)).toBe(201)
      }
      await expect.poll(() => events('erase-n')).toBeGreaterThanOrEqual(2)
      await expect.poll(waiting).toContain('secret of erase-n')
      await done((await erase({ project: 'erase-n' })).id)
      expect([await events('erase-n'), await events('erase-nn')]).toEqual([0, 1])
      expect(await waiting()).toBe('')
      const { body: groups } = await admin('GET', '/api/alerts/erase-all/groups')
      expect(groups.map(({ key }: { key: { project: string } }) => key.project)).toEqual(['erase-nn'])
    })

    test('erase entries of any name that an entry can have', async () => {
      for (const project of ['erase-\t\u0000\u007f', 'x'.repeat(1000)]) {
        await send('erase_logs', [entryOf(project, '1')])
        expect(await idsIn('erase_logs', project)).toEqual(['1'])
        await done((await erase({ project })).id)
        expect(await idsIn('erase_logs', project)).toEqual([])
      }
    })

    test('erase only the source, the time and the ids that were named', async () => {
      const entries = [1, 2, 3, 4].map((id, index) => entryOf('erase-c', String(id), index))
      const key = { 'Idempotency-Key': 'erase-some' }
      for (const source of ['erase_logs', 'erase_more']) await send(source, entries, key)
      const at = (hours: number) => new Date(Date.now() - hours * hourMs).toISOString()
      const from = at(2.5).replace('Z', '+00:00')
      const one = await erase({ project: 'erase-c', source: 'erase_logs', from, to: at(0.5) })
      const other = await erase({ project: 'erase-c', source: 'erase_more', ids: ['4', "'); DROP"] })
      expect([one.entries, other.entries]).toEqual([2, 1])
      await done(one.id)
      await done(other.id)
      // Otherwise the entries that are left would be stored twice.
      const again = await send('erase_logs', entries, key)
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(await idsIn('erase_logs', 'erase-c')).toEqual(['1', '4'])
      expect(await idsIn('erase_more', 'erase-c')).toEqual(['1', '2', '3'])
    })

    test('leave every entry that is acknowledged after they were accepted, whatever its time', async () => {
      const key = { 'Idempotency-Key': 'erase-later' }
      // Ahead of the clock, so that every later entry has an earlier time.
      await send('erase_logs', [entryOf('erase-f', 'ahead', -0.9)])
      await send('erase_logs', [entryOf('erase-f', 'keyed', -0.8)], key)
      await send('erase_more', [entryOf('erase-f', 'old', 30)])
      // Senders that do not stop. Each knows what was acknowledged before the request, and what was sent after the response.
      let phase: 'before' | 'during' | 'after' = 'before'
      const sent = { before: [] as string[], during: [] as string[], after: [] as string[] }
      let isStopped = false
      let next = 0
      const sender = async () => {
        while (!isStopped) {
          const [id, began] = [`${next++}`, phase]
          const { status } = await send('erase_logs', [entryOf('erase-f', id, next % 2)])
          expect(status).toBe(200)
          sent[began === phase ? began : 'during'].push(id)
        }
      }
      const senders = [sender(), sender(), sender()]
      await expect.poll(() => sent.before.length).toBeGreaterThan(5)
      phase = 'during'
      const { id } = await erase({ project: 'erase-f' })
      phase = 'after'
      // The key is that of a request whose entries are gone.
      const repeated = await send('erase_logs', [entryOf('erase-f', 'keyed again')], key)
      expect(repeated.headers.get('idempotency-replayed')).toBeNull()
      await send('erase_more', [entryOf('erase-f', 'new source', 1)])
      const later = [...sent.after]
      const seen = new Set(await idsIn('erase_logs', 'erase-f'))
      expect([...later, 'keyed again'].filter((each) => !seen.has(each))).toEqual([])
      isStopped = true
      await Promise.all(senders)
      const idsOf = async (source: string) => {
        const query = `SELECT id FROM ${source} WHERE project = 'erase-f' LIMIT 1000`
        const { body } = await admin('POST', '/api/sql', { query })
        return new Set<string>(body.result.map((row: { id: string }) => row.id))
      }
      const whileRunning = await idsOf('erase_logs')
      await done(id)
      const afterwards = await idsOf('erase_logs')
      expect(afterwards).toEqual(whileRunning)
      expect(await idsOf('erase_more')).toEqual(new Set(['new source']))
      expect(sent.after.filter((each) => !afterwards.has(each))).toEqual([])
      expect(['ahead', 'keyed', ...sent.before].filter((each) => afterwards.has(each))).toEqual([])
    })

    test('with an end leave what is acknowledged later, also before that end', async () => {
      await send('erase_logs', [entryOf('erase-g', '1', 2), entryOf('erase-g', '2')])
      const to = new Date(Date.now() - hourMs).toISOString()
      const { id, entries } = await erase({ project: 'erase-g', to })
      await send('erase_logs', [entryOf('erase-g', '3', 2)])
      expect(await idsIn('erase_logs', 'erase-g')).toEqual(['2', '3'])
      await done(id)
      expect([entries, await idsIn('erase_logs', 'erase-g')]).toEqual([1, ['2', '3']])
    })

    test('of several at once each remove what they name', async () => {
      const projects = Array.from({ length: 12 }, (_, n) => `erase-many-${n}`)
      await send(
        'erase_logs',
        projects.flatMap((project) => ['1', '2'].map((id) => entryOf(project, id, -0.5))),
      )
      const begun = await Promise.all(projects.map((project) => erase({ project, ids: ['1'] })))
      expect(begun.map(({ entries }) => entries)).toEqual(projects.map(() => 1))
      await send(
        'erase_logs',
        projects.map((project) => entryOf(project, '1')),
      )
      for (const { id } of begun) await done(id)
      for (const project of projects) expect(await idsIn('erase_logs', project)).toEqual(['1', '2'])
    })

    test('of the same entries at once are both done, and later entries stay', async () => {
      await send('erase_logs', [entryOf('erase-d', '1')])
      const two = await Promise.all([erase({ project: 'erase-d' }), erase({ project: 'erase-d' })])
      for (const { id } of two) await done(id)
      await send('erase_logs', [entryOf('erase-d', '2')])
      expect(await idsIn('erase_logs', 'erase-d')).toEqual(['2'])
    })

    test.each([
      [{}, 'project'],
      [{ project: '' }, 'project'],
      [{ project: 'a'.repeat(1001) }, 'project'],
      [{ project: 'a', from: 'yesterday' }, 'from'],
      [{ project: 'a', from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'to'],
      [{ project: 'a', ids: [] }, 'ids'],
      [{ project: 'a', ids: Array(1001).fill('x') }, 'ids'],
      [{ project: 'a', everything: true }, 'everything'],
    ])('refuse %j', async (body, parameter) => {
      const refused = await admin('POST', '/api/erasures', body)
      expect([refused.status, refused.body.error.parameter]).toEqual([400, parameter])
    })

    test('refuse a source that does not exist, and an unknown id is not found', async () => {
      const refused = await admin('POST', '/api/erasures', { project: 'a', source: 'absent' })
      expect([refused.status, refused.body.error.code]).toEqual([404, 'source_not_found'])
      expect((await admin('GET', '/api/erasures/absent')).status).toBe(404)
    })
  })
}

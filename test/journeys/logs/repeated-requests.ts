import { describe, expect, test } from 'vitest'
import { IdempotencyKeys } from '../../../src/core/intake/idempotency.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { manualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'

const limits = { deadlineMs: 60_000 }

export function describeRepeatedRequests(service: () => RunningService): void {
  const { send, recent } = logClient(service)
  const run = (sql: string) => service().engine.command({ sql }, limits)
  const read = async (sql: string) => {
    const { body } = await service().engine.query({ sql, format: 'TabSeparatedRaw' }, limits)
    return Number(body.toString())
  }

  const sessionsOf = (token: string, projects: readonly string[]): Promise<string[]> =>
    Promise.all(
      projects.map(async (project) => {
        const made = await ask(service(), token, 'POST', '/api/access-tokens/self/session', { project })
        return made.body.token
      }),
    )

  describe('a request with an idempotency key', () => {
    test('stores nothing twice and gets the same response again', async () => {
      const body = JSON.stringify([{ id: 'once' }, 'bad'])
      const headers = { 'Idempotency-Key': 'k-1' }
      const together = await Promise.all([
        send('function_logs', body, headers),
        send('function_logs', body, headers),
      ])
      const again = await send('function_logs', body, headers)
      for (const sent of [...together, again]) expect(sent).toEqual(again)
      expect(again.body).toMatchObject({ accepted: 1, rejected: 1 })
      expect(await recent('function_logs')).toHaveLength(1)
      const replayed = async (key: string) => {
        const init = { method: 'POST', body, headers: { 'Idempotency-Key': key } }
        return (await service().call('/api/logs?source=function_logs', init)).headers.get(
          'idempotency-replayed',
        )
      }
      expect([await replayed('k-1'), await replayed('k-2'), await replayed('k-2')]).toEqual([
        'true',
        null,
        'true',
      ])
      expect(await recent('function_logs')).toHaveLength(2)
    })

    test('is refused with another body, whether the first one runs, has ended or was compressed', async () => {
      const headers = { 'Idempotency-Key': 'mismatch' }
      const one = JSON.stringify([{ id: 'mismatch-1', project: 'mismatch' }])
      const other = JSON.stringify([{ id: 'mismatch-2', project: 'mismatch' }])
      const together = await Promise.all([send('auth_logs', one, headers), send('auth_logs', other, headers)])
      expect(together.map(({ status }) => status).sort()).toEqual([200, 422])
      const [stored, refused] = together[0]?.status === 200 ? [one, other] : [other, one]
      const mismatch = await send('auth_logs', refused, headers)
      expect([mismatch.status, mismatch.body.error]).toEqual([
        422,
        expect.objectContaining({
          code: 'idempotency_mismatch',
          message: expect.stringContaining('another body'),
        }),
      ])
      expect((await send('auth_logs', stored, headers)).status).toBe(200)
      // A key of another source is another key.
      expect((await send('storage_logs', refused, headers)).status).toBe(200)
      expect(await read("SELECT count() FROM auth_logs WHERE project = 'mismatch'")).toBe(1)
    })

    test('keeps a small response, however many entries were rejected', async () => {
      const rejected = 50_000
      const body = '1\n'.repeat(rejected)
      const headers = { 'Idempotency-Key': 'all rejected', 'Content-Type': 'application/x-ndjson' }
      const first = await send('function_logs', body, headers)
      expect(first.body).toMatchObject({ accepted: 0, rejected })
      expect(first.body.errors.map(({ index }: { index: number }) => index)).toEqual(
        Array.from({ length: 100 }, (_, index) => index),
      )
      expect(await send('function_logs', body, headers)).toEqual(first)
      expect(await read('SELECT max(length(response)) FROM _idempotency')).toBeLessThan(16_384)
    })

    test('is known after a restart, for a day', async () => {
      const clock = manualClock(Date.now())
      const fresh = () => new IdempotencyKeys(service().engine, clock)
      let runs = 0
      const work = async () => ++runs
      expect(await fresh().once(['a'], 'k', 'one', work)).toEqual({ result: 1, repeated: false })
      expect(await fresh().once(['a'], 'k', 'one', work)).toEqual({ result: 1, repeated: true })
      await expect(fresh().once(['a'], 'k', 'two', work)).rejects.toMatchObject({
        code: 'idempotency_mismatch',
      })
      clock.advance(86_400_000)
      expect(await fresh().once(['a'], 'k', 'two', work)).toEqual({ result: 2, repeated: false })
    })

    test('uses another token of the engine for another body, so that a crash in between loses nothing', async () => {
      const keys = new IdempotencyKeys(service().engine, manualClock(Date.now()))
      const tokens: string[] = []
      const fail = async (token: string) => {
        tokens.push(token)
        throw new Error('the service stopped')
      }
      for (const digest of ['one', 'one', 'two']) await keys.once(['b'], 'k', digest, fail).catch(() => {})
      expect([tokens[0] === tokens[1], tokens[0] === tokens[2]]).toEqual([true, false])
    })
  })

  test('keys of sessions with different projects are independent', async () => {
    const { token } = await makeToken(service(), { scopes: ['ingest'] })
    const projects = ['key-a', 'key-b']
    for (const session of await sessionsOf(token, projects)) {
      const key = { 'Idempotency-Key': 'first batch' }
      const sent = await ask(service(), session, 'POST', '/api/logs?source=edge_logs', [{ id: 'x' }], key)
      expect([sent.status, sent.headers.get('idempotency-replayed')]).toEqual([200, null])
    }
    expect(await read("SELECT count() FROM edge_logs WHERE project IN ('key-a', 'key-b')")).toBe(2)
  })

  describe('records of OpenTelemetry for several sources', () => {
    const names = ['auth_logs', 'realtime_logs']
    const bodyFor = (project?: string) => ({
      resourceLogs: [{ scopeLogs: [{ logRecords: names.map((name) => recordFor(name, project)) }] }],
    })
    const post = async (body: object, token = service().adminToken.token) =>
      (await ask(service(), token, 'POST', '/v1/logs', body)).status
    const count = (project: string) =>
      Promise.all(names.map((name) => read(`SELECT count() FROM ${name} WHERE project = '${project}'`)))

    test('are stored once, if one source failed at first', async () => {
      const body = bodyFor('partial')
      const twice = () => Promise.all([post(body), post(body)])
      await run('RENAME TABLE realtime_logs TO _away')
      try {
        expect(await twice()).not.toContain(200)
        expect(await read("SELECT count() FROM auth_logs WHERE project = 'partial'")).toBe(2)
      } finally {
        await run('RENAME TABLE _away TO realtime_logs')
      }
      expect(await twice()).toEqual([200, 200])
      expect(await count('partial')).toEqual([2, 2])
      // Nothing failed, so these are new records.
      expect(await post(body)).toBe(200)
      expect(await count('partial')).toEqual([3, 3])
    })

    test('are all stored, if equal requests arrive at once', async () => {
      const body = bodyFor('at-once')
      expect(await Promise.all(Array.from({ length: 10 }, () => post(body)))).toEqual(Array(10).fill(200))
      expect(await count('at-once')).toEqual([10, 10])
    })

    test('are all stored, if sessions with different projects send equal requests at once', async () => {
      const { token } = await makeToken(service(), { scopes: ['ingest'] })
      const projects = Array.from({ length: 6 }, (_, index) => `at-once-${index}`)
      const sessions = await sessionsOf(token, projects)
      expect(await Promise.all(sessions.map((session) => post(bodyFor(), session)))).toEqual(
        Array(6).fill(200),
      )
      for (const project of projects) expect([project, await count(project)]).toEqual([project, [1, 1]])
    })
  })
}

function recordFor(source: string, project?: string) {
  const fields = { 'wellhead.source': source, ...(project !== undefined && { project }) }
  return {
    body: { stringValue: 'repeated' },
    attributes: Object.entries(fields).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  }
}

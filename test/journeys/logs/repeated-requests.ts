import { describe, expect, test } from 'vitest'
import { IdempotencyKeys } from '../../../src/intake/idempotency.ts'
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
      expect(await fresh().once(['a'], 'k', 'one', work)).toEqual({ result: 1, replayed: false })
      expect(await fresh().once(['a'], 'k', 'one', work)).toEqual({ result: 1, replayed: true })
      await expect(fresh().once(['a'], 'k', 'two', work)).rejects.toMatchObject({
        code: 'idempotency_mismatch',
      })
      clock.advance(86_400_000)
      expect(await fresh().once(['a'], 'k', 'two', work)).toEqual({ result: 2, replayed: false })
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

  test('records of OpenTelemetry for several sources are stored once, if one source failed at first', async () => {
    const recordFor = (source: string) => ({
      body: { stringValue: 'partial' },
      attributes: [
        { key: 'wellhead.source', value: { stringValue: source } },
        { key: 'project', value: { stringValue: 'partial' } },
      ],
    })
    const body = JSON.stringify({
      resourceLogs: [{ scopeLogs: [{ logRecords: ['auth_logs', 'realtime_logs'].map(recordFor) }] }],
    })
    const headers = { 'Content-Type': 'application/json' }
    const post = async () => (await service().call('/v1/logs', { method: 'POST', headers, body })).status
    const count = (source: string) => read(`SELECT count() FROM ${source} WHERE project = 'partial'`)
    await run('RENAME TABLE realtime_logs TO _away')
    try {
      expect(await post()).not.toBe(200)
      expect(await count('auth_logs')).toBe(1)
    } finally {
      await run('RENAME TABLE _away TO realtime_logs')
    }
    expect(await post()).toBe(200)
    expect([await count('auth_logs'), await count('realtime_logs')]).toEqual([1, 1])
    // Nothing failed, so these are new records.
    expect(await post()).toBe(200)
    expect([await count('auth_logs'), await count('realtime_logs')]).toEqual([2, 2])
  })
}

import { describe, expect, test } from 'vitest'
import type { RunningService } from '../../support/service.ts'
import { openLimitedIntake, sender } from './limited-intake.ts'

export function describeLogCallers(service: () => RunningService): void {
  const query = async (sql: string) =>
    (await service().engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs: 60_000 })).body
      .toString()
      .trim()

  describe('callers', () => {
    test('keeps idempotency keys of callers apart', async () => {
      let caller = sender('one')
      const intake = await openLimitedIntake(service(), { caller: () => caller })
      const send = async () => {
        const response = await fetch(`${intake.url}/api/logs?source=pgbouncer_logs`, {
          method: 'POST',
          body: '{"project":"keys"}',
          headers: { 'Idempotency-Key': 'same' },
        })
        expect(response.status).toBe(200)
      }
      try {
        await send()
        await send()
        caller = sender('two')
        await send()
        expect(await query("SELECT count() FROM pgbouncer_logs WHERE project = 'keys'")).toBe('2')
      } finally {
        await intake.close()
      }
    })

    test('reports entries without a project in a header, also when they are sent again', async () => {
      const send = () =>
        service().call('/api/logs?source=pgbouncer_logs', {
          method: 'POST',
          body: '[{"project":"a"},{"project":""},{"metadata":{"x":"\\"\\""}},{"metadata":{"project":1}},5]',
          headers: { 'Idempotency-Key': 'without a project' },
        })
      for (const response of [await send(), await send()]) {
        expect(response.headers.get('wellhead-without-project')).toBe('2')
        const body = (await response.json()) as object
        expect(Object.keys(body)).toEqual(['message', 'accepted', 'rejected', 'errors'])
        expect(body).toMatchObject({ accepted: 4, rejected: 1 })
      }
    })

    test("accepts only entries of the caller's project, and keeps rejected ones in that project", async () => {
      const caller = sender('tenant', { project: 'mine' })
      const intake = await openLimitedIntake(service(), { caller: () => caller })
      const theirs = 'the token is limited to project mine; send that project or omit it'
      try {
        const response = await fetch(`${intake.url}/api/logs?source=pgbouncer_logs`, {
          method: 'POST',
          body: JSON.stringify([
            { id: 't1' },
            { id: 't2', project: 'theirs' },
            { id: 't3', project: 'mine' },
          ]),
        })
        expect(await response.json()).toMatchObject({ accepted: 2, errors: [{ index: 1, reason: theirs }] })
        expect(response.headers.get('wellhead-without-project')).toBeNull()
        const record = (attributes: Record<string, string>) => ({
          attributes: Object.entries(attributes).map(([key, stringValue]) => ({
            key,
            value: { stringValue },
          })),
        })
        const sent = [{}, { 'wellhead.project': 'theirs' }, { 'wellhead.source': 'nowhere' }].map(record)
        const partial = await fetch(`${intake.url}/v1/logs`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-Wellhead-Source': 'pgbouncer_logs' },
          body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: sent }] }] }),
        })
        expect(await partial.json()).toMatchObject({ partialSuccess: { rejectedLogRecords: '2' } })
        expect(await query("SELECT count() FROM pgbouncer_logs WHERE project = 'mine'")).toBe('3')
        expect(await query("SELECT count() FROM pgbouncer_logs WHERE project = 'theirs'")).toBe('0')
        const kept = await query(
          "SELECT JSONExtractString(metadata, 'source'), JSONExtractString(metadata, 'reason') FROM quarantine WHERE project = 'mine' ORDER BY ALL",
        )
        expect(kept.split('\n')).toEqual([
          'nowhere\tNo source has the name "nowhere".',
          `pgbouncer_logs\t${theirs}`,
          `pgbouncer_logs\t${theirs}`,
        ])
      } finally {
        await intake.close()
      }
    })

    test('stores other entries and records if the engine cannot read one', async () => {
      // Tokens made before projects were checked can have half of a surrogate pair.
      const callers = [sender('neighbor'), sender('half', { project: 'half \ud800' })]
      const intake = await openLimitedIntake(service(), { caller: () => callers.shift() ?? sender('otlp') })
      const send = () =>
        fetch(`${intake.url}/api/logs?source=pgbouncer_logs`, {
          method: 'POST',
          body: '[{"id":"neighbor"},{"timestamp":"never"}]',
        })
      try {
        for (const answer of await Promise.all([send(), send()])) {
          expect([answer.status, await answer.json()]).toMatchObject([200, { accepted: 1, rejected: 1 }])
        }
        const projects = await query(
          "SELECT concat('[', project, ']') AS p FROM pgbouncer_logs WHERE id = 'neighbor' ORDER BY p",
        )
        expect(projects.split('\n')).toEqual(['[]', '[half \ufffd]'])
        const record = (source: string, time: number) =>
          `{"timeUnixNano":"${time}000000","attributes":[{"key":"wellhead.source","value":{"stringValue":"${source}"}}]}`
        const old = Date.now() - 91 * 86_400_000
        const partial = await fetch(`${intake.url}/v1/logs`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${[
            record('pgbouncer_logs', Date.now()),
            record('no \\ud800', Date.now()),
            record('pgbouncer_logs', old),
          ].join()}]}]}]}`,
        })
        expect([partial.status, await partial.json()]).toMatchObject([
          200,
          {
            partialSuccess: {
              rejectedLogRecords: '2',
              errorMessage: "timestamp is older than the source's retention of 90 days",
            },
          },
        ])
      } finally {
        await intake.close()
      }
    })

    test('returns 403 for a source that the caller may not send to, and stores nothing', async () => {
      const caller = sender('narrow', { scopes: ['ingest:realtime_logs'] })
      const intake = await openLimitedIntake(service(), { caller: () => caller })
      const send = (source: string) =>
        fetch(`${intake.url}/api/logs?source=${source}`, { method: 'POST', body: '{"project":"narrow"}' })
      const record = (source: string) => ({
        attributes: ['wellhead.source', 'wellhead.project'].map((key, i) => ({
          key,
          value: { stringValue: i === 0 ? source : 'narrow' },
        })),
      })
      const sendOtlp = (...sources: string[]) =>
        fetch(`${intake.url}/v1/logs`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: sources.map(record) }] }] }),
        })
      try {
        for (const source of ['auth_logs', 'gotrue.logs.prod', 'no_such_source']) {
          const response = await send(source)
          expect([response.status, await response.json()]).toMatchObject([
            403,
            { error: { code: 'forbidden' } },
          ])
        }
        expect((await sendOtlp('realtime_logs', 'auth_logs')).status).toBe(403)
        expect(await query("SELECT count() FROM realtime_logs WHERE project = 'narrow'")).toBe('0')
        expect((await send('realtime.logs.prod')).status).toBe(200)
        expect((await sendOtlp('realtime_logs', 'realtime.logs.prod')).status).toBe(200)
        expect(await query("SELECT count() FROM realtime_logs WHERE project = 'narrow'")).toBe('3')
      } finally {
        await intake.close()
      }
    })
  })
}

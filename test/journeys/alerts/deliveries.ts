import { describe, expect, test, vi } from 'vitest'
import { openReceiver } from '../../support/network/receiver.ts'
import type { AlertClient, AlertStage } from './alert-client.ts'

export function deliveryJourneys({ service, receiver, time }: AlertStage, client: AlertClient): void {
  const { admin, send, create, change, next, later } = client

  /** Raw rows of the table of alerts, also those that a newer one replaces. */
  async function storedRows(id: string): Promise<{ id: string; body: string }[]> {
    const sql = 'SELECT id, body FROM _alerts WHERE startsWith(id, {id:String}) ORDER BY sequence'
    const query = { sql, parameters: { id }, format: 'JSONEachRow' }
    const { body } = await service().engine.query(query, { deadlineMs: 10_000 })
    return body
      .toString()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }

  describe('deliveries', () => {
    test('to a host that never responds leave room for others, and end after ten seconds', async () => {
      const silent = await openReceiver()
      const paths = Array.from({ length: 10 }, (_, n) => `/silent-${n}`)
      for (const path of paths) silent.answer(path, undefined)
      const notify = paths.map((path) => ({ type: 'webhook', url: silent.url + path }))
      await send('silent', 20)
      const names = Array.from({ length: 4 }, (_, n) => `silent-${n}`)
      const alerts = names.map((name) => create(name, { parameters: { project: 'silent' }, notify }))
      const ids = (await Promise.all(alerts)).map(({ id }) => `"${id}"`)
      const attempts = (count: number) =>
        vi.waitFor(() => expect(silent.received).toHaveLength(count), { interval: 20 })
      await attempts(4)
      await send('heard', 20)
      await create('heard')
      await receiver().until('/heard', 1)
      expect(silent.received).toHaveLength(4)
      time.advance(10_000)
      await attempts(8)
      await vi.waitFor(
        async () => {
          // Any of the alerts may be the first whose deliveries begin.
          const query = `alert_id:(${ids.join(' OR ')}) kind:delivery`
          const { body: events } = await admin('POST', '/api/sources/alert_events/search', { query })
          expect(events[0].metadata.error).toBe('No response within 10 s.')
        },
        { interval: 50 },
      )
      for (const name of names) await admin('DELETE', `/api/alerts/${name}`)
      await silent.close()
    })

    test('that fail write nothing of the notification again', async () => {
      receiver().answer('/rows', { status: 503 })
      await send('rows', 20)
      const { id } = await create('rows')
      await later('/rows', 4)
      const waiting = await storedRows(`${id} `)
      expect(waiting).toHaveLength(1)
      expect(waiting[0]?.body).toContain('alert.firing')
      const states = (await storedRows(id)).filter((row) => row.id === id)
      expect(states.filter(({ body }) => body.includes('alert.firing'))).toEqual([])
      receiver().answer('/rows', { status: 204 })
      await later('/rows', 5)
      // A response that takes long while time passes counts as none, and is followed by another attempt.
      const delivered = async () => {
        time.advance(5_000)
        expect((await storedRows(`${id} `)).at(-1)).toMatchObject({ body: '' })
      }
      await vi.waitFor(delivered, { interval: 50 })
      await change('rows', { enabled: false })
    })

    test('report that a column is missing', async () => {
      const endpoint = { name: 'signals.narrowed', query: 'SELECT 5 AS level', max_rows: 10 }
      await admin('POST', '/api/endpoints', endpoint)
      await create('narrowed', { endpoint: endpoint.name, parameters: {} })
      const query = 'SELECT 5 AS height'
      const { status } = await admin('PATCH', '/api/endpoints/signals.narrowed?breaking=true', { query })
      expect(status).toBe(200)
      for (let i = 0; i < 3; i++) await next('narrowed')
      const [failing] = await receiver().until('/narrowed', 1)
      expect(failing?.body).toMatchObject({
        type: 'alert.failing',
        data: { rows: [], error: 'The result has no column "level" any more.' },
      })
    })
  })
}

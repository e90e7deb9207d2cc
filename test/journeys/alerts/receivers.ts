import { describe, expect, test } from 'vitest'
import type { Received } from '../../support/network/receiver.ts'
import { type AlertClient, type AlertStage, level, types } from './alert-client.ts'

export function receiverJourneys({ receiver, time }: AlertStage, client: AlertClient): void {
  const { admin, send, create, show, change, next, later } = client

  describe('a receiver', () => {
    test('that is down gets everything later, in order', async () => {
      receiver().answer('/down', { status: 503, text: 'no' })
      await send('down', 20)
      await create('down')
      await receiver().until('/down', 1)
      await send('down', 1)
      await next('down')
      await receiver().until('/down', 2)
      receiver().answer('/down', { status: 200 })
      let all = await later('/down', 4)
      // A response that takes long while time passes counts as none, and is followed by another attempt.
      while (types(all).at(-1) === 'alert.firing') all = await later('/down', all.length + 1)
      const [last, ...firing] = all.toReversed()
      expect(last?.body.type).toBe('alert.resolved')
      expect(new Set(types(firing))).toEqual(new Set(['alert.firing']))
      expect(new Set(firing.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      await change('down', { enabled: false })
    })

    test('that is down does not keep others from being reminded', async () => {
      receiver().answer('/dead', { status: 503 })
      await send('reminded', 20)
      const notify = ['dead', 'reminded'].map((path) => ({
        type: 'webhook',
        url: `${receiver().url}/${path}`,
      }))
      await create('reminded', { notify, repeat_seconds: 5 })
      await later('/reminded', 3)
      const ids = (path: string) =>
        receiver()
          .at(path)
          .map(({ headers }) => headers['webhook-id'])
      const meanwhile = ids('/reminded')
      receiver().answer('/dead', { status: 204 })
      // It was retried, but its reminders were left out while it was down.
      for (let more = 4; new Set(ids('/dead')).size < 2; more++) await later('/reminded', more)
      const [first, second] = new Set(ids('/dead'))
      expect(meanwhile[0]).toBe(first)
      expect(meanwhile).not.toContain(second)
      await change('reminded', { enabled: false })
    })

    test('that is slow does not delay others, and gets the notification again', async () => {
      receiver().answer('/slow', undefined)
      await send('slow', 20)
      const notify = ['slow', 'fast'].map((path) => ({ type: 'webhook', url: `${receiver().url}/${path}` }))
      await create('slow', { notify })
      const [first] = (await receiver().until('/slow', 1)) as [Received]
      await send('slow', 1)
      await next('slow')
      expect(types(await receiver().until('/fast', 2))).toEqual(['alert.firing', 'alert.resolved'])
      expect(receiver().at('/slow')).toHaveLength(1)
      // Ends the response that was waited for.
      receiver().drop()
      receiver().answer('/slow', { status: 200 })
      const [, again, resolved] = (await later('/slow', 3)) as [Received, Received, Received]
      expect(again.headers['webhook-id']).toBe(first.headers['webhook-id'])
      expect(resolved.body.type).toBe('alert.resolved')
      await change('slow', { enabled: false })
    })

    test('that responds 410 gets nothing more, and one that redirects is not followed', async () => {
      receiver().answer('/gone', { status: 410 })
      receiver().answer('/moved', { status: 307, headers: { Location: '/elsewhere' } })
      await send('gone', 20)
      const notify = ['gone', 'moved', 'slack'].map((path) => ({
        type: path === 'slack' ? 'slack' : 'webhook',
        url: `${receiver().url}/${path}`,
      }))
      await create('gone', { notify, description: 'a < b' })
      await receiver().until('/gone', 1)
      await receiver().until('/moved', 1)
      const [slack] = (await receiver().until('/slack', 1)) as [Received]
      expect(slack.headers).not.toHaveProperty('webhook-signature')
      expect(slack.body.text).toMatch(/\*gone\* is firing\n`any\(level\) &gt;= 10`, value 20[\s\S]*a &lt; b/)
      await send('gone', 1)
      await next('gone')
      await receiver().until('/slack', 2)
      receiver().answer('/moved', { status: 200 })
      await later('/moved', 3)
      expect(receiver().at('/gone')).toHaveLength(1)
      expect(receiver().at('/elsewhere')).toHaveLength(0)
      const [first, second] = (await show('gone')).notify
      expect([first.switched_off, second.switched_off]).toEqual([true, undefined])
      // What was read can be sent back. The alert starts anew when it is enabled again.
      expect((await admin('PUT', '/api/alerts/gone', await show('gone'))).body.notify[0].switched_off).toBe(
        true,
      )
      await send('gone', 20)
      await next('gone')
      await receiver().until('/slack', 3)
      const changed = await change('gone', { when: 'any(level) > 25' })
      expect(changed.body.notify[0].switched_off).toBe(true)
      await receiver().until('/slack', 4)
      expect(receiver().at('/gone')).toHaveLength(1)
      await change('gone', { enabled: false })
      expect((await change('gone', { enabled: true })).body.notify[0]).not.toHaveProperty('switched_off')
    })

    test('gets a test notification, and a preview shows what it would get', async () => {
      await send('tested', 20)
      const draft = {
        endpoint: level.name,
        parameters: { project: 'tested' },
        when: 'any(level) >= 10',
        every_seconds: 3600,
      }
      await create('tested', draft)
      await receiver().until('/tested', 1)
      const { body: quiet } = await admin('POST', '/api/alerts/tested/test')
      expect(quiet).toEqual({
        state: 'firing',
        value: 20,
        rows: [{ level: 20, entries: 1, who: 'tested' }],
      })
      const { body: tested } = await admin('POST', '/api/alerts/tested/test?notify=true')
      expect(tested.deliveries).toEqual([
        { type: 'webhook', url: `${receiver().url}/tested`, status: 204, error: null, response: '' },
      ])
      expect(types(receiver().at('/tested'))).toEqual(['alert.firing', 'alert.test'])
      time.advance(1_800_000)
      await send('tested', 3)
      const { body: preview } = await admin('POST', '/api/alerts/preview', draft)
      expect(preview).toMatchObject({
        state: 'ok',
        value: 3,
        webhook: { type: 'alert.firing' },
        slack: { text: expect.any(String) },
      })
      const met = preview.history.filter((point: { met: boolean }) => point.met)
      expect([preview.history.length, met.length]).toEqual([48, 1])
    })
  })
}

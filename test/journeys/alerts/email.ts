import { describe, expect, test, vi } from 'vitest'
import type { MailReceiver, ReceivedMail } from '../../support/network/mail-receiver.ts'
import type { AlertClient, AlertStage } from './alert-client.ts'

const header = ({ headers }: ReceivedMail, name: string) => headers.find(([each]) => each === name)?.[1]

export function emailJourneys(
  { receiver, time }: AlertStage,
  client: AlertClient,
  mail: () => MailReceiver,
): void {
  const { admin, send, create, show, change, next } = client
  const to = (name: string) => `${name}@example.com`
  const notify = (...names: string[]) => ({ notify: names.map((name) => ({ type: 'email', to: to(name) })) })
  /** Lets time pass until an address has received this many messages. */
  const later = (name: string, count: number) =>
    vi.waitFor(
      () => {
        // A connection takes several round trips, which must not take longer than the deadline of ten seconds.
        time.advance(1_000)
        expect(mail().at(to(name)).length).toBeGreaterThanOrEqual(count)
        return mail().at(to(name))
      },
      { interval: 50 },
    )
  const deliveries = (name: string) =>
    vi.waitFor(async () => {
      const query = { query: `alert:"${name}" kind:delivery` }
      const events = (await admin('POST', '/api/sources/alert_events/search', query)).body
      expect(events.length).toBeGreaterThan(0)
      return events.map(({ metadata }: { metadata: object }) => metadata)
    })

  describe('email', () => {
    test('has what a message of Slack has, as text', async () => {
      await send('mailed', 20)
      const created = await create('mailed', { ...notify('mailed'), description: '*Call* <ops>' })
      const { key } = created.notify[0]
      expect(created.notify).toEqual([{ type: 'email', to: to('mailed'), key: expect.any(String) }])
      const [first] = (await mail().until(to('mailed'), 1)) as [ReceivedMail]
      expect(first.from).toBe('alerts@example.com')
      expect(header(first, 'subject')).toBe('mailed is firing')
      expect(header(first, 'to')).toBe(to('mailed'))
      expect(header(first, 'message-id')).toMatch(/^<msg_[0-9a-f]{32}@example\.com>$/)
      expect(first.text).toBe(
        [
          ...['mailed is firing', '', 'any(level) >= 10, value 20, signals.level project=mailed', ''],
          ...['*Call* <ops>', '', '{"level":20,"entries":1,"who":"mailed"}', ''],
          ...['https://logs.example.com/console/alerts/mailed', ''],
        ].join('\n'),
      )
      expect(await deliveries('mailed')).toMatchObject([
        { target: 'email', host: 'example.com', target_key: key, status: 250, error: null },
      ])
      const tested = (await admin('POST', '/api/alerts/mailed/test?notify=true')).body
      expect(tested.deliveries).toMatchObject([{ type: 'email', to: to('mailed'), status: 250 }])
      const [, test] = (await mail().until(to('mailed'), 2)) as [ReceivedMail, ReceivedMail]
      expect(header(test, 'subject')).toBe('Test of mailed')
      const { body } = await admin('POST', '/api/alerts/preview', {
        ...{ endpoint: 'signals.level', parameters: { project: 'mailed' }, when: 'any(level) >= 10' },
      })
      expect(body.email.subject).toBe('preview is firing')
    })

    test('that is refused for now is sent again with the same id, in order', async () => {
      mail().answer(to('busy'), 451)
      await send('busy', 20)
      await create('busy', notify('busy'))
      await mail().until(to('busy'), 1)
      await send('busy', 1)
      await next('busy')
      await later('busy', 2)
      mail().answer(to('busy'), 250)
      let all = await later('busy', 4)
      const subjects = () => all.map((each) => header(each, 'subject'))
      while (subjects().at(-1) === 'busy is firing') all = await later('busy', all.length + 1)
      expect(subjects().at(-1)).toBe('busy is resolved')
      const firing = all.slice(0, -1)
      expect(new Set(firing.map((each) => header(each, 'subject')))).toEqual(new Set(['busy is firing']))
      expect(new Set(firing.map((each) => JSON.stringify(each))).size).toBe(1)
    })

    test('that is refused for good is dropped, and the alert says so', async () => {
      mail().answer(to('full'), 552)
      await send('full', 20)
      await create('full', notify('full', 'beside'))
      const error = 'Notifications that could not be delivered and were dropped: 1.'
      await vi.waitFor(async () => expect(await show('full')).toMatchObject({ error, state: 'firing' }))
      expect(await deliveries('full')).toContainEqual(
        expect.objectContaining({ status: 552, response: `552 not for ${to('full')}` }),
      )
      mail().answer(to('full'), 250)
      await send('full', 1)
      await next('full')
      const [, second] = (await mail().until(to('full'), 2)) as [ReceivedMail, ReceivedMail]
      expect(header(second, 'subject')).toBe('full is resolved')
      expect(mail().at(to('full'))).toHaveLength(2)
      await vi.waitFor(async () => expect(await show('full')).toMatchObject({ error: null }))
    })

    test('to a server that never responds leaves room for webhooks, and ends after ten seconds', async () => {
      const names = Array.from({ length: 10 }, (_, n) => `mute-${n}`)
      for (const name of names) mail().answer(to(name), undefined)
      await send('mute', 20)
      await Promise.all(
        names
          .slice(0, 4)
          .map((name) => create(name, { parameters: { project: 'mute' }, ...notify(...names) })),
      )
      const attempts = () => names.reduce((sum, name) => sum + mail().at(to(name)).length, 0)
      await vi.waitFor(() => expect(attempts()).toBe(4))
      await send('beside-mail', 20)
      await create('beside-mail')
      await receiver().until('/beside-mail', 1)
      expect(attempts()).toBe(4)
      time.advance(10_000)
      await vi.waitFor(() => expect(attempts()).toBeGreaterThanOrEqual(8))
      expect((await deliveries('mute-0'))[0].error).toBe('No response within 10 s.')
      await Promise.all(names.slice(0, 4).map((name) => change(name, { enabled: false, notify: [] })))
    })

    test('needs one address', async () => {
      const alert = {
        name: 'unsent',
        endpoint: 'signals.level',
        parameters: { project: 'x' },
        when: 'rows > 0',
      }
      const refused = [
        [{ type: 'email' }, 'notify.0.to'],
        [{ type: 'email', url: 'https://example.com' }, 'notify.0.to'],
        [{ type: 'email', to: to('a'), url: 'https://example.com' }, 'notify.0.url'],
        [{ type: 'webhook', to: to('a') }, 'notify.0.url'],
        [{ type: 'slack', to: to('a'), url: receiver().url }, 'notify.0.to'],
        ...[
          '',
          'ops',
          'a@example.com,b@example.com',
          'a@example.com\r\nBcc: b@example.com',
          'A <a@example.com>',
        ]
          .concat(['a@example.com\n', `${'a'.repeat(250)}@example.com`, '"a b"@example.com', 'a@exämple.com'])
          .map((address) => [{ type: 'email', to: address }, 'notify.0.to']),
      ] as const
      for (const [target, parameter] of refused) {
        const { status, body } = await admin('POST', '/api/alerts', { ...alert, notify: [target] })
        expect([target, status, body.error.parameter]).toEqual([target, 400, parameter])
      }
      const { status, body } = await admin('POST', '/api/alerts', { ...alert, ...notify('a', 'a') })
      expect([status, body.error.parameter]).toEqual([400, 'notify.1.to'])
    })
  })
}

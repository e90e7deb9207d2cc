import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { type MailReceiver, openMailReceiver } from '../../support/network/mail-receiver.ts'
import { openReceiver, type Received, type Receiver } from '../../support/network/receiver.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { alertClient, level, types } from './alert-client.ts'
import { deliveryJourneys } from './deliveries.ts'
import { emailJourneys } from './email.ts'
import { groupJourneys } from './groups.ts'
import { receiverJourneys } from './receivers.ts'
import { savingJourneys } from './saving.ts'

const manual = manualTime(manualClock(Date.now()))
/** How often the service asks for the time in one turn of the event loop, and in any turn at most. */
let asked = 0
let most = 0
const time = {
  ...manual,
  now: () => {
    if (asked++ === 0) setImmediate(endTurn)
    return manual.now()
  },
}
function endTurn(): void {
  most = Math.max(most, asked)
  asked = 0
}
let service: RunningService
let receiver: Receiver
let mail: MailReceiver

beforeAll(async () => {
  receiver = await openReceiver()
  mail = await openMailReceiver()
  service = await openService({
    // On a server, another service could take over while the clock is moved.
    engine: 'embedded',
    time,
    environment: {
      WELLHEAD_ALERT_HOSTS: '127.0.0.1',
      WELLHEAD_PUBLIC_URL: 'https://logs.example.com',
      WELLHEAD_SMTP_URL: `smtp://${mail.host}?tls=off`,
      WELLHEAD_SMTP_FROM: 'Wellhead <alerts@example.com>',
    },
  })
  await admin('POST', '/api/sources', { name: 'signals' })
  await admin('POST', '/api/endpoints', level)
})
afterAll(async () => {
  await service?.close()
  await receiver?.close()
  await mail?.close()
})

const stage = { service: () => service, receiver: () => receiver, time }
const client = alertClient(stage)
const { admin, send, create, show, change, evaluated, next, becomes, runs } = client

/** Creates alerts that fire, and waits until their receivers know. */
async function fire(...names: string[]) {
  for (const name of names) await send(name, 20)
  await Promise.all(names.map((name) => create(name)))
  await Promise.all(names.map((name) => receiver.until(`/${name}`, 1)))
}

// Those of earlier tests would be evaluated along with later ones.
afterEach(async () => {
  const { body } = await admin('GET', '/api/alerts')
  await Promise.all(body.map(({ name }: { name: string }) => admin('DELETE', `/api/alerts/${name}`)))
})

describe('an alert', () => {
  test('fires once its condition has held long enough, and resolves', async () => {
    await send('holds', 3)
    const created = await create('holds', { for_seconds: 12 })
    expect(created).toMatchObject({ version: 1, enabled: true, repeat_seconds: null, muted_until: null })
    const secret = created.notify[0].secret
    expect(secret).toMatch(/^whsec_/)
    expect(await show('holds')).toMatchObject({
      state: 'ok',
      value: 3,
      error: null,
      notify: [{ type: 'webhook' }],
    })
    await send('holds', 12)
    for (const state of ['pending', 'pending', 'pending', 'firing']) {
      expect(await next('holds')).toMatchObject({ state, value: 12 })
    }
    await send('holds', 4)
    expect(await next('holds')).toMatchObject({ state: 'ok', value: 4 })
    const [firing, resolved] = (await receiver.until('/holds', 2)) as [Received, Received]
    const signed = firing.headers as Record<string, string>
    expect(new Webhook(secret).verify(firing.text, signed)).toEqual({
      type: 'alert.firing',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        alert: { id: created.id, name: 'holds' },
        state: 'firing',
        previous_state: 'pending',
        value: 12,
        when: 'any(level) >= 10',
        endpoint: 'signals.level',
        parameters: { project: 'holds' },
        rows: [{ level: 12, entries: 2, who: 'holds' }],
        url: 'https://logs.example.com/console/alerts/holds',
      },
    })
    expect(resolved.body).toMatchObject({
      type: 'alert.resolved',
      data: { state: 'ok', previous_state: 'firing', value: 4 },
    })
    expect(resolved.headers['webhook-id']).not.toBe(firing.headers['webhook-id'])
    await vi.waitFor(
      async () => {
        const query = `alert_id:"${created.id}"`
        const { body: events } = await admin('POST', '/api/sources/alert_events/search', { query })
        const metadata = events.map((event: { metadata: object }) => event.metadata)
        const of = (kind: string) => metadata.filter((event: { kind: string }) => event.kind === kind)
        expect(of('state')).toMatchObject([
          { state: 'ok', previous_state: 'firing', value: 4 },
          { state: 'firing', previous_state: 'pending', value: 12 },
          { state: 'pending', previous_state: 'ok', value: 12 },
        ])
        expect(of('delivery')).toMatchObject([
          { type: 'alert.resolved', target_key: created.notify[0].key, status: 204, attempt: 1 },
          { type: 'alert.firing', target_key: created.notify[0].key, status: 204, attempt: 1 },
        ])
      },
      { interval: 50 },
    )
  })

  test('repeats while it fires, and is silent while it is muted', async () => {
    await send('repeats', 20)
    await create('repeats', { repeat_seconds: 15 })
    await receiver.until('/repeats', 1)
    for (let i = 0; i < 3; i++) await next('repeats')
    await receiver.until('/repeats', 2)
    expect(types(receiver.at('/repeats'))).toEqual(['alert.firing', 'alert.firing'])
    const until = new Date(time.now() + 60_000).toISOString()
    expect((await change('repeats', { muted_until: until })).body).toMatchObject({
      state: 'firing',
      version: 2,
    })
    await send('repeats', 1)
    await next('repeats')
    await send('repeats', 30)
    for (let i = 0; i < 4; i++) await next('repeats')
    expect(await show('repeats')).toMatchObject({ state: 'firing', value: 30 })
    await send('repeats', 2)
    await next('repeats')
    expect(receiver.at('/repeats')).toHaveLength(2)
    await next('repeats', 60)
    expect(types(await receiver.until('/repeats', 3))[2]).toBe('alert.resolved')
  })

  test('is silent while it is muted, even if it is changed, disabled or waits for its receiver', async () => {
    receiver.answer('/waits', { status: 503 })
    await fire('edited', 'stopped', 'waits')
    receiver.answer('/waits', { status: 204 })
    // Longer than notifications are retried.
    const muted_until = new Date(time.now() + 100_000_000).toISOString()
    await change('edited', { muted_until, when: 'any(level) > 25' })
    await change('stopped', { muted_until, enabled: false })
    await change('waits', { muted_until })
    for (let i = 0; i < 4; i++) await next('edited')
    const counts = () => ['edited', 'stopped', 'waits'].map((name) => receiver.at(`/${name}`).length)
    expect(counts()).toEqual([1, 1, 1])
    await next('edited', 100_000)
    for (const name of ['edited', 'stopped']) {
      expect(types(await receiver.until(`/${name}`, 2))).toEqual(['alert.firing', 'alert.resolved'])
    }
    expect(types(await receiver.until('/waits', 2))).toEqual(['alert.firing', 'alert.firing'])
    // Nothing can be said about a deleted alert later.
    await change('waits', { muted_until: new Date(time.now() + 60_000).toISOString() })
    await admin('DELETE', '/api/alerts/waits')
    expect(types(await receiver.until('/waits', 3))[2]).toBe('alert.resolved')
  })

  test('that is deleted or disabled while it fires is resolved, and starts anew if it changes', async () => {
    await fire('disabled', 'deleted', 'changed')
    expect((await change('disabled', { enabled: false })).body).toMatchObject({
      state: 'ok',
      evaluated_at: null,
    })
    expect((await admin('DELETE', '/api/alerts/deleted')).status).toBe(204)
    await change('changed', { when: 'any(level) > 15', for_seconds: 12 })
    for (const name of ['disabled', 'deleted', 'changed']) {
      expect(types(await receiver.until(`/${name}`, 2))).toEqual(['alert.firing', 'alert.resolved'])
    }
    await becomes('changed', { state: 'pending' })
    for (let i = 0; i < 3; i++) await next('changed')
    expect(types(await receiver.until('/changed', 3))[2]).toBe('alert.firing')
    expect(await show('disabled')).toMatchObject({ state: 'ok', evaluated_at: null })
    expect((await show('deleted')).error.code).toBe('not_found')
  })

  test('that cannot be evaluated three times in a row is failing, and recovers', async () => {
    const copy = { ...level, name: 'signals.doomed' }
    await admin('POST', '/api/endpoints', copy)
    await send('doomed', 20)
    await create('doomed', { endpoint: copy.name, for_seconds: 5 })
    const used = await admin('DELETE', '/api/endpoints/signals.doomed')
    expect([used.status, used.body.error]).toMatchObject([
      409,
      { code: 'in_use', users: ['alerts/doomed'], message: expect.stringContaining('alerts/doomed') },
    ])
    const needed = { parameters: { ...level.parameters, region: { required: true } } }
    const broken = await admin('PATCH', '/api/endpoints/signals.doomed?breaking=true', needed)
    expect(broken.status).toBe(200)
    expect(await next('doomed')).toMatchObject({ state: 'pending', error: expect.stringContaining('region') })
    await next('doomed')
    expect(await next('doomed')).toMatchObject({ state: 'failing' })
    const [failing] = (await receiver.until('/doomed', 1)) as [Received]
    expect(failing.body).toMatchObject({
      type: 'alert.failing',
      data: { state: 'failing', previous_state: 'pending', rows: [] },
    })
    // It can be muted although its endpoint needs something else.
    expect((await change('doomed', { description: 'gone', muted_until: null })).status).toBe(200)
    await admin('PUT', '/api/endpoints/signals.doomed?breaking=true', copy)
    await next('doomed')
    await becomes('doomed', { state: 'firing', error: null })
    expect(types(await receiver.until('/doomed', 2))).toEqual(['alert.failing', 'alert.firing'])
  })

  test('that missed many evaluations is evaluated once', async () => {
    await send('missed', 1)
    await create('missed')
    const before = await runs()
    await next('missed', 3600)
    await next('missed')
    // Of all alerts of this file.
    const others = (await admin('GET', '/api/alerts')).body.filter(
      ({ enabled }: { enabled: boolean }) => enabled,
    )
    expect((await runs()) - before).toBeLessThanOrEqual(3 * others.length)
  })

  test('shares its query with others on the same result', async () => {
    await send('shared', 1)
    const names = Array.from({ length: 4 }, (_, i) => `shared-${i}`)
    await Promise.all(
      names.map((name) => create(name, { parameters: { project: 'shared' }, every_seconds: 3600 })),
    )
    const before = await runs()
    const since = time.now()
    time.advance(3_600_000)
    for (const name of names) await evaluated(name, since + 1)
    expect((await runs()) - before).toBe(1)
  })

  test('lets other work go on between the decisions of many on the same result', async () => {
    await send('crowd', 1)
    const names = Array.from({ length: 40 }, (_, i) => `crowd-${i}`)
    const fields = { parameters: { project: 'crowd' }, every_seconds: 3600, notify: [] }
    await Promise.all(names.map((name) => create(name, fields)))
    const since = time.now()
    // Each decision asks for the time at least once.
    most = 0
    time.advance(3_600_000)
    for (const name of names) await evaluated(name, since + 1)
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(names.length)
  })
})

groupJourneys(stage)
receiverJourneys(stage, client)
deliveryJourneys(stage, client)
emailJourneys(stage, client, () => mail)
savingJourneys(stage, client)

test('a tenant sees nothing of alerts', async () => {
  const { token } = await makeToken(service, { scopes: ['search'], project: 'holds' })
  expect((await ask(service, token, 'GET', '/api/alerts')).status).toBe(403)
  const search = (by: string) => ask(service, by, 'POST', '/api/sources/alert_events/search', {})
  expect((await search(service.adminToken.token)).body).not.toEqual([])
  expect((await search(token)).status).toBe(404)
  const sent = await admin('POST', '/api/logs?source=alert_events', [{ message: 'fired' }])
  expect(sent.status).toBe(403)
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { queryRows, writeJsonRows } from '../../../src/core/engine/json-rows.ts'
import { targetKey } from '../../../src/features/alerts/alert.ts'
import { ask } from '../../support/callers.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { selfSignedHere } from '../../support/network/certificates.ts'
import { openMailReceiver } from '../../support/network/mail-receiver.ts'
import { openReceiver, type Receiver } from '../../support/network/receiver.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { type ServiceProcess, spawnService } from '../../support/service-process.ts'
import { openEngine, workerServer } from '../../support/worker-server.ts'
import { runOn } from '../server/run-on.ts'
import { alertClient, level, types } from './alert-client.ts'

runOn(workerServer)
const directory = scratchDirectory()
const own = scratchDirectory()
const processes: ServiceProcess[] = []
const time = manualTime(manualClock(Date.now()))
let receiver: Receiver
beforeAll(async () => {
  receiver = await openReceiver()
})
afterAll(async () => {
  for (const { child } of processes) child.kill('SIGKILL')
  await Promise.all(processes.map(({ exit }) => exit))
  await receiver?.close()
  directory.remove()
  own.remove()
})

const open = () =>
  openService({ time, dataDir: directory.path, environment: { WELLHEAD_ALERT_HOSTS: '127.0.0.1' } })
const admin = async (service: RunningService, method: string, path: string, body?: unknown) =>
  (await ask(service, service.adminToken.token, method, path, body)).body
const until = (assertion: () => Promise<void>) => vi.waitFor(assertion, { interval: 50 })

/** Stores notifications that wait for a target, and a target that is switched off. */
async function storeOutbox(id: string, contents: Record<string, object>, target: string, off: string) {
  const { engine, close } = await openEngine()
  const limits = { deadlineMs: 10_000 }
  const sql = 'SELECT body, max(sequence) OVER () + 1 AS sequence FROM _alerts WHERE id = {id:String} LIMIT 1'
  const query = { sql, parameters: { id } }
  const [row] = await queryRows<{ body: string; sequence: number }>(engine, query, limits)
  const waiting = Object.keys(contents).map((each) => ({ id: each, to: [target] }))
  const state = { ...JSON.parse(row?.body ?? ''), waiting, off: [off] }
  const bodies = {
    [id]: state,
    ...Object.fromEntries(Object.entries(contents).map(([each, content]) => [`${id} ${each}`, content])),
  }
  const rows = Object.entries(bodies).map(([key, body]) => ({
    id: key,
    sequence: row?.sequence,
    body: JSON.stringify(body),
  }))
  await engine.insert({ table: '_alerts', format: 'JSONEachRow' }, writeJsonRows(rows), limits)
  await close()
}

test('delivers what was stored before a restart, without the oldest of too many, and says that they are dropped', async () => {
  const first = await open()
  await admin(first, 'POST', '/api/endpoints', { name: 'never', query: 'SELECT 1 AS n' })
  const email = {
    name: 'unsent',
    endpoint: 'never',
    when: 'rows > 0',
    notify: [{ type: 'email', to: 'a@b.example' }],
  }
  expect((await admin(first, 'POST', '/api/alerts', email)).error).toMatchObject({
    ...{
      parameter: 'notify.0.type',
      message: expect.stringContaining('WELLHEAD_SMTP_URL and WELLHEAD_SMTP_FROM'),
    },
  })
  const url = (path: string) => `${receiver.url}/${path}`
  const { id } = await admin(first, 'POST', '/api/alerts', {
    ...{ name: 'restarted', endpoint: 'never', when: 'any(n) > 1', every_seconds: 3600 },
    notify: ['hook', 'gone'].map((path) => ({ type: 'webhook', url: url(path) })),
  })
  await until(async () => {
    expect((await admin(first, 'GET', '/api/alerts/restarted')).evaluated_at).toEqual(expect.any(String))
  })
  await first.close()
  const contents = Array.from({ length: 103 }, (_, n) => {
    const content = {
      type: 'alert.firing',
      createdMs: time.now() + n,
      bodies: { webhook: JSON.stringify({ n }) },
    }
    return [`msg_${n}`, content] as const
  })
  const [hook, gone] = ['hook', 'gone'].map((path) => targetKey({ type: 'webhook', url: url(path) }))
  await storeOutbox(id, Object.fromEntries(contents), hook as string, gone as string)
  receiver.answer('/hook', { status: 503 })
  const second = await open()
  await receiver.until('/hook', 1)
  const shown = await admin(second, 'GET', '/api/alerts/restarted')
  expect(shown.error).toBe('Notifications that could not be delivered and were dropped: 3.')
  expect(shown.notify[1].switched_off).toBe(true)
  await until(async () => {
    const query = { query: 'kind:dropped' }
    const events = await admin(second, 'POST', '/api/sources/alert_events/search', query)
    const dropped = events.map(({ metadata }: { metadata: object }) => metadata)
    expect(dropped).toMatchObject(['msg_2', 'msg_1', 'msg_0'].map((webhook_id) => ({ webhook_id })))
  })
  // The next service continues, with what is stored now.
  await second.close()
  receiver.answer('/hook', { status: 204 })
  const third = await open()
  const received = (await receiver.until('/hook', 101)).slice(1)
  expect(received.map(({ body }) => body.n)).toEqual(Array.from({ length: 100 }, (_, n) => n + 3))
  expect(received[0]?.headers['webhook-id']).toBe('msg_3')
  await until(async () => expect((await admin(third, 'GET', '/api/alerts/restarted')).error).toBeNull())
  await third.close()
})

test('repeats nothing for an alert whose repetition is overdue at a start and whose evaluations fail', async () => {
  let service = await open()
  const { send, create, change, evaluated, next } = alertClient({
    service: () => service,
    receiver: () => receiver,
    time,
  })
  await admin(service, 'POST', '/api/sources', { name: 'signals' })
  await admin(service, 'POST', '/api/endpoints', level)
  await send('overdue', 20)
  await create('overdue', { repeat_seconds: 60 })
  await receiver.until('/overdue', 1)
  const needed = { parameters: { ...level.parameters, region: { required: true } } }
  await admin(service, 'PATCH', `/api/endpoints/${level.name}?breaking=true`, needed)
  await service.close()
  time.advance(3_600_000)
  service = await open()
  expect(await evaluated('overdue')).toMatchObject({
    state: 'firing',
    error: expect.stringContaining('region'),
  })
  expect(await next('overdue')).toMatchObject({ state: 'firing' })
  expect(await next('overdue')).toMatchObject({ state: 'failing' })
  expect(types(await receiver.until('/overdue', 2))).toEqual(['alert.firing', 'alert.failing'])
  await change('overdue', { enabled: false })
  await service.close()
})

test('notifications without a response and groups survive a kill, and a stop, which does not wait for responses', async () => {
  const token = 'the-admin-token-of-all'
  const password = 'a p@ssword'
  const mail = await openMailReceiver({
    ...{ secure: true, ...selfSignedHere, authOptional: false },
    onAuth: ({ password: sent }, _session, callback) =>
      sent === password ? callback(null, { user: 1 }) : callback(new Error(`not ${sent}`)),
  })
  onTestFinished(() => mail.close())
  const certificate = join(own.path, 'certificate.pem')
  writeFileSync(certificate, selfSignedHere.cert)
  const environment = {
    ...{ WELLHEAD_ALERT_HOSTS: '127.0.0.1', WELLHEAD_ADMIN_TOKEN: token },
    ...{ WELLHEAD_SMTP_FROM: 'alerts@example.com', NODE_EXTRA_CA_CERTS: certificate },
    WELLHEAD_SMTP_URL: `smtps://alerts:${encodeURIComponent(password)}@${mail.host}`,
  }
  const start = () => {
    const started = spawnService(['--port', '0', '--data-dir', join(own.path, 'data')], environment)
    processes.push(started)
    return started
  }
  const first = start()
  let url = await first.ready()
  const call = (method: string, path: string, body?: object) =>
    fetch(url + path, {
      method,
      headers: { 'X-API-KEY': token, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  receiver.answer('/killed', undefined)
  mail.answer('ops@example.com', undefined)
  await call('POST', '/api/endpoints', { name: 'always', query: 'SELECT number AS n FROM numbers(3)' })
  const notify = [
    { type: 'webhook', url: `${receiver.url}/killed` },
    { type: 'email', to: 'ops@example.com' },
  ]
  const alert = {
    name: 'killed',
    endpoint: 'always',
    when: 'any(n) >= 1',
    every_seconds: 3600,
    by: ['n'],
    notify,
  }
  expect((await call('POST', '/api/alerts', alert)).status).toBe(201)
  await receiver.until('/killed', 1)
  await mail.until('ops@example.com', 1)
  const groups = async () =>
    (await (await call('GET', '/api/alerts/killed/groups')).json()) as { id: string; state: string }[]
  const before = await groups()
  expect(before.map(({ state }) => state)).toEqual(['ok', 'firing', 'firing'])
  const until = '2126-01-01T00:00:00Z'
  expect((await call('POST', `/api/alerts/killed/groups/${before[0]?.id}/mute`, { until })).status).toBe(200)
  first.child.kill('SIGKILL')
  await first.exit
  const second = start()
  url = await second.ready()
  await receiver.until('/killed', 2)
  const mails = await mail.until('ops@example.com', 2)
  expect(mails[1]).toEqual(mails[0])
  expect(mails[0]?.text).toContain('n=1 firing, value 1\nn=2 firing, value 2\n')
  expect(await groups()).toEqual([{ ...before[0], muted_until: until }, ...before.slice(1)])
  for (const { stderr, stdout } of processes) {
    expect(stderr() + stdout()).not.toMatch(/p@ssword|p%40ssword/)
  }
  second.child.kill('SIGTERM')
  expect(await second.exit).toBe(0)
  receiver.answer('/killed', { status: 204 })
  const third = start()
  const requests = await receiver.until('/killed', 3)
  expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(new Set(requests.map(({ text }) => text)).size).toBe(1)
  third.child.kill('SIGTERM')
  expect(await third.exit).toBe(0)
})

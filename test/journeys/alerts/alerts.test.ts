import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { runCommand } from '../../support/command.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { openReceiver, type Received, type Receiver } from '../../support/receiver.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'

const time = manualTime(manualClock(Date.now()))
let service: RunningService
let receiver: Receiver

beforeAll(async () => {
  receiver = await openReceiver()
  service = await openService({ time, environment: { WELLHEAD_ALERT_HOSTS: '127.0.0.1' } })
  await admin('POST', '/api/sources', { name: 'signals' })
  await admin('POST', '/api/endpoints', level)
})
afterAll(async () => {
  await service?.close()
  await receiver?.close()
})

/** The newest level of a project. */
const level = {
  name: 'signals.level',
  query:
    'SELECT argMax(metadata.level::Float64, timestamp) AS level, count() AS entries, @project AS who ' +
    'FROM signals WHERE project = @project AND timestamp <= @now',
  parameters: { project: { required: true } },
}

const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  ask(service, service.adminToken.token, method, path, body, headers)

/** Sets the level of a project. */
async function send(project: string, value: number) {
  const entry = { project, metadata: { level: value }, timestamp: new Date(time.now()).toISOString() }
  const { body } = await admin('POST', '/api/logs?source=signals', [entry])
  expect(body.accepted).toBe(1)
  time.advance(1)
}

/** An alert on the level of a project of its name, which notifies a path of its name. */
async function create(name: string, fields: Record<string, unknown> = {}) {
  const { status, body } = await admin('POST', '/api/alerts', {
    name,
    endpoint: level.name,
    parameters: { project: name },
    every_seconds: 5,
    when: 'any(level) >= 10',
    notify: [{ type: 'webhook', url: `${receiver.url}/${name}` }],
    ...fields,
  })
  expect([status, body]).toEqual([201, expect.anything()])
  await evaluated(name)
  return body
}

const show = async (name: string) => (await admin('GET', `/api/alerts/${name}`)).body
const change = (name: string, fields: unknown) => admin('PATCH', `/api/alerts/${name}`, fields)
const types = (requests: Received[]) => requests.map(({ body }) => body.type)

/** Waits until it was evaluated at the current time or later. */
function evaluated(name: string, sinceMs = time.now()) {
  return vi.waitFor(
    async () => {
      const alert = await show(name)
      expect(Date.parse(alert.evaluated_at)).toBeGreaterThanOrEqual(sinceMs)
      return alert
    },
    { timeout: 30_000, interval: 20 },
  )
}

/** Lets the time of one interval pass, and returns the alert after its evaluation. */
async function next(name: string, seconds = 5) {
  const since = time.now()
  time.advance(seconds * 1000)
  return evaluated(name, since + 1)
}

/** Lets time pass until a path has received this many requests. */
const later = (path: string, count: number) =>
  vi.waitFor(
    () => {
      time.advance(5_000)
      expect(receiver.at(path).length).toBeGreaterThanOrEqual(count)
      return receiver.at(path)
    },
    { timeout: 30_000, interval: 50 },
  )

const becomes = (name: string, fields: object) =>
  vi.waitFor(async () => expect(await show(name)).toMatchObject(fields), { timeout: 30_000, interval: 20 })

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
          { type: 'alert.resolved', status: 204, attempt: 1 },
          { type: 'alert.firing', status: 204, attempt: 1 },
        ])
      },
      { timeout: 30_000, interval: 50 },
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
    for (const name of ['edited', 'stopped', 'waits']) {
      await send(name, 20)
      await create(name)
      await receiver.until(`/${name}`, 1)
    }
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
    for (const name of ['disabled', 'deleted', 'changed']) {
      await send(name, 20)
      await create(name)
      await receiver.until(`/${name}`, 1)
    }
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
    await admin('DELETE', '/api/endpoints/signals.doomed')
    expect(await next('doomed')).toMatchObject({
      state: 'pending',
      error: expect.stringContaining('signals.doomed'),
    })
    await next('doomed')
    expect(await next('doomed')).toMatchObject({ state: 'failing' })
    const [failing] = (await receiver.until('/doomed', 1)) as [Received]
    expect(failing.body).toMatchObject({
      type: 'alert.failing',
      data: { state: 'failing', previous_state: 'pending', rows: [] },
    })
    // It can be muted although its endpoint is gone.
    expect((await change('doomed', { description: 'gone', muted_until: null })).status).toBe(200)
    await admin('POST', '/api/endpoints', copy)
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
    const names = Array.from({ length: 12 }, (_, i) => `shared-${i}`)
    for (const name of names) await create(name, { parameters: { project: 'shared' }, every_seconds: 3600 })
    for (const { name } of (await admin('GET', '/api/alerts')).body) {
      if (!name.startsWith('shared-')) await change(name, { enabled: false })
    }
    const before = await runs()
    const since = time.now()
    time.advance(3_600_000)
    for (const name of names) await evaluated(name, since + 1)
    expect((await runs()) - before).toBe(1)
  })
})

async function runs(): Promise<number> {
  const text = (await admin('GET', '/metrics')).body as string
  return Number(/^wellhead_query_runs_total\{purpose="alert"\} (\d+)/m.exec(text)?.[1] ?? 0)
}

describe('a receiver', () => {
  test('that is down gets everything later, in order', async () => {
    receiver.answer('/down', { status: 503, text: 'no' })
    await send('down', 20)
    await create('down')
    await receiver.until('/down', 1)
    await send('down', 1)
    await next('down')
    await receiver.until('/down', 2)
    receiver.answer('/down', { status: 200 })
    const all = await later('/down', 4)
    expect(types(all)).toEqual(['alert.firing', 'alert.firing', 'alert.firing', 'alert.resolved'])
    expect(new Set(all.slice(0, 3).map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    await change('down', { enabled: false })
  })

  test('that is down does not keep others from being reminded', async () => {
    receiver.answer('/dead', { status: 503 })
    await send('reminded', 20)
    const notify = ['dead', 'reminded'].map((path) => ({ type: 'webhook', url: `${receiver.url}/${path}` }))
    await create('reminded', { notify, repeat_seconds: 5 })
    await later('/reminded', 3)
    const ids = (path: string) => receiver.at(path).map(({ headers }) => headers['webhook-id'])
    const meanwhile = ids('/reminded')
    receiver.answer('/dead', { status: 204 })
    // It was retried, but its reminders were left out while it was down.
    for (let more = 4; new Set(ids('/dead')).size < 2; more++) await later('/reminded', more)
    const [first, second] = new Set(ids('/dead'))
    expect(meanwhile[0]).toBe(first)
    expect(meanwhile).not.toContain(second)
    await change('reminded', { enabled: false })
  })

  test('that is slow does not delay others, and gets the notification again', async () => {
    receiver.answer('/slow', undefined)
    await send('slow', 20)
    const notify = ['slow', 'fast'].map((path) => ({ type: 'webhook', url: `${receiver.url}/${path}` }))
    await create('slow', { notify })
    const [first] = (await receiver.until('/slow', 1)) as [Received]
    await send('slow', 1)
    await next('slow')
    expect(types(await receiver.until('/fast', 2))).toEqual(['alert.firing', 'alert.resolved'])
    expect(receiver.at('/slow')).toHaveLength(1)
    // Ends the response that was waited for.
    receiver.drop()
    receiver.answer('/slow', { status: 200 })
    const [, again, resolved] = (await later('/slow', 3)) as [Received, Received, Received]
    expect(again.headers['webhook-id']).toBe(first.headers['webhook-id'])
    expect(resolved.body.type).toBe('alert.resolved')
    await change('slow', { enabled: false })
  })

  test('that responds 410 gets nothing more, and one that redirects is not followed', async () => {
    receiver.answer('/gone', { status: 410 })
    receiver.answer('/moved', { status: 307, headers: { Location: '/elsewhere' } })
    await send('gone', 20)
    const notify = ['gone', 'moved', 'slack'].map((path) => ({
      type: path === 'slack' ? 'slack' : 'webhook',
      url: `${receiver.url}/${path}`,
    }))
    await create('gone', { notify, description: 'a < b' })
    await receiver.until('/gone', 1)
    await receiver.until('/moved', 1)
    const [slack] = (await receiver.until('/slack', 1)) as [Received]
    expect(slack.headers).not.toHaveProperty('webhook-signature')
    expect(slack.body.text).toMatch(/\*gone\* is firing\n`any\(level\) &gt;= 10`, value 20[\s\S]*a &lt; b/)
    await send('gone', 1)
    await next('gone')
    await receiver.until('/slack', 2)
    receiver.answer('/moved', { status: 200 })
    await later('/moved', 3)
    expect(receiver.at('/gone')).toHaveLength(1)
    expect(receiver.at('/elsewhere')).toHaveLength(0)
    const [first, second] = (await show('gone')).notify
    expect([first.switched_off, second.switched_off]).toEqual([true, undefined])
    // What was read can be sent back. The alert starts anew when it is enabled again.
    expect((await admin('PUT', '/api/alerts/gone', await show('gone'))).body.notify[0].switched_off).toBe(
      true,
    )
    await send('gone', 20)
    await next('gone')
    await receiver.until('/slack', 3)
    const changed = await change('gone', { when: 'any(level) > 25' })
    expect(changed.body.notify[0].switched_off).toBe(true)
    await receiver.until('/slack', 4)
    expect(receiver.at('/gone')).toHaveLength(1)
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
    await receiver.until('/tested', 1)
    const { body: quiet } = await admin('POST', '/api/alerts/tested/test')
    expect(quiet).toEqual({
      state: 'firing',
      value: 20,
      rows: [{ level: 20, entries: 1, who: 'tested' }],
    })
    const { body: tested } = await admin('POST', '/api/alerts/tested/test?notify=true')
    expect(tested.deliveries).toEqual([
      { type: 'webhook', url: `${receiver.url}/tested`, status: 204, error: null, response: '' },
    ])
    expect(types(receiver.at('/tested'))).toEqual(['alert.firing', 'alert.test'])
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

describe('saving', () => {
  test.each([
    [{ endpoint: 'nothing' }, 'endpoint'],
    [{ parameters: {} }, 'project'],
    [{ parameters: { project: 'a', other: 'b' } }, 'other'],
    [{ when: 'any(missing) > 1' }, 'when'],
    [{ when: 'any(who) > 1' }, 'when'],
    [{ when: 'level > 1' }, 'when'],
    [{ every_seconds: 4 }, 'every_seconds'],
    [{ notify: [{ type: 'webhook', url: 'ftp://example.com/' }] }, 'notify.0.url'],
    [{ notify: [{ type: 'webhook', url: 'http://localhost:1/' }] }, 'notify.0.url'],
    [{ notify: [{ type: 'webhook', url: 'http://[::1]/' }] }, 'notify.0.url'],
    [{ notify: [{ type: 'slack', url: 'http://0x7f000002/' }] }, 'notify.0.url'],
    [{ state: 'firing', unknown: 1 }, 'unknown'],
  ])('refuses %j', async (fields, parameter) => {
    const good = { name: 'refused', endpoint: level.name, parameters: { project: 'a' }, when: 'rows > 0' }
    const { status, body } = await admin('POST', '/api/alerts', { ...good, ...fields })
    expect([status, body.error?.parameter]).toEqual([400, parameter])
  })

  test('keeps versions, and guards against lost updates', async () => {
    await create('versions', { enabled: true, when: 'rows > 5' })
    expect(
      (await admin('PATCH', '/api/alerts/versions', { when: 'rows > 6' }, { 'If-Match': '"2"' })).status,
    ).toBe(412)
    expect((await change('versions', { when: 'rows > 6' })).body).toMatchObject({
      version: 2,
      when: 'rows > 6',
    })
    const { body: versions } = await admin('GET', '/api/alerts/versions/versions')
    expect(versions.map(({ when }: { when: string }) => when)).toEqual(['rows > 6', 'rows > 5'])
    // An earlier version can be sent back.
    expect((await admin('PUT', '/api/alerts/versions', versions[1])).body).toMatchObject({
      version: 3,
      when: 'rows > 5',
    })
    await change('versions', { notify: [] })
    const restore = (version: number, headers = {}) =>
      admin('POST', `/api/alerts/versions/versions/${version}/restore`, undefined, headers)
    expect((await restore(2, { 'If-Match': '"3"' })).status).toBe(412)
    expect((await restore(9)).body.error.parameter).toBe('version')
    expect((await restore(2)).body).toMatchObject({
      version: 5,
      when: 'rows > 6',
      notify: [{ secret: expect.stringMatching(/^whsec_/) }],
    })
    expect((await admin('POST', '/api/alerts', { ...(await show('versions')) })).status).toBe(409)
  })

  test('shows a secret once, and stores none', async () => {
    const { notify } = await create('secret')
    const text = JSON.stringify([await show('secret'), (await admin('GET', '/api/alerts')).body])
    expect(text).not.toContain('whsec_')
    expect((await change('secret', { notify })).body.notify[0]).not.toHaveProperty('secret')
    await change('secret', { notify: [] })
    const { body } = await change('secret', { notify })
    expect(body.notify[0].secret).toMatch(/^whsec_/)
    expect(body.notify[0].secret).not.toBe(notify[0].secret)
    const stored = await service.engine.query(
      { sql: "SELECT body FROM _catalog WHERE kind = 'alert'", format: 'TSV' },
      { deadlineMs: 10_000 },
    )
    expect(stored.body.toString()).not.toContain(notify[0].secret.slice(6, 30))
  })
})

test('alerts are files of a workspace, and commands show and mute them', async () => {
  const files = scratchDirectory()
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(files.path, path)), { recursive: true })
    writeFileSync(join(files.path, path), content)
  }
  const run = (...args: string[]) =>
    runCommand(args, {
      cwd: files.path,
      environment: { WELLHEAD_URL: service.url, WELLHEAD_TOKEN: service.adminToken.token },
    })
  write('endpoints/filed.sql', '/*\nid: 8d8f7a53-6a5c-4a2f-9d5e-1c2f3a4b5c6d\n*/\nSELECT 1 AS n\n')
  const alert = `endpoint: filed\nevery_seconds: 3600\nnotify:\n  - type: webhook\n    url: ${receiver.url}/filed\nwhen: any(n) > 1\n`
  write('alerts/filed.yaml', alert.replace('any(n)', 'any(m)'))
  const { code, stdout } = await run('check')
  expect([code, stdout]).toEqual([
    1,
    expect.stringContaining('alerts/filed.yaml:6:1: filed has no column "m".'),
  ])
  write('alerts/filed.yaml', alert)
  expect((await run('check')).code).toBe(0)
  expect((await run('diff')).stdout).toContain('created alert filed\n')
  const deployed = await run('deploy')
  expect(deployed).toMatchObject({ code: 0, stdout: expect.stringContaining('created alert filed') })
  expect(deployed.stderr).toMatch(/^secret of filed for http:\S+\/filed: whsec_/)
  expect((await run('alert', 'mute', 'filed', '--for', '2h')).stdout).toMatch(/^filed is muted until 20/)
  write('alerts/filed.yaml', alert.replace('> 1', '>= 1'))
  expect((await run('diff')).stdout).toMatch(
    /updated alert filed[\s\S]*-when: any\(n\) > 1\n\+when: any\(n\) >= 1/,
  )
  expect((await run('deploy')).stdout).toContain('updated alert filed\n')
  expect(await show('filed')).toMatchObject({
    version: 3,
    muted_until: expect.any(String),
    when: 'any(n) >= 1',
  })
  expect((await run('alert', 'list')).stdout).toMatch(/filed +(ok|firing) /)
  expect((await run('alert', 'test', 'filed')).stdout).toBe('firing, value 1\n')
  expect((await run('alert', 'show', 'filed')).stdout).toMatch(/when +any\(n\) >= 1\n/)
  rmSync(join(files.path, 'alerts/filed.yaml'))
  expect((await run('pull')).stdout).toContain('written alerts/filed.yaml\n')
  expect(readFileSync(join(files.path, 'alerts/filed.yaml'), 'utf8')).toContain('when: any(n) >= 1\n')
  expect((await run('diff', '--exit-code')).code).toBe(0)
  await create('unfiled', { endpoint: 'filed', parameters: {}, when: 'rows > 5', notify: [] })
  const pruned = await run('deploy', '--prune', '--yes')
  expect(pruned).toMatchObject({ code: 0, stdout: expect.stringContaining('deleted alert unfiled\n') })
  expect((await show('unfiled')).error.code).toBe('not_found')
  expect(await show('filed')).toMatchObject({ name: 'filed' })
  files.remove()
})

test('a tenant sees nothing of alerts', async () => {
  const { token } = await makeToken(service, { scopes: ['query'], project: 'holds' })
  expect((await ask(service, token, 'GET', '/api/alerts')).status).toBe(403)
  const search = (by: string) => ask(service, by, 'POST', '/api/sources/alert_events/search', {})
  expect((await search(service.adminToken.token)).body).not.toEqual([])
  expect((await search(token)).body).toEqual([])
  const sent = await admin('POST', '/api/logs?source=alert_events', [{ message: 'fired' }])
  expect(sent.status).toBe(403)
})

import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'

const dayMs = 86_400_000
const directory = scratchDirectory()
const clock = manualClock(Date.now())
let time = manualTime(clock)
let service: RunningService
const open = async () => {
  time = manualTime(clock)
  service = await openService({ engine: 'embedded', dataDir: directory.path, time })
}
beforeAll(() => open())
afterAll(async () => {
  await service.close()
  directory.remove()
})

const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, `/api/${path}`, body)
const done = async (method: string, path: string, body?: unknown) => {
  const { status, body: result } = await admin(method, path, body)
  expect(status, `${method} ${path}: ${JSON.stringify(result)}`).toBeLessThan(300)
}
const at = (days: number) => new Date(clock.now() - days * dayMs).toISOString()
/** The day on which entries leave the disk that are hidden now. */
const deletedOn = () => new Date(Math.ceil((clock.now() + dayMs) / dayMs) * dayMs).toISOString().slice(0, 10)
const send = async (source: string, project: string, ages: readonly number[]) => {
  const entries = ages.map((days) => ({ id: `d${days}`, project, timestamp: at(days) }))
  expect((await admin('POST', `logs?source=${source}`, entries)).body).toMatchObject({
    accepted: ages.length,
  })
}

test('a shorter retention is refused on every way, with what it hides, and nothing is stored', async () => {
  const source = { name: 'asked_logs', retention_days: 90 }
  await done('POST', 'sources', { ...source, retention_days: 30 })
  await done('PATCH', 'sources/asked_logs', { retention_days: 90 })
  const plans = [
    { name: 'ASKED', retention_days: 60 },
    { name: 'SMALLER', retention_days: 10 },
  ]
  await done('POST', 'deployments', { plans: [{ ...plans[0], retention_days: 5 }] })
  await done('POST', 'deployments', { plans })
  await done('PUT', 'projects/asked-a?breaking=true', { plan: 'ASKED' })
  await send('asked_logs', 'asked-a', [1, 20, 40, 70])
  await send('asked_logs', 'asked-b', [1, 20, 40, 70])
  const [oldest, oldestOfPlan] = [70, 40].map(at)

  const ofSource = { definition: 'sources/asked_logs', entries: 4, oldest }
  const ofPlan = { definition: 'plans/ASKED', entries: 1, oldest: oldestOfPlan }
  const ofProject = { definition: 'projects/asked-a', entries: 2, oldest: oldestOfPlan }
  const ofDefault = { definition: 'plans/default', entries: 1, oldest }
  const shorter = { retention_days: 30 }
  const short = { ...plans[0], ...shorter }
  const ways: [method: string, path: string, body: object | undefined, change: object][] = [
    ['PATCH', 'sources/asked_logs', shorter, ofSource],
    ['PUT', 'sources/asked_logs', { ...source, ...shorter }, ofSource],
    ['POST', 'sources/asked_logs/versions/1/restore', undefined, ofSource],
    ['POST', 'deployments', { sources: [{ ...source, ...shorter }] }, ofSource],
    ['PATCH', 'plans/ASKED', shorter, ofPlan],
    ['PUT', 'plans/ASKED', short, ofPlan],
    ['POST', 'plans/ASKED/versions/1/restore', undefined, { ...ofPlan, entries: 2 }],
    ['POST', 'deployments', { plans: [short] }, ofPlan],
    ['PUT', 'projects/asked-a', { plan: 'SMALLER' }, ofProject],
    ['POST', 'plans', { name: 'default', retention_days: 50 }, ofDefault],
    ['POST', 'deployments', { plans: [{ name: 'default', retention_days: 50 }] }, ofDefault],
  ]
  const state = async () => [
    (await admin('GET', 'sources/asked_logs')).body.version,
    (await admin('GET', 'plans')).body.map(({ name, version }: { name: string; version: number }) => [
      name,
      version,
    ]),
    (await admin('GET', 'projects/asked-a')).body.plan,
  ]
  const before = await state()
  const refused = async ([method, path, body, change]: (typeof ways)[number]) => {
    const response = await admin(method, path, body)
    expect([method, path, response.status, response.body.error]).toMatchObject([
      ...[method, path, 409],
      { code: 'breaking_change', changes: [change] },
    ])
    return response.body.error
  }
  for (const way of ways) await refused(way)
  const { message, changes } = await refused(ways[0] as (typeof ways)[number])
  expect(message).toBe(
    'A change would hide 4 entries, so nothing was changed. Set breaking=true to change it anyway.',
  )
  expect(changes[0].message).toBe(
    `retention_days 90 → 30; 4 entries of 2 projects, the oldest from ${oldest}, will be hidden at once and deleted on ${deletedOn()}`,
  )
  expect(await state()).toEqual(before)
  const planned = { sources: [{ ...source, ...shorter }], dry_run: true }
  expect((await admin('POST', 'deployments', planned)).body.sources[0].changes).toMatchObject([
    { breaking: true, entries: 4 },
  ])
  // What is longer, or changes nothing of it, needs no confirmation.
  expect((await admin('PATCH', 'sources/asked_logs', { description: 'Asked.' })).status).toBe(200)
  expect((await admin('PUT', 'projects/asked-a', { plan: 'default' })).status).toBe(200)
  // A new project has no entries to hide.
  expect((await admin('PUT', 'projects/asked-new', { plan: 'SMALLER' })).body).toMatchObject({
    project: 'asked-new',
    plan: 'SMALLER',
  })
})

test('a plan in use is deleted or renamed only with a confirmation that names its projects', async () => {
  const plan = { name: 'USED', retention_days: 60 }
  await done('POST', 'deployments', { plans: [plan] })
  await done('POST', 'plans?breaking=true', { name: 'default', retention_days: 30 })
  await done('PUT', 'projects/asked-a', { plan: 'USED' })
  const oldest = at(40)
  await send('asked_logs', 'used-a', [40])
  await done('PUT', 'projects/used-a', { plan: 'USED' })
  const change = {
    definition: 'plans/USED',
    entries: 2,
    message: expect.stringMatching(
      /; projects asked-a, used-a get the plan default \(retention_days 60 → 30\); 2 entries of 2 projects, /,
    ),
  }
  const ways: [method: string, path: string, body?: object][] = [
    ['DELETE', 'plans/USED'],
    ['PATCH', 'plans/USED', { name: 'OTHER' }],
    ['POST', 'deployments', { delete: { plans: ['USED'] } }],
  ]
  for (const [method, path, body] of ways) {
    const { status, body: refused } = await admin(method, path, body)
    expect([method, status, refused.error]).toMatchObject([
      ...[method, 409],
      { code: 'breaking_change', changes: [change] },
    ])
    expect(refused.error.changes[0].oldest <= oldest).toBe(true)
  }
  expect((await admin('GET', 'plans/USED')).body.version).toBe(1)
  expect((await admin('DELETE', 'plans/USED?breaking=true')).status).toBe(204)
  expect((await admin('GET', 'projects/used-a')).body.plan).toBe('default')
  // The name has projects, so a new plan with it can hide entries, too.
  const again = await admin('POST', 'plans', { ...plan, retention_days: 20 })
  expect([again.status, again.body.error.changes]).toMatchObject([409, [{ definition: 'plans/USED' }]])
  expect((await admin('DELETE', 'plans/default')).status).toBe(204)
  expect((await admin('POST', 'plans?breaking=true', plan)).status).toBe(201)
})

const stored = async (source: string, project: string) => {
  const sql = `SELECT count() FROM ${source} WHERE project = '${project}'`
  const { body } = await service.engine.query({ sql, format: 'TabSeparated' }, { deadlineMs: 30_000 })
  return Number(body.toString())
}
const restart = async () => {
  await service.close()
  await open()
}
const minutesMs = 300_000
/** Lets the service live through some time, with what it does in the background. */
const live = async (ms: number) => {
  for (const endMs = clock.now() + ms; clock.now() < endMs; ) {
    time.advance(Math.min(minutesMs, endMs - clock.now()))
    await setTimeout()
    await admin('GET', 'sources')
  }
}
/** Until an hour after the midnight at which entries leave the disk that are hidden now. */
const untilDeletedMs = () => Math.ceil((clock.now() + dayMs) / dayMs) * dayMs + dayMs / 24 - clock.now()

test('entries that a smaller plan hides leave the disk after a day, at midnight, also if the service restarts', async () => {
  await done('POST', 'sources', { name: 'plan_logs', published: true })
  await done('POST', 'deployments', { plans: [{ name: 'TWO', retention_days: 2 }] })
  await done('POST', 'deployments', { plans: [{ name: 'TEN', retention_days: 10 }] })
  const ages = [0, 5, 20]
  for (const project of ['smaller', 'shorter', 'back', 'other']) await send('plan_logs', project, ages)
  await done('PUT', 'projects/shorter?breaking=true', { plan: 'TEN' })
  await done('PUT', 'projects/smaller?breaking=true', { plan: 'TWO' })
  await done('PUT', 'projects/back?breaking=true', { plan: 'TWO' })
  await done('PATCH', 'plans/TEN?breaking=true', { retention_days: 3 })
  const tenant = await makeToken(service, { scopes: ['search'], project: 'smaller' })
  const search = { from: '2020-01-01T00:00:00Z' }
  const seen = await ask(service, tenant.token, 'POST', '/api/sources/plan_logs/search', search)
  expect(seen.body.map(({ id }: { id: string }) => id)).toEqual(['d0'])
  const all = () =>
    Promise.all(['smaller', 'shorter', 'back', 'other'].map((project) => stored('plan_logs', project)))
  const dueMs = clock.now() + untilDeletedMs()
  await restart()
  await live(2 * 3_600_000)
  await done('PUT', 'projects/back', { plan: 'default' })
  await restart()
  await live(dueMs - dayMs / 12 - clock.now())
  expect(await all()).toEqual([3, 3, 3, 3])
  await restart()
  await live(3 * 3_600_000)
  await expect.poll(all).toEqual([1, 1, 3, 3])
})

test('entries that a shorter retention of a source hides are hidden from everyone, and come back until they leave the disk', async () => {
  const names = ['shorter_logs', 'back_logs', 'twice_logs']
  for (const name of names) await done('POST', 'sources', { name, published: true })
  for (const name of names) await send(name, 'kept', [0, 5, 20])
  const definition = { query: 'SELECT id FROM shorter_logs ORDER BY timestamp DESC', cache_seconds: 86_400 }
  await done('POST', 'endpoints', { name: 'shorter.ids', ...definition, published: true })
  const tenant = await makeToken(service, { scopes: ['query', 'search'], project: 'kept' })
  const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
  const range = { from: '2020-01-01T00:00:00Z' }
  const reads = async (token: string) => {
    const source = 'sources/shorter_logs'
    const asked = async (path: string, body?: unknown) =>
      (await ask(service, token, body ? 'POST' : 'GET', `/api/${path}`, body)).body
    return [
      idsOf(await asked(`${source}/search`, range)),
      idsOf((await asked('endpoints/query/shorter.ids')).result),
      (await asked(`${source}/values`, { ...range, path: 'id' })).map(
        ({ value }: { value: string }) => value,
      ),
      (await asked(`${source}/histogram`, range)).buckets.reduce(
        (sum: number, { count }: { count: number }) => sum + count,
        0,
      ),
      idsOf(await asked('search', { ...range, query: 'project:kept', sources: ['shorter_logs'] })),
      idsOf(await asked(`${source}/entries/d0/context?before=9&after=9`)),
    ]
  }
  const all = ['d0', 'd5', 'd20']
  const allShown = [all, all, expect.arrayContaining(all), 3, all, all]
  const newest = ['d0']
  const newestShown = [newest, newest, newest, 1, newest, newest]
  const expectAll = async (shown: unknown) => {
    for (const token of [tenant.token, service.adminToken.token]) expect(await reads(token)).toEqual(shown)
  }
  await expectAll(allShown)
  const shorten = (name: string, days: number) =>
    done('PATCH', `sources/${name}?breaking=true`, { retention_days: days })
  await shorten('shorter_logs', 2)
  await expectAll(newestShown)
  const entry = await admin('GET', 'sources/shorter_logs/entries/d5')
  expect(entry.status).toBe(404)
  const query = 'SELECT count() AS n FROM shorter_logs'
  expect((await admin('POST', 'sql', { query })).body.result).toEqual([{ n: 1 }])
  const old = { id: 'late', project: 'kept', timestamp: at(3) }
  expect((await admin('POST', 'logs?source=shorter_logs', [old])).body).toMatchObject({ rejected: 1 })
  // Hidden already, so nothing more would be hidden.
  const again = await admin('PATCH', 'sources/shorter_logs', { retention_days: 1 })
  expect([again.status, again.body.error.changes[0].entries]).toEqual([409, 0])

  await shorten('back_logs', 2)
  await shorten('twice_logs', 10)
  await shorten('twice_logs', 2)
  const dueMs = clock.now() + untilDeletedMs()
  const storedOf = () => Promise.all(names.map((name) => stored(name, 'kept')))
  const shownOf = (name: string) =>
    admin('POST', `sources/${name}/search`, range).then(({ body }) => idsOf(body))
  await restart()
  await expectAll(newestShown)
  await live(2 * 3_600_000)
  await done('PATCH', 'sources/twice_logs', { retention_days: 10 })
  expect(await shownOf('twice_logs')).toEqual(['d0', 'd5'])
  await done('PATCH', 'sources/back_logs', { retention_days: 90 })
  expect(await shownOf('back_logs')).toEqual(all)
  await restart()
  await live(dueMs - dayMs / 12 - clock.now())
  expect(await storedOf()).toEqual([3, 3, 3])
  await restart()
  await live(3 * 3_600_000)
  await expect.poll(storedOf).toEqual([1, 3, 2])
  expect(await Promise.all(names.map(shownOf))).toEqual([newest, all, ['d0', 'd5']])
  // What is on the disk no longer comes back, and nothing filters the source anymore.
  await live(minutesMs)
  await done('PATCH', 'sources/shorter_logs', { retention_days: 90 })
  expect(await shownOf('shorter_logs')).toEqual(newest)
})

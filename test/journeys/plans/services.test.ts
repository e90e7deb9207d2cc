import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { systemTime, type Timers } from '../../../src/core/base/clock.ts'
import type { Log } from '../../../src/core/base/log.ts'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { ErasureFile } from '../../../src/features/erasure/erasure-file.ts'
import { Erasures } from '../../../src/features/erasure/erasures.ts'
import { planShape } from '../../../src/features/plans/plan.ts'
import { ProjectPlans } from '../../../src/features/plans/project-plans.ts'
import { ProjectUsage } from '../../../src/features/plans/project-usage.ts'
import { Quotas } from '../../../src/features/plans/quotas.ts'
import { UsageJournal } from '../../../src/features/plans/usage-journal.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { workerServer } from '../../support/worker-server.ts'
import { runOn } from '../server/run-on.ts'

/** Several services on one server, with a clock that the tests set. */
runOn(workerServer)

const dayMs = 86_400_000
const time = manualTime(manualClock(Date.now()))
let services: [RunningService, RunningService]
const openOne = () => openService({ time, environment: { WELLHEAD_ADMIN_TOKEN: 'the-admin-token-of-both' } })
beforeAll(async () => {
  services = [await openOne(), await openOne()]
  const [one] = services
  await admin(one, 'POST', '/api/sources', { name: 'shared_logs', published: true })
  const plans = [
    { name: 'SHARED_10', entries_per_day: 10, requests_per_minute: 1_000_000 },
    { name: 'SHARED_DAY', retention_days: 1 },
  ]
  await admin(one, 'POST', '/api/deployments', { plans })
  await follows((other) => admin(other, 'GET', '/api/plans/SHARED_DAY').then(({ status }) => status === 200))
})
afterAll(() => Promise.all(services.map((service) => service.close())))

const admin = (service: RunningService, method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const send = (service: RunningService, project: string, count: number, timestamp?: string) =>
  admin(
    service,
    'POST',
    '/api/logs?source=shared_logs',
    Array.from({ length: count }, () => ({ project, ...(timestamp && { timestamp }) })),
  )
/** Resolves once the other service follows. Its timers begin again when it has read. */
function follows(holds: (other: RunningService) => Promise<boolean>): Promise<void> {
  return vi.waitFor(async () => {
    time.advance(500)
    expect(await holds(services[1])).toBe(true)
  })
}
const usageOf = async (service: RunningService, project: string) =>
  (await admin(service, 'GET', `/api/project-usage?project=${project}`)).body
const planOf = async (service: RunningService, project: string) =>
  (await admin(service, 'GET', `/api/projects/${project}`)).body.plan

test('services count together what a project sends in a day', async () => {
  const [one, other] = services
  const tenant = await makeToken(other, { scopes: ['query'], project: 'shared-a' })
  await admin(one, 'PUT', '/api/projects/shared-a', { plan: 'SHARED_10' })
  await follows(async () => {
    const { headers } = await ask(other, tenant.token, 'GET', '/api/project-usage')
    return headers.has('ratelimit-policy')
  })
  expect((await send(one, 'shared-a', 6)).body.accepted).toBe(6)
  // Stores its counts.
  await usageOf(one, 'shared-a')
  expect((await send(other, 'shared-a', 6)).body).toMatchObject({ accepted: 4, rejected: 2 })
  await usageOf(other, 'shared-a')
  // So long, a service relies on what it read.
  time.advance(2_001)
  expect((await send(one, 'shared-a', 1)).body.error.code).toBe('quota_exceeded')
  expect(await usageOf(one, 'shared-a')).toMatchObject([{ entries: 10 }])
})

test('an assignment holds although the rows from before it are being read, which count for other projects', async () => {
  const { engine } = services[0]
  const own = manualTime(manualClock(Date.now()))
  let afterReading = async () => {}
  let reads = 0
  const plans = new ProjectPlans({
    engine: {
      insert: (...sent) => engine.insert(...sent),
      query: async (...sent) => {
        const result = await engine.query(...sent)
        await afterReading()
        reads++
        return result
      },
    },
    time: own,
    log: pino({ level: 'silent' }),
    find: (name) => planShape.parse({ name }),
    shared: true,
  })
  await plans.open()
  await plans.assign('shared-read', 'SHARED_10')
  const elsewhere = Buffer.from('{"project":"shared-elsewhere","plan":"SHARED_10"}\n')
  await engine.insert({ table: '_projects', format: 'JSONEachRow' }, elsewhere, { deadlineMs: 30_000 })
  afterReading = () => plans.assign('shared-read', 'SHARED_DAY')
  const before = reads
  own.advance(1_000)
  await vi.waitFor(() => expect(reads).toBe(before + 1))
  await plans.stop()
  expect(plans.of('shared-read').name).toBe('SHARED_DAY')
  expect(plans.of('shared-elsewhere').name).toBe('SHARED_10')
})

test('another service knows the plan of a project, and what it hides', async () => {
  const [one, other] = services
  await send(one, 'shared-b', 2, new Date(time.wall.now() - 3 * dayMs).toISOString())
  await send(one, 'shared-b', 1)
  const tenant = await makeToken(other, { scopes: ['search'], project: 'shared-b' })
  const seen = async () => {
    const search = { from: '2020-01-01T00:00:00Z' }
    const { status, body } = await ask(other, tenant.token, 'POST', '/api/sources/shared_logs/search', search)
    return status === 200 ? body.length : status
  }
  expect(await seen()).toBe(3)
  await admin(one, 'PUT', '/api/projects/shared-b?breaking=true', { plan: 'SHARED_DAY' })
  await follows(async () => (await seen()) === 1)
})

test('an erasure is not done while a query runs that began before it', async () => {
  const [service] = services
  const { engine } = service
  await send(service, 'shared-read', 2)
  const directory = scratchDirectory()
  const order: string[] = []
  let [isGone, endQuery] = [false, () => {}]
  const query = new Promise<void>((resolve) => {
    endQuery = resolve
  })
  const system = systemTime()
  const after: Timers['after'] = (_, run) => {
    if (isGone && !order.includes('query ended')) order.push('query ended')
    if (isGone) endQuery()
    return system.after(0, run)
  }
  const erasures = new Erasures({
    ...{ engine, time: { ...system, after }, log: pino({ level: 'silent' }), shared: false },
    ...{ topology: () => topologyOf(engine), sourceOf: (name) => name },
    sources: () => [{ id: '1', name: 'shared_logs', project: null }],
    holdEntries: async () => () => {},
    file: new ErasureFile(directory.path),
    eraseTables: async () => true,
  })
  const forget = async () => void order.push('forgotten')
  erasures.follow({ flush: async () => {}, onErase: forget, queriesEnded: () => query })
  const { rows } = erasures.read({ project: 'shared-read' })
  const { id } = await erasures.begin(rows, 'tests', async () => {})
  const sql = "SELECT count() AS n FROM shared_logs WHERE project = 'shared-read'"
  await expect
    .poll(async () => (await admin(service, 'POST', '/api/sql', { query: sql })).body.result[0].n)
    .toBe(0)
  isGone = true
  await expect.poll(() => erasures.get(id).done_at).not.toBeNull()
  expect(order).toEqual(['forgotten', 'query ended', 'forgotten'])
  await erasures.stop()
  directory.remove()
})

test('an erasure stays done although its row from before is being read', async () => {
  const [{ engine }] = services
  const directory = scratchDirectory()
  const system = systemTime()
  let [begun, erased] = ['', 0]
  let isEnded = () => {}
  const end = new Promise<void>((resolve) => {
    isEnded = resolve
  })
  /** When it was done, at the start of each read of the rows of all services. */
  const seen: (string | null)[] = []
  const erasures: Erasures = new Erasures({
    engine: {
      database: engine.database,
      state: () => engine.state(),
      close: async () => {},
      insert: (...sent) => engine.insert(...sent),
      command: (...sent) => engine.command(...sent),
      query: async (...sent) => {
        const isRead = begun !== '' && sent[0].sql.includes('FROM _erasures')
        if (isRead) seen.push(erasures.get(begun).done_at)
        const result = await engine.query(...sent)
        if (isRead) await end
        return result
      },
    },
    ...{ time: { ...system, after: (_, run) => system.after(0, run) }, shared: true },
    log: { info: () => erased++, warn: () => {} } as unknown as Pick<Log, 'info' | 'warn'>,
    ...{ topology: () => topologyOf(engine), sourceOf: (name) => name, sources: () => [] },
    file: new ErasureFile(directory.path),
    holdEntries: async () => () => {},
    eraseTables: async () => true,
  })
  erasures.follow({
    flush: async () => {},
    onErase: async () => {},
    // Goes on once a read has begun.
    queriesEnded: () => vi.waitFor(() => expect(seen).toEqual([null])),
  })
  await erasures.open()
  const { rows } = erasures.read({ project: 'shared-stale' })
  begun = (await erasures.begin(rows, 'tests', async () => {})).id
  await expect.poll(() => erasures.get(begun).done_at).not.toBeNull()
  const { done_at } = erasures.get(begun)
  isEnded()
  await expect.poll(() => seen.length).toBeGreaterThan(2)
  await erasures.stop()
  expect([new Set(seen), erased]).toEqual([new Set([null, done_at]), 1])
  expect(seen.lastIndexOf(null)).toBe(0)
  directory.remove()
})

test('a plan of a million projects is assigned without a query for each, and known after a start', async () => {
  const [one] = services
  const { engine } = one
  // Assigned a minute ago, because running services read all that is new, and would do so every second.
  const sql =
    'INSERT INTO _projects (project, plan, at) ' +
    "SELECT concat('bulk-', toString(number)), 'SHARED_DAY', now64(6) - INTERVAL 1 MINUTE FROM numbers(999990)"
  await engine.command({ sql }, { deadlineMs: 120_000 })
  const third = await openOne()
  try {
    expect(await planOf(third, 'bulk-999989')).toBe('SHARED_DAY')
    const { status, body } = await admin(third, 'DELETE', '/api/plans/SHARED_DAY')
    expect([status, body.error.code]).toEqual([409, 'breaking_change'])
    const put = (project: string) =>
      admin(third, 'PUT', `/api/projects/${project}?breaking=true`, { plan: 'SHARED_DAY' })
    // One that has a plan may get another one, but the table is full for the others.
    let refused: string | undefined
    for (let more = 0; more < 20 && refused === undefined; more++) {
      refused = (await put(`more-${more}`)).body.error?.message
    }
    expect(refused).toContain('At most 1000000 projects')
    expect((await put('bulk-1')).status).toBe(200)
    // Projects that no longer have a plan make room for others.
    const released = await admin(third, 'PUT', '/api/projects/bulk-2', { plan: 'default' })
    expect([released.status, (await put('more-later')).status]).toEqual([200, 200])
  } finally {
    await third.close()
    await engine.command({ sql: 'TRUNCATE TABLE _projects' }, { deadlineMs: 30_000 })
  }
})

test('an entry counts on the day on which it was admitted, and a day has no more than its plan, whatever the clock does', async () => {
  const [{ engine }] = services
  const directory = scratchDirectory()
  const own = manualTime(manualClock(Date.parse('2026-03-01T23:59:59Z')))
  const log = pino({ level: 'silent' })
  const plan = planShape.parse({ name: 'bounded', entries_per_day: 3 })
  const usage = new ProjectUsage({
    ...{ engine, time: own, log, shared: false },
    journal: new UsageJournal(directory.path),
    planOf: () => plan,
  })
  const quotas = new Quotas({ usage, planOf: () => plan })
  const bytes = Buffer.from('{"project":"late"}\n'.repeat(2))
  const lines = { bytes, ends: Uint32Array.of(bytes.length / 2, bytes.length) }
  const none = { bytes: Buffer.alloc(0), ends: new Uint32Array() }
  const late = await quotas.admit(lines, none)
  own.advance(2_000)
  const overs: number[][] = []
  const admit = async () => {
    const { over, stored, release } = await quotas.admit(lines, none)
    overs.push([...over])
    stored()
    release()
  }
  await admit()
  late.stored()
  late.release()
  own.advance(-10_000)
  await admit()
  // What was admitted before midnight takes nothing of the day that has begun.
  expect(overs).toEqual([[], [1]])
  await usage.stop()
  const sql =
    "SELECT toString(day) AS day, toUInt32(max(entries)) AS entries FROM _project_usage WHERE project = 'late' GROUP BY day ORDER BY day"
  const { body } = await engine.query({ sql, format: 'JSONCompactEachRow' }, { deadlineMs: 30_000 })
  expect(body.toString().trim().split('\n')).toEqual(['["2026-03-01", 2]', '["2026-03-02", 3]'])
  directory.remove()
})

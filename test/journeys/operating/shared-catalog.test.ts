import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { workerServer } from '../../support/worker-server.ts'
import { runOn } from '../server/run-on.ts'

/** Two services that share one ClickHouse server and its catalog. */
let one: RunningService
let other: RunningService

const adminToken = 'the-admin-token-of-both'
const openOn = () => openService({ environment: { WELLHEAD_ADMIN_TOKEN: adminToken } })

runOn(workerServer)
beforeAll(async () => {
  // Concurrently, on an empty server.
  ;[one, other] = await Promise.all([openOn(), openOn()])
})
afterAll(() => Promise.all([one?.close(), other?.close()]))

const admin = (service: RunningService, method: string, path: string, body?: unknown) =>
  ask(service, adminToken, method, path, body)
const soon = (assertion: () => Promise<void>) => vi.waitFor(assertion, { interval: 100 })

test('services that start together on an empty server agree on the sources and endpoints', async () => {
  for (const path of ['/api/sources', '/api/endpoints']) {
    await soon(async () => {
      const [mine, yours] = await Promise.all([admin(one, 'GET', path), admin(other, 'GET', path)])
      expect(mine.body).toEqual(yours.body)
    })
  }
  const names = (await admin(one, 'GET', '/api/sources')).body.map(({ name }: { name: string }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test('an endpoint, a source and a token of one service work on the other until they are deleted', async () => {
  await admin(one, 'POST', '/api/sources', { name: 'orders' })
  await admin(one, 'POST', '/api/endpoints', {
    name: 'orders.count',
    query: 'SELECT count() AS n FROM orders',
  })
  const { id, token } = await makeToken(one, { scopes: ['query', 'ingest'] })
  const call = () => ask(other, token, 'GET', '/api/endpoints/query/orders.count')
  await soon(async () => expect((await call()).status).toBe(200))
  expect((await ask(other, token, 'POST', '/api/logs?source=orders', [{ n: 1 }])).body.accepted).toBe(1)
  expect((await call()).body).toEqual({ result: [{ n: 1 }] })
  await admin(other, 'PATCH', '/api/endpoints/orders.count', { query: 'SELECT 2 AS n' })
  await soon(async () =>
    expect((await ask(one, token, 'GET', '/api/endpoints/query/orders.count')).body.result).toEqual([
      { n: 2 },
    ]),
  )
  await admin(one, 'DELETE', `/api/access-tokens/${id}`)
  expect((await ask(one, token, 'GET', '/api/endpoints/query/orders.count')).status).toBe(401)
  await soon(async () => expect((await call()).status).toBe(401))
  await admin(other, 'DELETE', '/api/endpoints/orders.count')
  await soon(async () => expect((await admin(one, 'GET', '/api/endpoints/orders.count')).status).toBe(404))
  await admin(other, 'DELETE', '/api/sources/orders?confirm=orders')
  await soon(async () => expect((await admin(one, 'GET', '/api/sources/orders')).status).toBe(404))
})

test('of two services that create the same name concurrently, one succeeds', async () => {
  const claims = await Promise.all(
    [one, other, one, other].map((service, i) =>
      admin(service, 'POST', '/api/endpoints', { name: 'contested', query: `SELECT ${i} AS i` }),
    ),
  )
  expect(claims.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  const winner = claims.find(({ status }) => status === 201)?.body.id
  for (const service of [one, other]) {
    await soon(async () =>
      expect((await admin(service, 'GET', '/api/endpoints/contested')).body.id).toBe(winner),
    )
  }
})

test('of two concurrent changes of the same version, one succeeds and the other gets 412', async () => {
  const made = await admin(one, 'POST', '/api/endpoints', { name: 'edited', query: 'SELECT 1 AS i' })
  await soon(async () => expect((await admin(other, 'GET', '/api/endpoints/edited')).status).toBe(200))
  const changes = await Promise.all(
    [one, other].map((service, i) =>
      ask(
        service,
        adminToken,
        'PATCH',
        `/api/endpoints/${made.body.id}`,
        { query: `SELECT ${i} AS i` },
        {
          'If-Match': '"1"',
        },
      ),
    ),
  )
  expect(changes.map(({ status }) => status).sort()).toEqual([200, 412])
})

test('of two concurrent deployments that share an endpoint, one succeeds and the other changes nothing', async () => {
  const deploy = (service: RunningService, names: string[], mark: string) =>
    admin(service, 'POST', '/api/deployments', {
      endpoints: names.map((name) => ({
        name,
        description: mark,
        query: 'SELECT 1 AS n',
        expected_version: 0,
      })),
    })
  const both = await Promise.all([
    deploy(one, ['deploy.a', 'deploy.met'], 'mine'),
    deploy(other, ['deploy.met', 'deploy.z'], 'yours'),
  ])
  const won = both.findIndex(({ status }) => status === 200)
  expect([both[won]?.status, both[1 - won]?.status]).toEqual([200, expect.toBeOneOf([409, 412])])
  for (const service of [one, other]) {
    await soon(async () => {
      const list: { name: string; description: string }[] = (await admin(service, 'GET', '/api/endpoints'))
        .body
      const there = list.filter(({ name }) => name.startsWith('deploy.'))
      expect(there.map(({ name, description }) => `${name} ${description}`)).toEqual(
        [
          ['deploy.a mine', 'deploy.met mine'],
          ['deploy.met yours', 'deploy.z yours'],
        ][won],
      )
    })
  }
})

/** Lets another request finish between the plan of a change and its end in the catalog of this service. */
function overtake(service: RunningService, request: () => Promise<unknown>): void {
  const insert = service.engine.insert.bind(service.engine)
  let isFirst = true
  const inserts = vi.spyOn(service.engine, 'insert').mockImplementation(async (target, ...rest) => {
    if (isFirst && target.table === '_catalog') {
      isFirst = false
      await request()
    }
    return insert(target, ...rest)
  })
  onTestFinished(() => {
    inserts.mockRestore()
    expect(isFirst).toBe(false)
  })
}

test('a change that rests on what another service deletes meanwhile is planned again, and refused', async () => {
  await admin(one, 'POST', '/api/sources', { name: 'fleeting' })
  const query = 'SELECT count() AS n FROM fleeting'
  expect((await admin(one, 'POST', '/api/endpoints', { name: 'fleeting.count', query })).status).toBe(201)
  const alert = { name: 'fleeting-alert', endpoint: 'fleeting.count', when: 'rows > 0', notify: [] }
  await soon(async () =>
    expect((await admin(other, 'GET', '/api/endpoints/fleeting.count')).status).toBe(200),
  )

  overtake(other, async () => {
    expect((await admin(one, 'DELETE', '/api/endpoints/fleeting.count')).status).toBe(204)
  })
  const created = await admin(other, 'POST', '/api/alerts', alert)
  expect([created.status, created.body.error?.message]).toEqual([
    400,
    expect.stringContaining('fleeting.count'),
  ])
  expect((await admin(other, 'GET', '/api/alerts/fleeting-alert')).status).toBe(404)

  overtake(one, async () => {
    expect((await admin(other, 'POST', '/api/endpoints', { name: 'fleeting.again', query })).status).toBe(201)
  })
  const removed = await admin(one, 'DELETE', '/api/sources/fleeting?confirm=fleeting')
  expect([removed.status, removed.body.error?.users]).toEqual([409, ['endpoints/fleeting.again']])
})

test('a change that another service does not concern is made, also with an expected version', async () => {
  await admin(one, 'POST', '/api/endpoints', { name: 'calm', query: 'SELECT 1 AS n' })
  overtake(one, async () => {
    const body = { name: 'busy', query: 'SELECT 1 AS n' }
    expect((await admin(other, 'POST', '/api/endpoints', body)).status).toBe(201)
  })
  const ifMatch = { 'If-Match': '"1"' }
  const changed = await ask(one, adminToken, 'PATCH', '/api/endpoints/calm', { description: 'calm' }, ifMatch)
  expect([changed.status, changed.body.version]).toEqual([200, 2])
})

const run = (sql: string, settings: Record<string, string | number> = {}) =>
  one.engine.command({ sql, settings }, { deadlineMs: 60_000 })

/** A row that no service has written. */
const insertRow = (id: string, kind: string, position: number, body: string) =>
  'INSERT INTO _catalog (entry, kind, id, version, changed_at, changed_by, deleted, body, position) VALUES ' +
  `('${id}', '${kind}', '${id}', 1, now64(6), 'nobody', false, '${body}', ${position})`

async function endOfCatalog(): Promise<number> {
  const sql = 'SELECT max(position) + 1 FROM _catalog'
  const { body } = await one.engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs: 60_000 })
  return Number(body.toString())
}

test('an endpoint that was stored before the field timestamps existed keeps logflare', async () => {
  const id = randomUUID()
  const definition = { id, name: 'stored.before', query: 'SELECT now() AS at' }
  const columns = [{ name: 'at', type: 'DateTime' }]
  const body = JSON.stringify({ definition, columns, created_at: new Date(0).toISOString(), note: '' })
  await run(insertRow(id, 'endpoint', await endOfCatalog(), body))
  await soon(async () => {
    const found = await admin(other, 'GET', '/api/endpoints/stored.before')
    expect(found.body).toMatchObject({ timestamps: 'logflare', published: false })
  })
})

/** Tables of a real cluster cannot be exchanged on one of its nodes. */
const canRestore = !process.env.WELLHEAD_TEST_CLICKHOUSE_CLUSTER

/** Like RESTORE, it numbers the parts anew. */
async function restoreCatalog(): Promise<void> {
  await run('CREATE TABLE _restored AS _catalog')
  await run('ALTER TABLE _restored ATTACH PARTITION tuple() FROM _catalog')
  await run('EXCHANGE TABLES _restored AND _catalog')
  await run('DROP TABLE _restored SYNC')
}

test('a start reverts no change, a restored catalog keeps its order, and changes continue after it', async () => {
  const { id, token } = await makeToken(one, { scopes: ['query'] })
  if (canRestore) await run('OPTIMIZE TABLE _catalog FINAL', { optimize_throw_if_noop: 1 })
  await admin(one, 'DELETE', `/api/access-tokens/${id}`)
  await admin(one, 'PATCH', '/api/endpoints/logs.all?breaking=true', { max_rows: 5 })
  await admin(one, 'DELETE', '/api/endpoints/usage.api-counts')
  if (canRestore) await restoreCatalog()
  const third = await openOn()
  try {
    expect((await admin(third, 'GET', '/api/endpoints/logs.all')).body).toMatchObject({
      max_rows: 5,
      version: 2,
    })
    expect((await admin(third, 'GET', '/api/endpoints/usage.api-counts')).status).toBe(404)
    expect((await ask(third, token, 'GET', '/api/endpoints/query/logs.all?project=x')).status).toBe(401)
    for (const service of [third, one]) {
      const { id: later } = await makeToken(service, { scopes: ['query'] })
      const changed = await admin(service, 'PATCH', `/api/access-tokens/${later}`, { description: 'x' })
      expect([changed.status, changed.body.description]).toEqual([200, 'x'])
    }
  } finally {
    await third.close()
  }
})

test('a change that the server remembers but has lost does not block later ones', async () => {
  const insert = (position: number) =>
    run(insertRow('lost', 'search', position, '{}'), { insert_deduplication_token: `after ${position}` })
  const before = await endOfCatalog()
  await insert(before)
  expect(await endOfCatalog()).toBe(before + 1)
  await run("ALTER TABLE _catalog DELETE WHERE entry = 'lost'", { mutations_sync: 2 })
  await insert(before)
  expect(await endOfCatalog()).toBe(before)
  const { id } = await makeToken(one, { scopes: ['query'] })
  expect((await admin(one, 'PATCH', `/api/access-tokens/${id}`, { description: 'y' })).status).toBe(200)
})

test('an unreadable catalog prevents a start with a reason, and running services continue', async () => {
  await run(insertRow('broken-one', 'endpoint', await endOfCatalog(), '{"definition":{}}'))
  await expect(openOn()).rejects.toThrow(/catalog is damaged: version 1 of endpoint broken-one/)
  expect((await admin(one, 'GET', '/api/endpoints/query/logs.all?project=x')).status).toBe(200)
  // Endpoints cannot change while one is unreadable, and no attempt is stored; tokens can.
  await soon(async () =>
    expect((await admin(one, 'POST', '/api/endpoints', { name: 'x', query: 'SELECT 1' })).status).toBe(500),
  )
  const before = await endOfCatalog()
  expect((await admin(one, 'POST', '/api/endpoints', { name: 'y', query: 'SELECT 1' })).status).toBe(500)
  expect(await endOfCatalog()).toBe(before)
  const { id, token } = await makeToken(one, { scopes: ['query'] })
  await admin(one, 'DELETE', `/api/access-tokens/${id}`)
  expect((await ask(one, token, 'GET', '/api/endpoints/query/logs.all?project=x')).status).toBe(401)
})

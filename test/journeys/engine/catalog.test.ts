import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { builtInSources } from '../../../src/built-in-sources.ts'
import { Access } from '../../../src/core/access/access.ts'
import { systemTime } from '../../../src/core/base/clock.ts'
import { Catalog } from '../../../src/core/catalog/catalog.ts'
import { maxDefinitionBytes } from '../../../src/core/catalog/catalog-log.ts'
import type { CatalogRecord } from '../../../src/core/catalog/catalog-state.ts'
import { migrate } from '../../../src/core/catalog/migrations.ts'
import { coreTables } from '../../../src/core/catalog/own-tables.ts'
import { auditSource } from '../../../src/core/catalog/reserved-sources.ts'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import { queryText } from '../../../src/core/engine/json-rows.ts'
import { createSourceTable } from '../../../src/core/engine/tables.ts'
import { Audit } from '../../../src/features/audit/audit.ts'
import { People } from '../../../src/features/people/people.ts'
import { log, type OpenEngine } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { openEngine } from '../../support/worker-server.ts'

const limits = { deadlineMs: 60_000 }
const clock = manualClock()

let opened: OpenEngine
beforeAll(async () => {
  opened = await openEngine()
  await migrate(opened.engine, topologyOf(opened.engine), { tables: coreTables })
})
afterAll(() => opened?.close())

/** A catalog as after a start, with what its listener got. */
async function start(shared = false) {
  const { engine } = opened
  const catalog = new Catalog({
    engine,
    tables: coreTables,
    clock,
    log,
    topology: () => topologyOf(engine),
    shared,
  })
  const received: CatalogRecord[] = []
  catalog.onChange({ name: 'search', plural: 'saved searches', most: 500 }, (records) => {
    received.push(...records)
  })
  await catalog.open()
  return { catalog, received }
}

const search = (id: string, version: number, more: object = {}) =>
  ({ kind: 'search', id, version, deleted: false, body: { source: 's', name: id, ...more } }) as const

const read = (sql: string) => queryText(opened.engine, { sql }, limits)
const versionsOf = (id: string) => read(`SELECT count() FROM _catalog WHERE id = '${id}'`).then(Number)

/** Adds old versions as another service would have written them. */
async function addHistory(id: string, versions: number, bytes: number): Promise<void> {
  const position = Number(await read('SELECT if(count() = 0, 0, max(position) + 1) FROM _catalog'))
  const body = `concat('{"source":"s","name":"${id}","text":"', repeat('x', ${bytes}), '"}')`
  const sql =
    'INSERT INTO _catalog (entry, kind, id, version, changed_at, changed_by, deleted, body, position) ' +
    `SELECT toString(generateUUIDv4()), 'search', '${id}', number + 1, now64(6), 'them', false, ${body}, ${position} + number ` +
    `FROM numbers(${versions}) SETTINGS max_block_size = 64`
  await opened.engine.command({ sql }, limits)
}

test('a start and a change work with a history larger than any result, and read the newest versions', async () => {
  const large = maxDefinitionBytes - 200
  await addHistory('long', 1_200, large)
  await addHistory('other', 3, 10)
  const { catalog, received } = await start()
  expect(received.map(({ id, version }) => [id, version])).toEqual([
    ['long', 1_200],
    ['other', 3],
  ])
  await catalog.append('me', search('long', 1_201), search('new', 1))
  expect(received.slice(2).map(({ id, version }) => [id, version])).toEqual([
    ['long', 1_201],
    ['new', 1],
  ])
  await catalog.stop()
  await expect.poll(() => versionsOf('long')).toBeLessThanOrEqual(5)
  expect((await catalog.log.versions('search', 'long')).at(-1)).toMatchObject({ version: 1_201 })
  expect(await catalog.log.version('search', 'other', 2)).toMatchObject({ version: 2 })
  expect(await versionsOf('other')).toBe(3)
})

test('keeps the newest hundred versions', async () => {
  await addHistory('often', 119, 10)
  const { catalog } = await start()
  await catalog.append('me', search('often', 120))
  await catalog.stop()
  await expect.poll(() => versionsOf('often')).toBe(100)
  const versions = await catalog.log.versions('search', 'often')
  expect([versions[0]?.version, versions.at(-1)?.version]).toEqual([21, 120])
})

test('removes the older versions of deleted records, and keeps their ids', async () => {
  const { catalog } = await start()
  const text = 'x'.repeat(maxDefinitionBytes / 2)
  const ids = Array.from({ length: 6 }, (_, index) => `gone-${index}`)
  for (const id of ids) await catalog.append('me', search(id, 1, { text }))
  // Together, since versions are removed once there are enough of them.
  await catalog.append('me', ...ids.map((id) => ({ ...search(id, 2), deleted: true })))
  await catalog.stop()
  await expect
    .poll(() => read("SELECT groupUniqArray(version) FROM _catalog WHERE id LIKE 'gone-%'"))
    .toBe('[2]')
  expect(await catalog.log.knownIds('search', ids)).toEqual(new Set(ids))
  await expect(catalog.append('me', search('gone-0', 1))).rejects.toMatchObject({ code: 'version_conflict' })
  const { catalog: next, received } = await start()
  await next.stop()
  expect(received.map(({ id }) => id)).not.toContain('gone-0')
})

test('refuses a definition that is too large, and one too many', async () => {
  const { catalog } = await start()
  const text = 'ü'.repeat(maxDefinitionBytes / 2)
  await expect(catalog.append('me', search('large', 1, { text }))).rejects.toMatchObject({
    status: 413,
    message: 'The search has more than 256 KiB as JSON. Shorten its texts.',
  })
  const many = Array.from({ length: 500 }, (_, i) => search(`many-${i}`, 1))
  await expect(catalog.append('me', ...many)).rejects.toMatchObject({
    status: 400,
    message: 'There can be at most 500 saved searches. Delete some first.',
  })
  const gone = { ...search('new', 2), deleted: true }
  await catalog.append('me', gone)
  expect(await catalog.log.knownIds('search', ['new', 'large', 'many-1'])).toEqual(new Set(['new']))
  // The id of something that was deleted is not used again, and a start does not bring it back.
  await expect(catalog.append('me', search('new', 1))).rejects.toMatchObject({ code: 'version_conflict' })
  await catalog.stop()
  const { catalog: next, received } = await start()
  await next.stop()
  expect(received.map(({ id }) => id)).not.toContain('new')
})

test('reads the changes since a time without those before it', async () => {
  const { catalog } = await start()
  await catalog.append('me', search('early', 1))
  clock.advance(1)
  const sinceMs = clock.now()
  await catalog.append('me', search('late', 1), search('later', 1))
  await catalog.append('me', search('early', 2))
  const ids: string[][] = []
  for await (const batch of catalog.log.batches(0, Number.MAX_SAFE_INTEGER, sinceMs)) {
    ids.push(batch.map(({ id, version }) => `${id} ${version}`))
  }
  await catalog.stop()
  expect(ids.slice(-2)).toEqual([['late 1', 'later 1'], ['early 2']])
  expect(ids.flat()).not.toContain('early 1')
})

test('services at the same catalog come to the same state, also if rows have the same position', async () => {
  const one = await start(true)
  const other = await start(true)
  await one.catalog.append('one', search('shared', 1))
  // It does not know this change yet: the server ignores its insert, and it tries again.
  await other.catalog.append('other', search('theirs', 1))
  await expect(other.catalog.append('other', search('shared', 1))).rejects.toMatchObject({
    code: 'version_conflict',
  })
  await one.catalog.append('one', search('shared', 2))
  expect(one.received.at(-1)).toMatchObject({ id: 'shared', version: 2, changed_by: 'one' })
  await Promise.all([one.catalog.stop(), other.catalog.stop()])
  // A server that lost its memory of inserts can store two changes at one position.
  const position = Number(await read('SELECT max(position) FROM _catalog'))
  for (const [entry, version, name] of [
    ['late', 3, 'shared'],
    ['later', 3, 'renamed'],
  ] as const) {
    const body = JSON.stringify({ source: 's', name })
    await opened.engine.command(
      {
        sql:
          'INSERT INTO _catalog (entry, kind, id, version, changed_at, changed_by, deleted, body, position) ' +
          `VALUES ('${entry}', 'search', 'shared', ${version}, now64(6), 'them', false, '${body}', ${position + 1})`,
      },
      limits,
    )
  }
  const states = await Promise.all([start(true), start(true)])
  for (const { catalog, received } of states) {
    await catalog.stop()
    const current = received.filter(({ id }) => id === 'shared')
    expect(current.map(({ version }) => version)).toEqual([3])
    expect(received.find(({ id }) => id === 'theirs')).toBeDefined()
  }
})

/** What an audit stores. As the engine does, it stores lines once for each token. */
function storing(catalog: Catalog) {
  const stored = new Map<string, string[]>()
  let lost = 0
  const store = async (lines: Buffer, token: string) => {
    const texts = lines.toString().trim().split('\n')
    if (!stored.has(token))
      stored.set(
        token,
        texts.map((line) => JSON.parse(line).id as string),
      )
    if (lost === 0 || stored.size < lost) return
    lost = 0
    throw new Error('The response was lost.')
  }
  const actorOf = (id: string) => ({ type: 'token', id, name: id }) as const
  const options = {
    ...{
      catalog,
      engine: opened.engine,
      clock,
      log,
      store,
      actorOf,
      retentionDays: () => 36_500,
      dataDir: '',
    },
    after: systemTime(clock).after,
  }
  /** Loses the response to the insert with this number; returns the number while it is not lost. */
  const lose = (nth = lost) => (lost = nth)
  return { stored, options, lose }
}

test('the audit gets each of many changes once, in groups, also if a response is lost and more changes follow', async () => {
  const { engine } = opened
  const source = builtInSources.find(({ name }) => name === auditSource)
  const topology = topologyOf(engine)
  for (const sql of source ? createSourceTable(source, topology) : []) await engine.command({ sql }, limits)
  const end = () => read('SELECT max(position) + 1 FROM _catalog').then(Number)
  const first = await end()
  const known = `{"position":${first - 1}}`
  const seed = `INSERT INTO ${auditSource} (project, id, timestamp, event_message, metadata) VALUES ('', 'seed', now64(6), '', '${known}')`
  await engine.command({ sql: seed }, limits)
  await addHistory('audited', 2_100, 1)
  const { catalog } = await start()

  const { stored, options, lose } = storing(catalog)
  lose(3)
  await new Audit(options).open()
  await vi.waitFor(() => expect(lose()).toBe(0))
  await catalog.append('them', search('after-the-loss', 1))
  const expected = Array.from({ length: (await end()) - first }, (_, n) => `catalog-${first + n}`)
  await vi.waitFor(() => expect([...stored.values()].flat().sort()).toEqual(expected.sort()))
  expect([...stored.values()].slice(0, 2).map(({ length }) => length)).toEqual([1_000, 1_000])
  await catalog.stop()
})

test('the audit gets changes in a row as a group without reading them again, each once also if a response is lost', async () => {
  const { catalog } = await start()
  const { stored, options, lose } = storing(catalog)
  const batches = vi.spyOn(catalog.log, 'batches')
  await new Audit(options).open()
  await catalog.append('them', search('before-the-row', 1))
  const first = Number(await read('SELECT max(position) + 1 FROM _catalog'))
  await vi.waitFor(() => expect([...stored.values()].flat()).toContain(`catalog-${first - 1}`))
  stored.clear()
  batches.mockClear()

  const inARow = ['one', 'two', 'three'].map((name) => catalog.append('them', search(`${name}-in-a-row`, 1)))
  await Promise.all(inARow)
  await vi.waitFor(() => expect([...stored.values()].flat()).toHaveLength(3))
  expect(batches).not.toHaveBeenCalled()

  lose(stored.size + 1)
  await Promise.all(['four', 'five'].map((name) => catalog.append('them', search(`${name}-in-a-row`, 1))))
  await vi.waitFor(() => expect(lose()).toBe(0))
  await catalog.append('them', search('six-in-a-row', 1))
  const expected = Array.from({ length: 6 }, (_, n) => `catalog-${first + n}`)
  await vi.waitFor(() => expect([...stored.values()].flat().sort()).toEqual(expected.sort()))
  await catalog.stop()
})

test('a service at a shared catalog reads its change once, also for the audit, and changes of any number of records', async () => {
  const { catalog: one } = await start(true)
  const { catalog: other } = await start(true)
  const { stored, options } = storing(one)
  await new Audit(options).open()
  await one.append('one', search('before-the-many', 1))
  const first = Number(await read('SELECT max(position) + 1 FROM _catalog'))
  await vi.waitFor(() => expect([...stored.values()].flat()).toContain(`catalog-${first - 1}`))
  stored.clear()
  const batches = vi.spyOn(one.log, 'batches')
  await one.append('one', search('alone', 1))
  await vi.waitFor(() => expect([...stored.values()]).toEqual([[`catalog-${first}`]]))
  expect(batches).not.toHaveBeenCalled()
  stored.clear()

  const many = Array.from({ length: 65 }, (_, n) => search(`together-${n}`, 1))
  await one.append('one', ...many)
  await one.append('one', search('after-the-many', 1), search('with-it', 1))
  const ids = Array.from({ length: 67 }, (_, n) => `catalog-${first + 1 + n}`)
  await vi.waitFor(() => expect([...stored.values()]).toEqual([ids.slice(0, 65), ids.slice(65)]))
  await expect(other.append('other', many[64] as (typeof many)[0])).rejects.toMatchObject({
    code: 'version_conflict',
  })
  await Promise.all([one.stop(), other.stop()])
})

test('the sign-out of a person after a hundred others ends all of their sessions', async () => {
  const { engine } = opened
  const catalog = new Catalog({
    engine,
    tables: coreTables,
    clock,
    log,
    topology: () => topologyOf(engine),
    shared: false,
  })
  const access = new Access('the token of the operator', clock)
  const people = new People({
    catalog,
    access,
    customerScopes: ['query'],
    sessionsEnded: async () => {},
  })
  await catalog.open()
  const id = randomUUID()
  const person = {
    name: 'Ada',
    email: null,
    role: 'viewer',
    project: null,
    hash: 'a'.repeat(64),
    act: 'sign_in',
  }
  const ended = Array.from({ length: 99 }, (_, n) => `cookie-${n}`)
  const record = { kind: 'person', id, version: 1, deleted: false, body: { ...person, ended } } as const
  await catalog.append('them', record)
  const cookies = [0, 1].map(() => access.createCookieOf(id, 60_000)?.text ?? '')
  const valid = () => cookies.map((cookie) => access.cookieIn(cookie) !== undefined)
  await people.signOut(id, access.cookieIn(cookies[0] as string)?.id ?? '', 'them')
  expect(valid()).toEqual([false, true])
  await people.signOut(id, 'one more', 'them')
  expect(valid()).toEqual([false, false])
  await catalog.stop()
})

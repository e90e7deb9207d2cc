import { afterAll, beforeAll, expect, test } from 'vitest'
import { topologyOf } from '../../../src/core/engine/cluster/cluster-engine.ts'
import type { Engine } from '../../../src/core/engine/engine.ts'
import { queryText } from '../../../src/core/engine/json-rows.ts'
import type { SavedAlert } from '../../../src/features/alerts/alert.ts'
import type { AlertParts } from '../../../src/features/alerts/alert-parts.ts'
import { type AlertState, newState } from '../../../src/features/alerts/alert-state.ts'
import { AlertStore } from '../../../src/features/alerts/alert-store.ts'
import { alertTables } from '../../../src/features/alerts/own-tables.ts'
import { log, type OpenEngine } from '../../support/engines.ts'
import { manualTime } from '../../support/manual-clock.ts'
import { openEngine } from '../../support/worker-server.ts'

let opened: OpenEngine
/** The inserts of a test. */
let inserts: Promise<void>[] = []
beforeAll(async () => {
  opened = await openEngine()
  for (const sql of alertTables.flatMap(({ create }) => create(topologyOf(opened.engine))))
    await opened.engine.command({ sql }, { deadlineMs: 10_000 })
})
afterAll(() => opened?.close())

const time = manualTime()

/** A store on the real engine, which counts its inserts. */
function openStore(
  isFull = () => false,
  storeEvents = async (_lines: Buffer, _token: string) => {},
): AlertStore {
  inserts = []
  const engine: Pick<Engine, 'query' | 'insert'> = {
    query: (...args) => opened.engine.query(...args),
    insert: (target, rows, limits) => {
      const table = isFull() ? '_full' : target.table
      const inserted = opened.engine.insert({ ...target, table }, rows, limits)
      inserts.push(inserted)
      return inserted
    },
  }
  const parts = {
    engine,
    catalog: { shared: false, topology: topologyOf(opened.engine) },
    time,
    log,
    storeEvents,
  }
  return new AlertStore(parts as unknown as AlertParts)
}

function stateWith(name: string, ...lengths: number[]): AlertState {
  const state = newState('', name, 0)
  state.outbox = lengths.map((length, n) => ({
    ...{ id: `msg_${n}`, type: 'alert.firing', createdMs: n, bodies: { webhook: 'x'.repeat(length) } },
    to: new Map([['key', { count: 0, nextMs: 0 }]]),
  }))
  return state
}

test('while one flush runs, only one more waits, however many are requested', async () => {
  const store = openStore()
  store.set('a', stateWith('a', 10))
  const running = store.flush()
  await Promise.resolve()
  const waiting = Array.from({ length: 100 }, (_, n) => {
    store.set(`more-${n}`, stateWith(`more-${n}`))
    return store.flush()
  })
  expect(await Promise.all([running, ...waiting])).not.toContain(false)
  expect(inserts).toHaveLength(2)
})

test('what has changed is stored in inserts of limited size, each of which is one part', async () => {
  const store = openStore()
  const limits = { deadlineMs: 10_000 }
  const parts = async () => {
    const sql =
      "SELECT count() FROM system.parts WHERE active AND table = '_alerts' AND database = currentDatabase()"
    return Number(await queryText(opened.engine, { sql }, limits))
  }
  await opened.engine.command({ sql: 'SYSTEM STOP MERGES _alerts' }, limits)
  const before = await parts()
  for (let n = 0; n < 5; n++) store.set(`large-${n}`, stateWith(`large-${n}`, 300_000, 300_000))
  // Larger than the blocks in which the engine reads an insert.
  store.set('largest', stateWith('largest', ...Array.from({ length: 15 }, () => 2 ** 20)))
  expect(await store.flush()).toBe(true)
  expect([inserts.length, (await parts()) - before]).toEqual([3, 3])
  await opened.engine.command({ sql: 'SYSTEM START MERGES _alerts' }, limits)
})

test('a state and its notifications are read as they were written, and those that left are gone', async () => {
  const store = openStore()
  const state = stateWith('kept', 10, 20)
  store.set('kept', state)
  await store.flush()
  expect(state.outbox.map((notification) => store.has('kept', notification))).toEqual([true, true])
  state.outbox.shift()
  store.set('kept', state)
  await store.flush()
  const next = openStore()
  expect((await next.open()).get('kept')).toEqual(state)
  expect((await next.states()).get('kept')).toEqual({ ...state, outbox: [] })
})

test('a flush that fails is repeated by the next one, but not after the store stopped', async () => {
  let isFull = true
  const store = openStore(() => isFull)
  const state = stateWith('failed', 10)
  store.set('failed', state)
  expect(await store.flush()).toBe(false)
  isFull = false
  expect(await store.flush()).toBe(true)
  expect(state.outbox.map((notification) => store.has('failed', notification))).toEqual([true])
  isFull = true
  store.set('failed', state)
  await store.stop()
  expect(inserts).toHaveLength(3)
  isFull = false
  expect(await store.flush()).toBe(false)
  expect(inserts).toHaveLength(3)
})

test('events that could not be stored are sent again with their token, before newer ones', async () => {
  const sent: string[][] = []
  let isAway = true
  const store = openStore(undefined, async (lines, token) => {
    const texts = lines.toString().trimEnd().split('\n')
    sent.push([token, ...texts.map((line) => JSON.parse(line).metadata.kind)])
    if (isAway) throw new Error('The engine is away.')
  })
  const alert = { id: 'a', definition: { parameters: {} } } as SavedAlert
  store.record(alert, 'a is firing', { kind: 'state' })
  await store.flush()
  store.record(alert, 'a is ok', { kind: 'later' })
  const erased = { id: 'b', definition: { parameters: { project: 'erased' } } } as unknown as SavedAlert
  store.record(erased, 'b is firing', { kind: 'erased' })
  store.record(alert, 'a is firing for erased', { kind: 'group', key: { project: 'erased' } })
  store.forget('erased')
  // The next attempt is after a while, and flushes before it send nothing.
  isAway = false
  await store.flush()
  time.advance(5_000)
  store.retry()
  await store.flush()
  await store.flush()
  const [[token]] = sent as [string[]]
  expect(sent).toEqual([
    [token, 'state'],
    [token, 'state'],
    [expect.not.stringMatching(token as string), 'later'],
  ])
})

test('changes of a service that evaluates no more never overwrite those of the next', async () => {
  const former = openStore()
  await former.open()
  former.set('taken', { ...stateWith('taken'), value: 1 })
  former.close()
  const next = openStore()
  next.set('taken', { ...stateWith('taken'), value: 2 })
  await next.flush()
  await former.flush()
  expect((await former.open()).get('taken')?.value).toBe(2)
})

test('a state of an early version is read, without its notifications', async () => {
  const { outbox, dropped, ...early } = stateWith('early')
  const row = JSON.stringify({ id: 'early', sequence: 1, body: JSON.stringify({ ...early, outbox: [{}] }) })
  const target = { table: '_alerts', format: 'JSONEachRow' } as const
  await opened.engine.insert(target, Buffer.from(row), { deadlineMs: 10_000 })
  expect((await openStore().open()).get('early')).toEqual({ ...early, outbox, dropped })
})

import { describe, expect, test } from 'vitest'
import { manualClock, manualTime } from '../../../test/support/manual-clock.ts'
import { readEntry } from '../../core/intake/entry-batch.ts'
import type { StoredEntry } from '../../core/search/stored-entry.ts'
import type { EntryQuery } from './live-group.ts'
import { LiveTail, type LiveTailOptions } from './live-tail.ts'

const nowMs = Date.UTC(2026, 0, 1)
const caller = 'token'

/** Collects the events that it gets. */
function reader() {
  const frames: string[] = []
  const sink = {
    pendingBytes: 0,
    ended: false,
    write: (frame: Buffer) => void frames.push(frame.toString()),
    end: () => {
      sink.ended = true
    },
  }
  const events = () => frames.join('').split('\n\n').filter(Boolean).map(readEvent)
  return { sink, frames, events, entries: () => events().filter(({ event }) => event === 'entry') }
}

function readEvent(text: string) {
  const fields = Object.fromEntries(text.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
  return { event: fields.event, id: fields.id as string, data: JSON.parse(fields.data as string) }
}

function openTail(choices: Partial<LiveTailOptions> = {}) {
  // Real clocks have fractions of milliseconds.
  const time = manualTime(manualClock(nowMs + 0.123_456_7))
  const tail = new LiveTail({ time, maxRingBytes: 8 * 2 ** 20, maxPendingBytes: 1_000, ...choices })
  const store = (...entries: object[]) => {
    tail.publish('edge_logs', entries.map(lineOf))
    time.advance(100)
  }
  return { tail, advance: (ms: number) => time.advance(ms), store }
}

/** Entries whose metadata has this text at `a`. */
function queryFor(text: string, onTest = (_: StoredEntry) => {}): EntryQuery {
  const test = (entry: StoredEntry) => {
    onTest(entry)
    return entry.at('["a"]') === text
  }
  return { key: text, paths: [['a']], tests: [test], decide: (isMet) => isMet(0) }
}

function lineOf(entry: object | string): Buffer {
  const reading = readEntry(typeof entry === 'string' ? entry : JSON.stringify(entry), { nowMs })
  if ('reason' in reading) throw new Error(reading.reason)
  return reading.line
}

const messages = ({ entries }: ReturnType<typeof reader>) => entries().map(({ data }) => data.event_message)

describe('the tail of a source', () => {
  test.each([
    {
      id: 'plain',
      project: 'p',
      timestamp: '2026-01-01T00:00:00.123456Z',
      event_message: 'm',
      metadata: { a: 1 },
    },
    {
      id: '","timestamp":"1',
      project: '","id":"x',
      event_message: '","metadata":{}',
      metadata: { '","id":"': '\\"' },
    },
    {
      id: 'ü\\',
      project: 'Ж\\"\n',
      event_message: 'a\r\nb\u2028\u0000 😀\\',
      metadata: { ключ: ['ß', null] },
    },
    { id: 'old', timestamp: '1969-12-31T23:59:59.500000Z' },
    { id: 'older', timestamp: '1960-01-01T00:00:00.000001Z' },
    { id: 'first', timestamp: '1970-01-01T00:00:00.000001Z' },
  ])('sends %j as it was stored', (entry) => {
    const { tail, store } = openTail()
    const one = reader()
    tail.subscribe('edge_logs', { caller }, one.sink)
    store(entry)
    const { line, micros } = readEntry(JSON.stringify(entry), { nowMs }) as { line: Buffer; micros: number }
    const { project, event_message, metadata } = JSON.parse(line.toString())
    expect(one.entries().map(({ data }) => data)).toEqual([
      { id: entry.id, timestamp: Number(micros), project, event_message, metadata },
    ])
    expect(Object.keys(one.entries()[0]?.data).join()).toBe('id,timestamp,project,event_message,metadata')
  })

  test('keeps the digits of integers that do not fit into a double', () => {
    const { tail, advance } = openTail()
    const one = reader()
    tail.subscribe('edge_logs', { caller }, one.sink)
    tail.publish('edge_logs', [lineOf('{"metadata":{"big":18446744073709551615}}')])
    advance(100)
    expect(one.frames.join('')).toContain('"metadata":{"big":18446744073709551615}}\n\n')
  })

  test('filters entries by project and query', () => {
    const { tail, store } = openTail()
    const [all, a, empty, x, both] = [reader(), reader(), reader(), reader(), reader()] as const
    tail.subscribe('edge_logs', { caller }, all.sink)
    tail.subscribe('edge_logs', { caller, project: 'a"ü' }, a.sink)
    tail.subscribe('edge_logs', { caller, project: '' }, empty.sink)
    tail.subscribe('edge_logs', { caller, query: queryFor('x') }, x.sink)
    tail.subscribe('edge_logs', { caller, project: 'a"ü', query: queryFor('x') }, both.sink)
    store(
      { project: 'a"ü', event_message: '1', metadata: { a: 'x' } },
      { project: 'a', event_message: '2', metadata: { a: 'x' } },
      { event_message: '3' },
      { project: 'a"ü', event_message: '4', metadata: { a: 'y' } },
    )
    expect(messages(all)).toHaveLength(4)
    expect(messages(a)).toEqual(['1', '4'])
    expect(messages(empty)).toEqual(['3'])
    expect(messages(x)).toEqual(['1', '2'])
    expect(messages(both)).toEqual(['1'])
  })

  test('sends the same bytes to readers with the same filter', () => {
    const { tail, store } = openTail()
    const got: Buffer[] = []
    const sink = { pendingBytes: 0, write: (frame: Buffer) => void got.push(frame), end: () => {} }
    tail.subscribe('edge_logs', { caller, project: 'a' }, sink)
    tail.subscribe('edge_logs', { caller, project: 'a' }, sink)
    store({ project: 'a' }, { project: 'a' })
    expect(got).toHaveLength(2)
    expect(got[0]).toBe(got[1])
  })

  test('stays open for a minute after its last reader has left', () => {
    const { tail, advance, store } = openTail()
    store({ id: 'unseen' })
    expect(tail.isRead('edge_logs')).toBe(false)
    const subscription = tail.subscribe('edge_logs', { caller }, reader().sink)
    subscription.close()
    advance(59_000)
    expect(tail.isRead('edge_logs')).toBe(true)
    advance(1_000)
    expect(tail.isRead('edge_logs')).toBe(false)
  })

  test('tells a slow reader how many matching entries it missed', () => {
    const { tail, store } = openTail({ maxRingBytes: 8 * 5_000 })
    const one = reader()
    const subscription = tail.subscribe('edge_logs', { caller, project: 'a' }, one.sink)
    store({ project: 'a', event_message: 'before' })
    one.sink.pendingBytes = 1_000
    store({ project: 'a', event_message: 'late' }, { project: 'b', event_message: 'of others' })
    subscription.drained()
    expect([messages(one), subscription.place()]).toEqual([['before'], undefined])
    one.sink.pendingBytes = 0
    subscription.drained()
    expect(messages(one)).toEqual(['before', 'late'])
    one.sink.pendingBytes = 1_000
    for (let i = 0; i < 100; i++) store({ project: i % 2 ? 'b' : 'a', event_message: `${i}` })
    one.sink.pendingBytes = 0
    subscription.drained()
    const missed = one.events().filter(({ event }) => event === 'missed')
    expect(missed).toHaveLength(1)
    expect(missed[0]?.data.count + messages(one).length - 2).toBe(50)
    expect(messages(one).at(-1)).toBe('98')
    expect(one.events().findIndex(({ event }) => event === 'missed')).toBe(2)
    store({ project: 'a', event_message: 'after' })
    expect(messages(one).at(-1)).toBe('after')
  })

  test('does not reveal by its ids how many entries others send', () => {
    const { tail, store } = openTail()
    const [one, other] = [reader(), reader()]
    tail.subscribe('edge_logs', { caller, project: 'a' }, one.sink)
    tail.subscribe('edge_logs', { caller, project: 'b' }, other.sink)
    const [a, b] = [{ project: 'a' }, { project: 'b' }]
    store(a, a, b, b, b, a)
    const ids = [...one.entries(), ...other.entries()].map(({ id }) => id)
    expect(new Set(ids).size).toBe(6)
    for (const id of ids) expect(id).toMatch(/^[\da-f]{32}$/)
    const numbers = ids.map((id) => Number.parseInt(id.slice(-12), 16)).sort((x, y) => x - y)
    expect(Math.min(...numbers.slice(1).map((n, i) => n - (numbers[i] as number)))).toBeGreaterThan(1_000_000)
  })

  test('resumes after the last event of a reader that reconnects', () => {
    const { tail, store, advance } = openTail()
    const [one, again, idle] = [reader(), reader(), reader()]
    const subscription = tail.subscribe('edge_logs', { caller, project: 'a' }, one.sink)
    const beforeAll = subscription.place()
    store({ project: 'a', event_message: '1' }, { project: 'a', event_message: '2' })
    subscription.close()
    store({ project: 'a', event_message: '3' }, { project: 'b', event_message: 'of others' })
    const [first] = one.entries()
    tail.subscribe('edge_logs', { caller, project: 'a' }, again.sink, first?.id)
    advance(0)
    expect(again.events().map(({ event }) => event)).toEqual(['entry', 'entry'])
    expect(messages(again)).toEqual(['2', '3'])
    store({ project: 'a', event_message: '4' })
    expect(messages(again)).toEqual(['2', '3', '4'])
    tail.subscribe('edge_logs', { caller, project: 'a' }, idle.sink, beforeAll)
    advance(0)
    expect(messages(idle)).toEqual(['1', '2', '3', '4'])
  })

  test('sends entries of the same millisecond after an id', () => {
    const { tail, advance } = openTail()
    const [one, again, later] = [reader(), reader(), reader()]
    const place = tail.subscribe('edge_logs', { caller }, one.sink).place()
    tail.publish('edge_logs', [lineOf({ event_message: 'at once' })])
    tail.subscribe('edge_logs', { caller }, again.sink, place)
    tail.subscribe('edge_logs', { caller }, later.sink)
    advance(100)
    expect(messages(again)).toEqual(['at once'])
    expect(messages(one)).toEqual(['at once'])
    expect(messages(later)).toEqual([])
  })

  test.each(['nonsense', '0'.repeat(32), ' ', '0'.repeat(10_000)])(
    'sends a reset for an unknown id (%#)',
    (id) => {
      const { tail, store, advance } = openTail()
      const one = reader()
      tail.subscribe('edge_logs', { caller }, reader().sink)
      store({ event_message: 'known' })
      tail.subscribe('edge_logs', { caller }, one.sink, id)
      advance(0)
      expect(one.events().map(({ event }) => event)).toEqual(['reset', 'entry'])
    },
  )

  test('sends a reset if entries after the id are no longer kept', () => {
    const { tail, store, advance } = openTail({ maxRingBytes: 8 * 5_000 })
    const [one, again] = [reader(), reader()]
    const place = tail.subscribe('edge_logs', { caller }, one.sink).place()
    for (let i = 0; i < 100; i++) store({ event_message: `${i}` })
    tail.subscribe('edge_logs', { caller }, again.sink, place)
    advance(0)
    expect(again.events()[0]?.event).toBe('reset')
    expect(messages(again).at(-1)).toBe('99')
    expect(messages(again).length).toBeLessThan(20)
  })

  test('delivers many entries in several turns and in order', () => {
    const time = manualTime()
    const delivered: number[] = []
    const after = (ms: number, run: () => void) =>
      time.after(ms, () => {
        run()
        delivered.push(one.entries().length)
      })
    const { tail } = openTail({ time: { ...time, after }, maxPendingBytes: 1e9 })
    const one = reader()
    tail.subscribe('edge_logs', { caller }, one.sink)
    const texts = Array.from({ length: 5_000 }, (_, i) => `${i}`)
    tail.publish(
      'edge_logs',
      texts.map((event_message) => lineOf({ event_message })),
    )
    time.advance(40)
    expect(delivered).toEqual([2_000, 4_000, 5_000])
    expect(messages(one)).toEqual(texts)
    expect(new Set(one.entries().map(({ id }) => id)).size).toBe(5_000)
  })

  describe('with queries that take long', () => {
    /** Each test of a query takes a while. */
    function slowTail(testMs: number, choices: Partial<LiveTailOptions> = {}) {
      const clock = manualClock(nowMs)
      const time = manualTime(clock)
      let tests = 0
      const perSlice: number[] = []
      const after = (ms: number, run: () => void) =>
        time.after(ms, () => {
          const before = tests
          run()
          perSlice.push(tests - before)
        })
      const tail = new LiveTail({
        ...{ time: { ...time, after }, maxRingBytes: 8 * 2 ** 20, maxPendingBytes: 1e9 },
        ...choices,
      })
      const slowly = (text: string, seen: StoredEntry[] = []) =>
        queryFor(text, (entry) => {
          seen.push(entry)
          tests++
          clock.advance(testMs)
        })
      const store = (...entries: object[]) => tail.publish('edge_logs', entries.map(lineOf))
      return { tail, store, slowly, perSlice, advance: (ms: number) => time.advance(ms) }
    }
    const hit = (event_message: string) => ({ event_message, metadata: { a: 'x' } })

    test('gives way to others between tests, also of one large entry and of a stream that resumes', () => {
      const { tail, store, slowly, perSlice, advance } = slowTail(4)
      const query = slowly('x')
      const several = { ...query, tests: Array(20).fill(query.tests[0]) }
      const [one, again] = [reader(), reader()]
      const place = tail.subscribe('edge_logs', { caller, query: several }, one.sink).place()
      store(hit('small'), { ...hit('large'), metadata: { a: 'x', long: 'x'.repeat(20_000) } })
      advance(1_000)
      expect(messages(one)).toEqual(['small', 'large'])
      tail.subscribe('edge_logs', { caller, query: several }, again.sink, place)
      advance(1_000)
      expect(messages(again)).toEqual(['small', 'large'])
      expect(perSlice.reduce((sum, tests) => sum + tests)).toBe(2 * 21)
      expect(Math.max(...perSlice)).toBeLessThanOrEqual(3)
    })

    test('reads an entry once for all streams', () => {
      const { tail, store, slowly, advance } = slowTail(1)
      const seen: StoredEntry[] = []
      for (let i = 0; i < 5; i++) {
        tail.subscribe('edge_logs', { caller: `${i % 2}`, query: slowly(`${i}`, seen) }, reader().sink)
      }
      store(hit('1'), hit('2'))
      advance(1_000)
      expect([seen.length, new Set(seen).size]).toEqual([10, 2])
    })

    test('shares the time fairly among tokens', () => {
      const { tail, store, slowly, advance } = slowTail(5)
      const many = Array.from({ length: 20 }, (_, i) => slowly(`x${i}`))
      for (const query of many) tail.subscribe('edge_logs', { caller: 'many', query }, reader().sink)
      const one = reader()
      tail.subscribe('edge_logs', { caller: 'one', query: slowly('x') }, one.sink)
      store(...Array.from({ length: 10 }, (_, i) => hit(`${i}`)))
      // The tests of all streams take more than a second, and the rests as long.
      advance(300)
      expect(messages(one)).toHaveLength(10)
    })

    test('tells a stream that cannot keep up', () => {
      const { tail, store, slowly, advance } = slowTail(50, { maxRingBytes: 8 * 5_000 })
      const [one, plain] = [reader(), reader()]
      tail.subscribe('edge_logs', { caller, query: slowly('x') }, one.sink)
      tail.subscribe('edge_logs', { caller: 'other' }, plain.sink)
      for (let i = 0; i < 100; i++) {
        store(hit(`${i}`))
        if (i % 10 === 9) advance(100)
      }
      advance(10_000)
      expect(messages(plain)).toHaveLength(100)
      expect(one.events().some(({ event }) => event === 'reset')).toBe(true)
      expect(messages(one).at(-1)).toBe('99')
      expect(new Set(messages(one)).size).toBe(messages(one).length)
    })

    test('sends each entry once to streams that begin while others are behind', () => {
      const { tail, store, slowly, advance } = slowTail(30)
      const [one, again, fresh] = [reader(), reader(), reader()]
      const query = slowly('x')
      const place = tail.subscribe('edge_logs', { caller, query }, one.sink).place()
      for (let i = 0; i < 30; i++) {
        store(hit(`${i}`))
        if (i === 15) {
          tail.subscribe('edge_logs', { caller, query }, again.sink, place)
          tail.subscribe('edge_logs', { caller, query }, fresh.sink)
        }
        if (i % 10 === 9) advance(1)
      }
      advance(10_000)
      const expected = Array.from({ length: 30 }, (_, i) => `${i}`)
      expect(messages(one)).toEqual(expected)
      expect(messages(again)).toEqual(expected)
      expect(messages(fresh)).toEqual(expected.slice(16))
      store(hit('30'))
      advance(1_000)
      for (const stream of [one, again, fresh]) expect(messages(stream).slice(-2)).toEqual(['29', '30'])
    })
  })

  test('ends when its source is deleted', () => {
    const { tail } = openTail()
    const one = reader()
    tail.subscribe('edge_logs', { caller }, one.sink)
    tail.close('edge_logs')
    expect([one.sink.ended, tail.isRead('edge_logs')]).toEqual([true, false])
  })
})

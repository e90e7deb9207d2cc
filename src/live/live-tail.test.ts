import { describe, expect, test } from 'vitest'
import { manualClock, manualTime } from '../base/clock.ts'
import { readEntry } from '../intake/entry.ts'
import { LiveTail, type LiveTailOptions } from './live-tail.ts'

const nowMs = Date.UTC(2026, 0, 1)

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
    tail.subscribe('edge_logs', {}, one.sink)
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
    tail.subscribe('edge_logs', {}, one.sink)
    tail.publish('edge_logs', [lineOf('{"metadata":{"big":18446744073709551615}}')])
    advance(100)
    expect(one.frames.join('')).toContain('"metadata":{"big":18446744073709551615}}\n\n')
  })

  test('filters entries by project and text', () => {
    const { tail, store } = openTail()
    const [all, a, empty, text, both] = [reader(), reader(), reader(), reader(), reader()] as const
    tail.subscribe('edge_logs', {}, all.sink)
    tail.subscribe('edge_logs', { project: 'a"ü' }, a.sink)
    tail.subscribe('edge_logs', { project: '' }, empty.sink)
    tail.subscribe('edge_logs', { text: 'GRÜSSE "x"' }, text.sink)
    tail.subscribe('edge_logs', { project: 'a"ü', text: 'grüsse' }, both.sink)
    store(
      { project: 'a"ü', event_message: '1 Grüsse "X"' },
      { project: 'a', event_message: '2 grüsse "x"' },
      { event_message: '3' },
      { project: 'a"ü', event_message: '4', metadata: { text: 'grüsse "x"' } },
    )
    expect(messages(all)).toHaveLength(4)
    expect(messages(a)).toEqual(['1 Grüsse "X"', '4'])
    expect(messages(empty)).toEqual(['3'])
    expect(messages(text)).toEqual(['1 Grüsse "X"', '2 grüsse "x"'])
    expect(messages(both)).toEqual(['1 Grüsse "X"'])
  })

  test('sends the same bytes to readers with the same filter', () => {
    const { tail, store } = openTail()
    const got: Buffer[] = []
    const sink = { pendingBytes: 0, write: (frame: Buffer) => void got.push(frame), end: () => {} }
    tail.subscribe('edge_logs', { project: 'a' }, sink)
    tail.subscribe('edge_logs', { project: 'a' }, sink)
    store({ project: 'a' }, { project: 'a' })
    expect(got).toHaveLength(2)
    expect(got[0]).toBe(got[1])
  })

  test('stays open for a minute after its last reader has left', () => {
    const { tail, advance, store } = openTail()
    store({ id: 'unseen' })
    expect(tail.isRead('edge_logs')).toBe(false)
    const subscription = tail.subscribe('edge_logs', {}, reader().sink)
    subscription.close()
    advance(59_000)
    expect(tail.isRead('edge_logs')).toBe(true)
    advance(1_000)
    expect(tail.isRead('edge_logs')).toBe(false)
  })

  test('tells a slow reader how many matching entries it missed', () => {
    const { tail, store } = openTail({ maxRingBytes: 8 * 5_000 })
    const one = reader()
    const subscription = tail.subscribe('edge_logs', { project: 'a' }, one.sink)
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
    tail.subscribe('edge_logs', { project: 'a' }, one.sink)
    tail.subscribe('edge_logs', { project: 'b' }, other.sink)
    const [a, b] = [{ project: 'a' }, { project: 'b' }]
    store(a, a, b, b, b, a)
    const ids = [...one.entries(), ...other.entries()].map(({ id }) => id)
    expect(new Set(ids).size).toBe(6)
    for (const id of ids) expect(id).toMatch(/^[\da-f]{32}$/)
    const numbers = ids.map((id) => Number.parseInt(id.slice(-12), 16)).sort((x, y) => x - y)
    expect(Math.min(...numbers.slice(1).map((n, i) => n - (numbers[i] as number)))).toBeGreaterThan(1_000_000)
  })

  test('resumes after the last event of a reader that reconnects', () => {
    const { tail, store } = openTail()
    const [one, again, idle] = [reader(), reader(), reader()]
    const subscription = tail.subscribe('edge_logs', { project: 'a' }, one.sink)
    const beforeAll = subscription.place()
    store({ project: 'a', event_message: '1' }, { project: 'a', event_message: '2' })
    subscription.close()
    store({ project: 'a', event_message: '3' }, { project: 'b', event_message: 'of others' })
    const [first] = one.entries()
    tail.subscribe('edge_logs', { project: 'a' }, again.sink, first?.id)
    expect(again.events().map(({ event }) => event)).toEqual(['entry', 'entry'])
    expect(messages(again)).toEqual(['2', '3'])
    store({ project: 'a', event_message: '4' })
    expect(messages(again)).toEqual(['2', '3', '4'])
    tail.subscribe('edge_logs', { project: 'a' }, idle.sink, beforeAll)
    expect(messages(idle)).toEqual(['1', '2', '3', '4'])
  })

  test('sends entries of the same millisecond after an id', () => {
    const { tail } = openTail()
    const [one, again] = [reader(), reader()]
    const place = tail.subscribe('edge_logs', {}, one.sink).place()
    tail.publish('edge_logs', [lineOf({ event_message: 'at once' })])
    tail.subscribe('edge_logs', {}, again.sink, place)
    expect(messages(again)).toEqual(['at once'])
    expect(messages(one)).toEqual(['at once'])
  })

  test.each(['nonsense', '0'.repeat(32), ' ', '0'.repeat(10_000)])(
    'sends a reset for an unknown id (%#)',
    (id) => {
      const { tail, store } = openTail()
      const one = reader()
      tail.subscribe('edge_logs', {}, reader().sink)
      store({ event_message: 'known' })
      tail.subscribe('edge_logs', {}, one.sink, id)
      expect(one.events().map(({ event }) => event)).toEqual(['reset', 'entry'])
    },
  )

  test('sends a reset if entries after the id are no longer kept', () => {
    const { tail, store } = openTail({ maxRingBytes: 8 * 5_000 })
    const [one, again] = [reader(), reader()]
    const place = tail.subscribe('edge_logs', {}, one.sink).place()
    for (let i = 0; i < 100; i++) store({ event_message: `${i}` })
    tail.subscribe('edge_logs', {}, again.sink, place)
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
    tail.subscribe('edge_logs', {}, one.sink)
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

  test('ends when its source is deleted', () => {
    const { tail } = openTail()
    const one = reader()
    tail.subscribe('edge_logs', {}, one.sink)
    tail.close('edge_logs')
    expect([one.sink.ended, tail.isRead('edge_logs')]).toEqual([true, false])
  })
})

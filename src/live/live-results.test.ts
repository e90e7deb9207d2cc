import { describe, expect, test } from 'vitest'
import { manualTime } from '../base/clock.ts'
import { engineUnavailable, type WellheadError } from '../base/errors.ts'
import { Arrivals } from '../catalog/arrivals.ts'
import type { FollowedCall, LatestResult } from '../endpoints/call/endpoint-calls.ts'
import { LiveResults } from './live-results.ts'

/** A query whose result is the text that it has at the moment. */
function openQuery(cacheSeconds: number | null, choices: { blind?: boolean; maxBytes?: number } = {}) {
  const time = manualTime()
  const arrivals = choices.blind ? undefined : new Arrivals()
  const state = { text: 'one', looks: 0, error: undefined as Error | undefined }
  const failures: unknown[] = []
  const results = new LiveResults({
    time,
    arrivals,
    maxBytes: choices.maxBytes ?? 2 ** 20,
    onFailure: ({ error }) => failures.push(error),
  })
  const call: FollowedCall = {
    key: 'k',
    endpointId: 'e',
    cacheSeconds,
    sources: ['edge_logs'],
    latest: async () => {
      state.looks++
      if (state.error) throw state.error
      const { text } = state
      return {
        etag: `"${/^\w+$/.exec(text) ?? 'tag'}"`,
        mark: arrivals?.mark(),
        body: Buffer.from(text),
        truncated: false,
      }
    },
  }
  const follow = async (lastEventId?: string) => {
    const events: string[] = []
    const sink = {
      pendingBytes: 0,
      ended: false,
      write: (frame: Buffer) => void events.push(frame.toString()),
      fail: (error: WellheadError) => void events.push(error.code),
      end: () => {
        sink.ended = true
      },
    }
    const first = await results.first(call, new AbortController().signal, 'me')
    return { events, sink, ...results.subscribe(call, first, sink, lastEventId) }
  }
  const advance = async (ms: number) => {
    time.advance(ms)
    for (let i = 0; i < 10; i++) await Promise.resolve()
  }
  const arrive = () => arrivals?.note('edge_logs', 0n)
  return { state, results, call, follow, advance, arrive, failures }
}

const event = (text: string) => `event: result\nid: "${text}"\ndata: ${text}\n\n`

describe('results that are followed', () => {
  test('the first comes at once, and the next when entries came that change it, within a second', async () => {
    const { state, follow, advance, arrive } = openQuery(null)
    const { events } = await follow()
    expect(events).toEqual([event('one')])
    state.text = 'two'
    await advance(5_000)
    expect(state.looks).toBe(1)
    arrive()
    await advance(1_000)
    expect(events).toEqual([event('one'), event('two')])
    arrive()
    await advance(1_000)
    expect([state.looks, events.length]).toEqual([3, 2])
  })

  test('a result that changes with the time alone is looked at now and then', async () => {
    const { state, follow, advance } = openQuery(null)
    const { events } = await follow()
    state.text = 'later'
    for (let second = 0; second < 32; second++) await advance(1_000)
    expect(events).toEqual([event('one'), event('later')])
    expect(state.looks).toBe(2)
  })

  test('where nobody knows what comes it is looked at every five seconds', async () => {
    const { state, follow, advance } = openQuery(null, { blind: true })
    await follow()
    for (let second = 0; second < 20; second++) await advance(1_000)
    expect(state.looks).toBe(5)
  })

  test('many who follow the same cost one look', async () => {
    const { state, follow, advance, arrive, results } = openQuery(null)
    const all = [await follow(), await follow(), await follow()]
    expect(state.looks).toBe(1)
    state.text = 'two'
    arrive()
    await advance(1_000)
    expect(state.looks).toBe(2)
    for (const { events } of all) expect(events).toEqual([event('one'), event('two')])
    for (const { close } of all) close()
    arrive()
    await advance(60_000)
    expect([state.looks, results.size]).toEqual([2, 0])
  })

  test('a cached one is looked at when the cache has a newer one, and often enough to be renewed', async () => {
    const { state, results, follow, advance } = openQuery(900)
    const { events } = await follow()
    state.text = 'two'
    results.stored('another')
    await advance(1_000)
    expect(events).toHaveLength(1)
    results.stored('k')
    await advance(0)
    expect(events).toEqual([event('one'), event('two')])
    const { looks } = state
    for (let second = 0; second < 60; second++) await advance(1_000)
    expect(state.looks - looks).toBe(4)
  })

  test('who has the result gets the next one only', async () => {
    const { state, follow, advance, arrive } = openQuery(null)
    const { events } = await follow('"one"')
    expect(events).toEqual([])
    state.text = 'two'
    arrive()
    await advance(1_000)
    expect(events).toEqual([event('two')])
  })

  test('an error is told once, tried again less and less often, and taken back by the next result', async () => {
    const { state, follow, advance, arrive, failures } = openQuery(null)
    const { events } = await follow()
    state.error = engineUnavailable('away')
    arrive()
    for (let second = 0; second < 60; second++) await advance(1_000)
    expect(events.slice(1)).toEqual(['engine_unavailable'])
    expect(failures).toHaveLength(1)
    expect(state.looks).toBeLessThan(9)
    state.error = undefined
    for (let second = 0; second < 30; second++) await advance(1_000)
    expect(events.slice(2)).toEqual([event('one')])
  })

  test('a slow follower gets the newest result when it has taken the last one, and none in between', async () => {
    const { state, follow, advance, arrive } = openQuery(null)
    const { events, sink, drained } = await follow()
    sink.pendingBytes = 64 * 1024
    for (const text of ['two', 'three', 'four']) {
      state.text = text
      arrive()
      await advance(1_000)
    }
    expect(events).toHaveLength(1)
    sink.pendingBytes = 0
    drained()
    drained()
    expect(events.slice(1)).toEqual([event('four')])
  })

  test('a look that began before another one does not take its result back', async () => {
    const { state, results, call, follow, advance, arrive } = openQuery(null)
    const old = (await results.first(call, new AbortController().signal, 'me')) as LatestResult
    const { events, sink } = await follow()
    state.text = 'two'
    arrive()
    await advance(1_000)
    results.subscribe(call, old, sink)
    expect(events).toEqual([event('one'), event('two'), event('two')])
  })

  test('a body of several lines stays what it is', async () => {
    const { state, follow } = openQuery(null)
    state.text = '{"result":[\n{"ü":1},\n{}\n]}'
    const { events } = await follow()
    expect(events[0]?.split('\n').slice(2)).toEqual([
      'data: {"result":[',
      'data: {"ü":1},',
      'data: {}',
      'data: ]}',
      '',
      '',
    ])
  })

  test('a result that was cut is told before it comes', async () => {
    const { results, call } = openQuery(null)
    const events: string[] = []
    const sink = {
      pendingBytes: 0,
      write: (frame: Buffer) => void events.push(frame.toString()),
      fail: () => {},
      end: () => {},
    }
    results.subscribe(call, { etag: '"one"', mark: 0, body: Buffer.from('one'), truncated: true }, sink)
    expect(events).toEqual([`event: truncated\ndata: {"truncated":true}\n\n${event('one')}`])
  })

  test('results are followed within a bound of memory', async () => {
    const { state, results, call, follow, advance, arrive } = openQuery(null, { maxBytes: 16 * 100 })
    state.text = 'x'.repeat(101)
    await expect(follow()).rejects.toMatchObject({ code: 'too_large' })
    state.text = 'one'
    const { events } = await follow()
    state.text = 'x'.repeat(101)
    arrive()
    await advance(1_000)
    expect(events.slice(1)).toEqual(['too_large'])
    const others = Array.from({ length: 15 }, (_, i) => ({ ...call, key: `k${i}` }))
    const answer = { etag: '"y"', mark: 0, body: Buffer.alloc(100, 'y'), truncated: false }
    expect(() => {
      for (const other of others) {
        results.admit(other, answer)
        results.subscribe(other, answer, { pendingBytes: 0, write: () => {}, fail: () => {}, end: () => {} })
      }
    }).toThrow('More results are followed')
  })

  test('an endpoint that changed lets its followers go', async () => {
    const { results, follow } = openQuery(null)
    const { sink } = await follow()
    results.drop('another')
    expect(sink.ended).toBe(false)
    results.drop('e')
    expect(sink.ended).toBe(true)
  })
})

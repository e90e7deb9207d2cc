import { describe, expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { Arrivals } from '../../core/base/arrivals.ts'
import { engineUnavailable, type WellheadError } from '../../core/base/errors.ts'
import type { Call } from '../../core/endpoints/call/call.ts'
import type { LatestResult } from '../../core/endpoints/call/endpoint-calls.ts'
import { LiveResults } from './live-results.ts'

/** A query whose result is the current text. */
function openQuery(cacheSeconds: number | null, choices: { blind?: boolean; maxBytes?: number } = {}) {
  const time = manualTime()
  const arrivals = choices.blind ? undefined : new Arrivals()
  const state = { text: 'one', runs: 0, error: undefined as Error | undefined }
  const failures: unknown[] = []
  /** What the cache calls when it has stored a result. */
  const onStored = new Map<string, () => void>()
  const results = new LiveResults({
    time,
    arrivals,
    latest: async () => {
      state.runs++
      if (state.error) throw state.error
      const { text } = state
      return {
        etag: `"${/^\w+$/.exec(text) ?? 'tag'}"`,
        mark: arrivals?.mark(),
        body: Buffer.from(text),
        truncated: false,
      }
    },
    cache: {
      follow: (key, listener) => {
        onStored.set(key, listener)
        return () => onStored.delete(key)
      },
    },
    maxBytes: choices.maxBytes ?? 2 ** 20,
    onFailure: ({ error }) => failures.push(error),
  })
  const definition = { id: 'e', cache_seconds: cacheSeconds }
  const of = { key: 'k', group: 'e', sources: new Set(['edge_logs']), caller: 'me' }
  const call = { ...of, endpoint: { definition } } as unknown as Call
  const follow = async (lastEventId?: string) => {
    const { events, sink } = openSink()
    const first = await results.first(call)
    return { events, sink, ...results.subscribe(call, first, sink, lastEventId) }
  }
  const advance = async (ms: number) => {
    time.advance(ms)
    for (let i = 0; i < 10; i++) await Promise.resolve()
  }
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) await advance(1_000)
  }
  const arrive = () => arrivals?.note('edge_logs')
  return { state, results, call, follow, advance, pass, arrive, failures, onStored }
}

function openSink() {
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
  return { events, sink }
}

const event = (text: string) => `event: result\nid: "${text}"\ndata: ${text}\n\n`

describe('a followed result', () => {
  test('is sent at once, and again within a second after new entries changed it', async () => {
    const { state, follow, advance, arrive } = openQuery(null)
    const { events } = await follow()
    expect(events).toEqual([event('one')])
    state.text = 'two'
    await advance(5_000)
    expect(state.runs).toBe(1)
    arrive()
    await advance(1_000)
    expect(events).toEqual([event('one'), event('two')])
    arrive()
    await advance(1_000)
    expect([state.runs, events.length]).toEqual([3, 2])
  })

  test('is computed every 30 seconds, since it may change with time alone', async () => {
    const { state, follow, pass } = openQuery(null)
    const { events } = await follow()
    state.text = 'later'
    await pass(32)
    expect(events).toEqual([event('one'), event('later')])
    expect(state.runs).toBe(2)
  })

  test('is computed every five seconds if arrivals of entries are unknown', async () => {
    const { state, follow, pass } = openQuery(null, { blind: true })
    await follow()
    await pass(20)
    expect(state.runs).toBe(5)
  })

  test('is computed once for all of its followers', async () => {
    const { state, follow, advance, arrive, results } = openQuery(null)
    const all = [await follow(), await follow(), await follow()]
    expect(state.runs).toBe(1)
    state.text = 'two'
    arrive()
    await advance(1_000)
    expect(state.runs).toBe(2)
    for (const { events } of all) expect(events).toEqual([event('one'), event('two')])
    for (const { close } of all) close()
    arrive()
    await advance(60_000)
    expect([state.runs, results.size]).toEqual([2, 0])
  })

  test('is read from the cache when that has a newer one, and often enough to stay warm', async () => {
    const { state, onStored, follow, advance, pass } = openQuery(900)
    const { events } = await follow()
    state.text = 'two'
    await advance(1_000)
    expect([...onStored.keys()]).toEqual(['k'])
    expect(events).toHaveLength(1)
    onStored.get('k')?.()
    await advance(0)
    expect(events).toEqual([event('one'), event('two')])
    const { runs } = state
    await pass(60)
    expect(state.runs - runs).toBe(4)
  })

  test('is not sent to a follower that has it', async () => {
    const { state, follow, advance, arrive } = openQuery(null)
    const { events } = await follow('"one"')
    expect(events).toEqual([])
    state.text = 'two'
    arrive()
    await advance(1_000)
    expect(events).toEqual([event('two')])
  })

  test('reports an error once, is retried less and less often, and is sent again after the error', async () => {
    const { state, follow, arrive, failures, pass } = openQuery(null)
    const { events } = await follow()
    state.error = engineUnavailable('away')
    arrive()
    await pass(60)
    expect(events.slice(1)).toEqual(['engine_unavailable'])
    expect(failures).toHaveLength(1)
    expect(state.runs).toBeLessThan(9)
    state.error = undefined
    await pass(30)
    expect(events.slice(2)).toEqual([event('one')])
  })

  test('skips results for a slow follower, which gets the newest one when its connection drains', async () => {
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

  test('is not replaced by the result of a run that started earlier', async () => {
    const { state, results, call, follow, advance, arrive } = openQuery(null)
    const old = (await results.first(call)) as LatestResult
    const { events, sink } = await follow()
    state.text = 'two'
    arrive()
    await advance(1_000)
    results.subscribe(call, old, sink)
    expect(events).toEqual([event('one'), event('two'), event('two')])
  })

  test('keeps the lines of its body', async () => {
    const { state, follow } = openQuery(null)
    state.text = '{"result":[\n{"ü":1},\n{}\n]}'
    const { events } = await follow()
    expect(events[0]).toMatch(/\ndata: {"result":\[\ndata: {"ü":1},\ndata: {}\ndata: ]}\n\n$/)
  })

  test('is preceded by an event if it is truncated', async () => {
    const { results, call } = openQuery(null)
    const { events, sink } = openSink()
    results.subscribe(call, { etag: '"one"', mark: 0, body: Buffer.from('one'), truncated: true }, sink)
    expect(events).toEqual([`event: truncated\ndata: {"truncated":true}\n\n${event('one')}`])
  })

  test('is refused if it takes too much memory', async () => {
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
        results.subscribe(other, answer, openSink().sink)
      }
    }).toThrow('do not fit into memory')
  })

  test('ends the streams of its followers when it is dropped', async () => {
    const { results, follow } = openQuery(null)
    const { sink } = await follow()
    results.drop(({ group }) => group === 'another')
    expect(sink.ended).toBe(false)
    results.drop(({ group }) => group === 'e')
    expect(sink.ended).toBe(true)
  })
})

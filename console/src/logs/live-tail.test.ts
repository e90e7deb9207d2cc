import { describe, expect, test } from 'vitest'
import { ApiError, type Request } from '../api/api.ts'
import type { Entry } from '../api/api-types.ts'
import { followEntries, type TailEvents, type TailFilter, type TailWorld } from './live-tail.ts'

const entry = (n: number, message = 'one two'): Entry => ({
  id: `e${n}`,
  timestamp: n * 1000,
  project: '',
  event_message: message,
  metadata: {},
})
const event = (one: Entry) => `event: entry\nid: place-${one.id}\ndata: ${JSON.stringify(one)}\n\n`
const everything: TailFilter = { source: 'a', project: undefined, text: [], filters: [] }

/** Answers one call after the other, and ends the tail when there are no more. */
async function follow(filter: Partial<TailFilter>, answers: ((request: Request) => unknown)[]) {
  const ender = new AbortController()
  const told: unknown[] = []
  const asked: [string, Request][] = []
  const pauses: number[] = []
  const answer = async (path: string, request: Request = {}) => {
    asked.push([path, request])
    const next = answers.shift()
    if (next) return next(request)
    ender.abort()
    throw new Error('ended')
  }
  const events: TailEvents = {
    onOpen: () => told.push('open'),
    onBroken: () => told.push('broken'),
    onEntries: (entries) => told.push(entries.map(({ id }) => id).join()),
    onMissed: (count) => told.push(`missed ${count}`),
    onGap: () => told.push('gap'),
    onReset: () => told.push('reset'),
  }
  const world: TailWorld = {
    send: answer as TailWorld['send'],
    api: answer as TailWorld['api'],
    pause: async (ms) => {
      pauses.push(ms)
    },
    lost: () => told.push('lost'),
    now: () => 1_000_000,
  }
  const error = await followEntries({ ...everything, ...filter }, events, ender.signal, world).catch(
    (thrown: Error) => thrown,
  )
  return { told, asked, pauses, error }
}

/** A stream that breaks off behind its last part, or ends there. */
const stream =
  (parts: string[], how: 'ends' | 'breaks' = 'breaks') =>
  () => {
    const waiting = parts.map((part) => new TextEncoder().encode(part))
    return new Response(
      new ReadableStream({
        pull: (to) => {
          const next = waiting.shift()
          if (next) to.enqueue(next)
          else if (how === 'ends') to.close()
          else to.error(new TypeError('network error'))
        },
      }),
    )
  }

describe('the stream', () => {
  test('a connection that breaks is made again where it was, at once after it had worked', async () => {
    const { told, asked, pauses } = await follow({}, [
      stream([event(entry(1))]),
      () => Promise.reject(new ApiError(503, {})),
      stream([event(entry(2)), 'event: missed\ndata: {"count":7}\n\n', 'event: reset\ndata: {}\n\n'], 'ends'),
    ])
    expect(told).toEqual([
      'open',
      'e1',
      'lost',
      'broken',
      'broken',
      'open',
      'e2',
      'missed 7',
      'reset',
      'broken',
    ])
    expect(asked.map(([, { headers }]) => headers?.['Last-Event-ID'])).toEqual([
      undefined,
      'place-e1',
      'place-e1',
      'place-e2',
    ])
    expect(pauses).toEqual([1000, 2000, 1000])
  })

  test('a refusal ends it', async () => {
    const refused = new ApiError(404, { message: 'No such source.' })
    const { told, error } = await follow({}, [() => Promise.reject(refused)])
    expect([told, error]).toEqual([[], refused])
  })

  test('an event that comes in pieces is one, whatever its text', async () => {
    const text = event(entry(1, 'a\n\nb ä'))
    const { told } = await follow({}, [stream([text.slice(0, 30), text.slice(30), ': heartbeat\nid: x\n\n'])])
    expect(told).toEqual(['open', 'e1', 'lost', 'broken'])
  })

  test('every word is looked for, in any order, and none that is excluded', async () => {
    const { told, asked } = await follow(
      {
        text: ['ONE', 'other'],
        filters: [{ path: 'event_message', is: 'contains', value: 'Bad', not: true }],
      },
      [
        stream([
          event(entry(1, 'the other one')) +
            event(entry(2, 'one other, bad')) +
            event(entry(3, 'another')) +
            event(entry(4, 'one\nOther')),
        ]),
      ],
    )
    expect(told).toEqual(['open', 'e1,e4', 'lost', 'broken'])
    expect(asked[0]?.[0]).toBe('/api/sources/a/tail?text=other')
  })
})

describe('conditions on metadata', () => {
  const filters: TailFilter['filters'] = [{ path: 'a', is: 'eq', value: '1' }]
  const newest = (from: number, count: number) => Array.from({ length: count }, (_, n) => entry(from - n))

  test('are looked for again and again; each entry is told of once', async () => {
    const { told, asked } = await follow({ filters, text: ['x', 'y'] }, [
      () => [entry(1)],
      () => [entry(3), entry(2), entry(1)],
      () => Promise.reject(new TypeError('Failed to fetch')),
      () => [entry(4), entry(3)],
    ])
    expect(told).toEqual(['e1', 'open', 'e2,e3', 'lost', 'broken', 'e4', 'open'])
    expect(asked[0]?.[1].body).toEqual({
      from: new Date(970_000).toISOString(),
      text: ['x', 'y'],
      filters,
      limit: 500,
    })
  })

  test('what came in a multitude is read page by page, and told of where it is too much', async () => {
    const few = await follow({ filters }, [
      () => [],
      () => newest(2000, 500),
      ({ body }) => {
        expect(body).toMatchObject({ before: { timestamp: 1_501_000, id: 'e1501' } })
        return newest(1500, 20)
      },
    ])
    expect(few.told.map((one) => String(one).split(',').length)).toEqual([1, 520])
    const many = await follow({ filters }, [
      () => newest(100, 500),
      ...[9000, 8500, 8000, 7500].map((from) => () => newest(from, 500)),
    ])
    expect(many.told.slice(2)).toEqual(['gap', expect.stringMatching(/e9000$/)])
  })
})

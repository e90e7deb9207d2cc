import { describe, expect, test } from 'vitest'
import { ApiError, type Request } from '../api/api.ts'
import type { EntryFilter } from '../api/entry-search.ts'
import type { Entry } from '../api/shapes.ts'
import { followEntries, type TailEvents, type TailWorld } from './live-tail.ts'

const entry = (n: number, message = 'one two'): Entry => ({
  id: `e${n}`,
  timestamp: n * 1000,
  project: '',
  event_message: message,
  metadata: {},
})
const event = (one: Entry) => `event: entry\nid: place-${one.id}\ndata: ${JSON.stringify(one)}\n\n`
const everything: EntryFilter = { source: 'a', project: undefined, query: '' }

/** Responds to one request after the other, and aborts the tail when no responses are left. */
async function follow(filter: Partial<EntryFilter>, responses: ((request: Request) => unknown)[]) {
  const ender = new AbortController()
  const reported: unknown[] = []
  const requests: [string, Request][] = []
  const pauses: number[] = []
  const respond = async (path: string, request: Request = {}) => {
    requests.push([path, request])
    const next = responses.shift()
    if (next) return next(request)
    ender.abort()
    throw new Error('ended')
  }
  const events: TailEvents = {
    onOpen: () => reported.push('open'),
    onBroken: () => reported.push('broken'),
    onEntries: (entries) => reported.push(entries.map(({ id }) => id).join()),
    onMissed: (count) => reported.push(`missed ${count}`),
    onReset: () => reported.push('reset'),
  }
  const world: TailWorld = {
    send: respond as TailWorld['send'],
    pause: async (ms) => {
      pauses.push(ms)
    },
    lost: () => reported.push('lost'),
  }
  const error = await followEntries({ ...everything, ...filter }, events, ender.signal, world).catch(
    (thrown: Error) => thrown,
  )
  return { reported, requests, pauses, error }
}

/** A stream that breaks or ends after its last part. */
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

describe('the tail as a stream', () => {
  test('reconnects where it was after a break, with pauses that grow until it works', async () => {
    const { reported, requests, pauses } = await follow({}, [
      stream([event(entry(1))]),
      () => Promise.reject(new ApiError(503, {})),
      stream([event(entry(2)), 'event: missed\ndata: {"count":7}\n\n', 'event: reset\ndata: {}\n\n'], 'ends'),
    ])
    expect(reported.join()).toBe('open,e1,lost,broken,broken,open,e2,missed 7,reset,broken')
    const ids = requests.map(([, { headers }]) => headers?.['Last-Event-ID'])
    expect(ids).toEqual([undefined, 'place-e1', 'place-e1', 'place-e2'])
    expect(pauses).toEqual([1000, 2000, 1000])
  })

  test('throws an error that reconnecting does not solve', async () => {
    const refused = new ApiError(404, { message: 'No such source.' })
    const { reported, error } = await follow({}, [() => Promise.reject(refused)])
    expect([reported, error]).toEqual([[], refused])
  })

  test('resumes from a mark without data that is split anywhere', async () => {
    const mark = ': heartbeat\nid: place-9\n\n'
    for (let cut = 1; cut < mark.length; cut++) {
      const { requests } = await follow({}, [stream([event(entry(1)), mark.slice(0, cut), mark.slice(cut)])])
      expect([cut, requests[1]?.[1].headers?.['Last-Event-ID']]).toEqual([cut, 'place-9'])
    }
  })

  test('joins an event that arrives in pieces, and resumes from a mark without data', async () => {
    const text = event(entry(1, 'a\n\nb ä'))
    const { reported, requests } = await follow({}, [
      stream([text.slice(0, 30), text.slice(30), ': heartbeat\nid: x\n\n']),
    ])
    expect(reported).toEqual(['open', 'e1', 'lost', 'broken'])
    expect(requests[1]?.[1].headers).toEqual({ 'Last-Event-ID': 'x' })
  })

  test('sends the query and the project', async () => {
    const { requests } = await follow({ query: 'one status:>=500 & "two"', project: 'p/1' }, [])
    expect(requests[0]?.[0]).toBe(
      '/api/sources/a/tail?project=p%2F1&query=one+status%3A%3E%3D500+%26+%22two%22',
    )
  })
})

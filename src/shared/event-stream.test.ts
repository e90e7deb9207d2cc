import { afterEach, expect, test, vi } from 'vitest'
import { BrokenStream, eventReader, eventsOf } from './event-stream.ts'

afterEach(() => vi.useRealTimers())

test.each([1, 2, 3, 1000])('reads events from pieces of %i bytes', async (size) => {
  const bytes = Buffer.from(
    ': hello\r\n\r\nevent: a\r\ndata: ü1\r\ndata:2\r\n\r\nid: 7\n\nretry: 500\n\ndata: cut',
  )
  async function* pieces() {
    for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
  }
  const read = []
  for await (const events of eventsOf(ReadableStream.from(pieces()))) read.push(...events)
  expect(read).toEqual([
    { event: '', id: undefined, data: '', retryMs: undefined },
    { event: 'a', id: undefined, data: 'ü1\n2', retryMs: undefined },
    { event: '', id: '7', data: '', retryMs: undefined },
    { event: '', id: undefined, data: '', retryMs: 500 },
  ])
})

test('refuses an event that is longer than the limit', () => {
  const read = eventReader(10)
  expect(read('data: 1234567890\n\ndata: 1')).toHaveLength(1)
  expect(() => read('2345')).toThrow('an event without an end')
})

function openBody() {
  const controllers: ReadableStreamDefaultController[] = []
  const body = new ReadableStream({ start: (controller) => void controllers.push(controller) })
  const [controller] = controllers as [ReadableStreamDefaultController]
  return { events: eventsOf(body), controller, send: () => controller.enqueue(Buffer.from('id: 1\n\n')) }
}

test('is broken after 45 seconds of silence, and when the connection breaks', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const silent = openBody()
  silent.send()
  expect((await silent.events.next()).value).toHaveLength(1)
  const next = silent.events.next()
  const noticed = expect(next).rejects.toThrow(new BrokenStream('The service stopped sending heartbeats.'))
  await vi.advanceTimersByTimeAsync(45_000)
  await noticed
  const cut = openBody()
  cut.controller.error(new TypeError('terminated'))
  await expect(cut.events.next()).rejects.toThrow(new BrokenStream('terminated'))
})

test('does not count the time during which nobody asks for more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { events, send } = openBody()
  send()
  await events.next()
  await vi.advanceTimersByTimeAsync(100_000)
  send()
  expect((await events.next()).value).toHaveLength(1)
  await events.return(undefined)
})

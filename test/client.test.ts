import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { createClient } from '../client/client.ts'

afterEach(() => vi.useRealTimers())

test('follow connects again when the service falls silent', async () => {
  let streams = 0
  const server = createServer((_request, response) => {
    streams++
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(
      `id: ${streams}\nevent: result\ndata: {"result":[{"stream":${streams}}]}\n\n: heartbeat\n\n`,
    )
  }).listen(0, '127.0.0.1')
  await vi.waitFor(() => expect(server.listening).toBe(true))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { port } = server.address() as AddressInfo
  const client = createClient({ url: `http://127.0.0.1:${port}`, getToken: async () => 'token' })
  const seen: unknown[] = []
  const stop = client.follow('any' as never, {} as never, (live) => {
    seen.push(...live)
  })
  while (seen.length === 0) await new Promise(setImmediate)
  await vi.advanceTimersByTimeAsync(44_000)
  expect(streams).toBe(1)
  await vi.advanceTimersByTimeAsync(1_000)
  // The pause before the next attempt.
  while (seen.length === 1) {
    await vi.advanceTimersByTimeAsync(100)
    await new Promise(setImmediate)
  }
  expect(seen).toEqual([{ stream: 1 }, { stream: 2 }])
  stop()
  server.closeAllConnections()
  server.close()
})

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { createClient, type WellheadError } from '../client/client.ts'
import pinoTransport from '../client/pino.ts'

afterEach(() => vi.useRealTimers())

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await vi.waitFor(() => expect(server.listening).toBe(true))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('follow connects again when the service falls silent', async () => {
  let streams = 0
  const url = await serve((_request, response) => {
    streams++
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(
      `id: ${streams}\nevent: result\ndata: {"result":[{"stream":${streams}}]}\n\n: heartbeat\n\n`,
    )
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const client = createClient({ url, getToken: async () => 'token' })
  const seen: unknown[] = []
  const stop = client.follow('any', {}, (live) => {
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
})

test('the client refuses redirects, so that no other origin gets the token', async () => {
  const keys: unknown[] = []
  const other = await serve((request, response) => {
    keys.push(request.headers['x-api-key'])
    response.end('{"result":[]}')
  })
  const url = await serve(({ url: path }, response) => {
    response.writeHead(307, { Location: `${other}${path}` }).end()
  })
  const client = createClient({ url, getToken: () => 'token' })
  const message = 'The address of the service redirects. Set url to the address that it redirects to.'
  const redirected = { name: 'WellheadError', code: 'unreachable', status: 0, message }
  await expect(client.call('any')).rejects.toMatchObject(redirected)
  const failed = await new Promise<WellheadError>((resolve) => {
    const stop = client.follow('any', {}, () => {}, {
      onError: (error) => [stop(), resolve(error)],
    })
  })
  expect(failed).toMatchObject(redirected)
  expect(keys).toEqual([])
})

test.each([
  ['an array', ['a', ['b']]],
  ['an object', { a: 1 }],
  ['an object', new Date(0)],
  ['an object', () => 1],
])('the client refuses %s as a parameter without a request', async (what, value) => {
  let requests = 0
  const url = await serve((_request, response) => response.end(`{"result":[${++requests}]}`))
  const client = createClient({ url, getToken: () => 'token' })
  const message = `Parameter "ids" must be text, a number, a boolean or a list of these, not ${what}.`
  const refused = { code: 'invalid_parameter', status: 400, parameter: 'ids', message }
  const parameters = { ids: value } as never
  await expect(client.call('any', parameters)).rejects.toMatchObject(refused)
  const failed = await new Promise((resolve) =>
    client.follow('any', parameters, () => {}, { onError: resolve }),
  )
  expect(failed).toMatchObject(refused)
  expect(requests).toBe(0)
})

test('the pino transport waits at most five minutes for a service that asks for more', async () => {
  let requests = 0
  const url = await serve((request, response) => {
    request.resume().on('end', () => {
      if (++requests > 1) response.end('{"accepted":1}')
      else response.writeHead(429, { 'Retry-After': '99999999' }).end()
    })
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const sender = pinoTransport({ url, token: 'token', source: 'any' })
  sender.write('{"msg":"a"}\n')
  await vi.advanceTimersByTimeAsync(1_000)
  // The pause begins once the response was read.
  while (vi.getTimerCount() === 0) await new Promise(setImmediate)
  await vi.advanceTimersByTimeAsync(299_000)
  expect(requests).toBe(1)
  await vi.advanceTimersByTimeAsync(1_000)
  while (requests === 1) await new Promise(setImmediate)
  await new Promise<void>((resolve) => void sender.end(resolve))
})

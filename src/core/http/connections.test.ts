import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import {
  boundConnections,
  type ConnectionLimits,
  endsWithResponse,
  maxConnections,
  sendsBeforeClosing,
} from './connections.ts'

const opened: { close(): void }[] = []
afterEach(() => {
  for (const each of opened.splice(0)) each.close()
})

async function serve(listener: RequestListener, limits: Partial<ConnectionLimits> = {}) {
  const server = createServer(listener)
  boundConnections(server, {
    maxConnections: 10,
    headersWithinMs: 10_000,
    stalledAfterMs: 60_000,
    ...limits,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({ close: () => server.close().closeAllConnections() })
  return { server, port: (server.address() as AddressInfo).port }
}

async function ask(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  opened.push({ close: () => socket.destroy() })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

async function textOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

test('disconnects a client that reads nothing of a large response', async () => {
  const { server, port } = await serve((_request, response) => response.end(Buffer.alloc(64 * 2 ** 20)), {
    stalledAfterMs: 100,
  })
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const reader = await ask(port, get)
  reader.pause()
  const [socket] = await accepted
  await once(socket, 'close')
  expect(socket.destroyed).toBe(true)
})

test('waits for a client whose response takes long to compute', async () => {
  const { server, port } = await serve(
    (_request, response) => {
      // It ends only after the connection was looked at for having been silent too long.
      server.once('timeout', () => setImmediate(() => response.end('at last')))
    },
    { stalledAfterMs: 100 },
  )
  const socket = await ask(port, get.replace('Host', 'Connection: close\r\nHost'))
  expect(await textOf(socket)).toContain('at last')
})

test('closes an idle connection', async () => {
  const { server, port } = await serve((_request, response) => response.end('fine'))
  server.keepAliveTimeout = 50
  expect(await textOf(await ask(port, get))).toContain('fine')
})

test('closes connections beyond the limit immediately', async () => {
  const { port } = await serve((_request, response) => response.end('fine'), { maxConnections: 1 })
  const first = await ask(port, '')
  expect(await textOf(await ask(port, get))).toBe('')
  first.write(get.replace('Host', 'Connection: close\r\nHost'))
  expect(await textOf(first)).toContain('fine')
})

test('ignores an unknown expectation', async () => {
  const { port } = await serve((_request, response) => response.end('fine'))
  const text = await textOf(await ask(port, get.replace('Host', 'Expect: x\r\nConnection: close\r\nHost')))
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
})

test('reports a malformed request, but not in place of a pending response', async () => {
  const whole: ServerResponse[] = []
  const { server, port } = await serve((request, response) => {
    request.resume()
    if (request.url === '/endless') response.write('begun')
    else if (request.method === 'GET') whole.push(response)
  })
  server.on('clientError', (_error, socket) => {
    if (!endsWithResponse(socket as Socket)) socket.end('refused')
    // The answer is made after what is behind it turned out to be broken.
    whole.pop()?.end('fine')
  })
  const answer = async (text: string) => textOf(await ask(port, text))
  expect(await answer('no request\r\n\r\n')).toBe('refused')
  const broken = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'
  expect(await answer(broken)).toBe('refused')
  const first = await answer(`${get}no request\r\n\r\n`)
  expect(first).toMatch(/^HTTP\/1\.1 200 .*Connection: close.*fine$/s)
  const endless = await answer(`${get.replace('/', '/endless')}no request\r\n\r\n`)
  expect(endless).not.toContain('refused')
})

test('limits connections by streams and by file descriptors', () => {
  expect([1000, 100_000].map((streams) => maxConnections(streams, 1_048_576))).toEqual([11_000, 110_000])
  expect([4096, 1024, 256].map((files) => maxConnections(1000, files))).toEqual([3840, 768, 64])
  expect(maxConnections(1000)).toBeGreaterThanOrEqual(64)
})

test.each([
  ['that keeps its side open', false],
  ['that has closed its side', true],
])(
  'a large answer to a reader %s is sent before the server closes, but not waited for without end',
  async (_name, isHalfClosed) => {
    const body = Buffer.alloc(16 * 2 ** 20, 'x')
    const { server, port } = await serve((_request, response) => response.end(body), {
      stalledAfterMs: 60_000,
    })
    const isSent = sendsBeforeClosing(server, 10_000)
    const isSentSoon = sendsBeforeClosing(server, 30)
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const reader = await ask(port, get)
    reader.pause()
    if (isHalfClosed) reader.end()
    const [socket] = await accepted
    await once(server, 'request')
    await isSentSoon()
    expect(socket.writableLength).toBeGreaterThan(0)
    const closed = isSent().then(() => server.close())
    const text = await Promise.all([textOf(reader), closed]).then(([received]) => received)
    expect(text.length).toBeGreaterThan(body.length)
  },
)

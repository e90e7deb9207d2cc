import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { readException } from './clickhouse-error.ts'
import { ClickHouseHttp, type ClickHouseServer } from './clickhouse-http.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function serve(answer: RequestListener, options: Partial<ClickHouseServer> = {}) {
  const sockets: Socket[] = []
  const server = createServer(answer)
  server.on('connection', (socket) => sockets.push(socket))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/behind/`)
  const client = new ClickHouseHttp({ url, maxConnections: 4, idleMs: 5_000, compress: false, ...options })
  closers.push(() => {
    client.close()
    server.close()
    server.closeAllConnections()
  })
  const call = (given = {}) =>
    client.call({ body: Buffer.from('SELECT 1'), maxResponseBytes: 1000, ...given })
  return { url, sockets, call, ask: (given = {}) => call(given).answer }
}

const exception =
  'Code: 60. DB::Exception: Unknown table t (or (NOT_A_TYPE) maybe). (UNKNOWN_TABLE) (version 25.8.1.1 (official build))\n'

test('user, database and settings are sent with each call, and connections are kept', async () => {
  const seen: unknown[] = []
  const { ask, sockets } = await serve(
    ({ url, method, headers: { authorization, 'accept-encoding': encoding } }, response) => {
      seen.push({ url, method, authorization, encoding })
      response.setHeader('X-ClickHouse-Summary', '{"read_rows":"1"}')
      response.end('1\n')
    },
    { user: 'ü', password: 'a:b', database: 'logs', compress: true },
  )
  expect(await ask({ search: { max_threads: '2', param_x: 'a b&\ud800' } })).toEqual({
    body: Buffer.from('1\n'),
    summary: '{"read_rows":"1"}',
  })
  await ask({ body: undefined, path: '/ping' })
  const authorization = `Basic ${Buffer.from('ü:a:b').toString('base64')}`
  expect(seen).toEqual([
    {
      url: '/behind/?database=logs&enable_http_compression=1&max_threads=2&param_x=a+b%26%EF%BF%BD',
      method: 'POST',
      authorization,
      encoding: 'gzip',
    },
    { url: '/behind/ping', method: 'GET', authorization, encoding: 'gzip' },
  ])
  expect(sockets).toHaveLength(1)
})

test('a compressed response is unpacked, and its bound is that of the unpacked bytes', async () => {
  const { ask } = await serve((request, response) => {
    response.setHeader('Content-Encoding', 'gzip')
    response.end(gzipSync('x'.repeat(request.url === '/behind/long' ? 1001 : 1000)))
  })
  expect((await ask()).body.toString()).toBe('x'.repeat(1000))
  await expect(ask({ path: '/long' })).rejects.toMatchObject({ code: 'too_large' })
})

test.each([
  [500, { 'X-ClickHouse-Exception-Code': '60' }],
  [200, { 'X-ClickHouse-Exception-Code': '60' }],
  [404, {}],
])(
  'an exception with status %d and headers %j has its code, type and whole message',
  async (status, headers) => {
    const { ask } = await serve((_, response) => response.writeHead(status, headers).end(exception))
    await expect(ask()).rejects.toMatchObject({
      code: 60,
      type: 'UNKNOWN_TABLE',
      message: 'Unknown table t (or (NOT_A_TYPE) maybe).',
    })
  },
)

test('an exception at the end of a response that began well is noticed', async () => {
  const tag = 'FOOBARBAZQUXABCD'
  const { ask } = await serve((_, response) => {
    response.setHeader('X-ClickHouse-Exception-Tag', tag)
    response.write('{"n":1}\n')
    const end = `${exception.length} ${tag}\r\n__exception__\r\n`
    response.end(`\r\n__exception__\r\n${tag}\r\n${exception}${end}`)
  })
  await expect(ask()).rejects.toMatchObject({ code: 60, message: 'Unknown table t (or (NOT_A_TYPE) maybe).' })
})

test('a result that only looks like an exception is a result', async () => {
  const text = `\r\n__exception__\r\nOTHER\r\n${exception}98 OTHER\r\n__exception__\r\n`
  const { ask } = await serve((_, response) => {
    response.setHeader('X-ClickHouse-Exception-Tag', 'FOOBARBAZQUXABCD')
    response.end(text)
  })
  expect((await ask()).body.toString()).toBe(text)
})

test('what a proxy says is no exception of the server', async () => {
  const { ask } = await serve((_, response) => response.writeHead(502).end('<html>Bad gateway</html>'))
  await expect(ask()).rejects.toThrow('HTTP status 502: <html>Bad gateway</html>')
  expect(readException('<html>')).toBeUndefined()
})

test('an exception of any length is told as one, cut', async () => {
  const { ask } = await serve((_, response) => {
    response.setHeader('X-ClickHouse-Exception-Code', '60')
    response.writeHead(404)
    response.write('Code: 60. DB::Exception: Unknown table ')
    for (let i = 0; i < 20; i++) response.write('t'.repeat(2 ** 17))
    response.end()
  })
  const error = await ask().catch((reason) => reason)
  expect(error).toMatchObject({ code: 60, message: expect.stringMatching(/^Unknown table t+$/) })
  expect(error.message.length).toBeLessThanOrEqual(2 ** 20)
})

test('exceptions that servers of a cluster pass on are read to the inner message', () => {
  const inner = 'Code: 57. DB::Exception: Table exists. (TABLE_ALREADY_EXISTS) (version 25.8.1.1)'
  expect(
    readException(`Code: 57. DB::Exception: ${inner}. (TABLE_ALREADY_EXISTS) (version 25.8.1.1)`),
  ).toMatchObject({
    code: 57,
    type: 'TABLE_ALREADY_EXISTS',
    message: 'Table exists.',
  })
})

test('a response that breaks off is an error', async () => {
  const { ask } = await serve((_, response) => {
    response.write('half')
    setImmediate(() => response.destroy())
  })
  await expect(ask({ repeatable: true })).rejects.toThrow('aborted')
})

test('ending a call closes its connection', async () => {
  let closed: Promise<void> | undefined
  let arrived = () => {}
  const there = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const { call } = await serve((_, response) => {
    closed = new Promise((resolve) => response.once('close', resolve))
    arrived()
  })
  const { answer, end } = call({ repeatable: true })
  const failed = expect(answer).rejects.toThrow('The call was ended.')
  await there
  end()
  await failed
  await closed
})

test('a server with https is spoken to in TLS', async () => {
  const { url } = await serve((_, response) => response.end('plain'))
  const secure = new ClickHouseHttp({
    url: new URL(url.href.replace('http:', 'https:')),
    maxConnections: 1,
    idleMs: 1000,
    compress: false,
  })
  await expect(secure.call({ maxResponseBytes: 10 }).answer).rejects.toMatchObject({
    code: expect.stringMatching(/SSL|TLS|EPROTO/),
  })
  secure.close()
})

describe('a kept connection that the server closes as it is used again', () => {
  /** The second request on a connection is not answered. */
  const closing = () => {
    const counts = new Map<Socket, number>()
    let requests = 0
    return serve((request, response) => {
      requests++
      const before = counts.get(request.socket) ?? 0
      counts.set(request.socket, before + 1)
      if (before > 0) request.socket.destroy()
      else response.end(String(requests))
    })
  }

  test('does not fail a call that may be repeated', async () => {
    const { ask, sockets } = await closing()
    expect((await ask({ repeatable: true })).body.toString()).toBe('1')
    expect((await ask({ repeatable: true })).body.toString()).toBe('3')
    expect(sockets).toHaveLength(2)
  })

  test('fails any other, which the server may have seen', async () => {
    const { ask, sockets } = await closing()
    await ask()
    await expect(ask()).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(sockets).toHaveLength(1)
  })
})

test('a new connection that breaks is not tried again', async () => {
  let requests = 0
  const { ask } = await serve((request) => {
    requests++
    request.socket.destroy()
  })
  await expect(ask({ repeatable: true })).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(requests).toBe(1)
})

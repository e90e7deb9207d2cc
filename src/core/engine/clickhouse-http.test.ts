import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { ClickHouseHttp, type ClickHouseServer } from './clickhouse-http.ts'
import { isDiskTrouble, toWellheadError } from './engine-errors.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function serve(listener: RequestListener, options: Partial<ClickHouseServer> = {}) {
  const sockets: Socket[] = []
  const server = createServer(listener)
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
  const ask = (request = {}) =>
    client.send({ body: Buffer.from('SELECT 1'), maxResponseBytes: 1000, ...request })
  return { url, sockets, ask }
}

const exception =
  'Code: 60. DB::Exception: Unknown table t (or (NOT_A_TYPE) maybe). (UNKNOWN_TABLE) (version 25.8.1.1 (official build))\n'

test('sends user, database and settings with each request, and keeps connections', async () => {
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
      url:
        '/behind/?http_write_exception_in_output_format=0&output_format_json_quote_64bit_integers=0&async_insert=0' +
        '&max_query_size=67108864&database=logs&enable_http_compression=1&max_threads=2&param_x=a+b%26%EF%BF%BD',
      method: 'POST',
      authorization,
      encoding: 'gzip',
    },
    { url: '/behind/ping', method: 'GET', authorization, encoding: 'gzip' },
  ])
  expect(sockets).toHaveLength(1)
})

test('decompresses a response, and limits the decompressed bytes', async () => {
  const { ask } = await serve((request, response) => {
    response.setHeader('Content-Encoding', 'gzip')
    response.end(gzipSync('x'.repeat(request.url === '/behind/long' ? 1001 : 1000)))
  })
  expect((await ask()).body.toString()).toBe('x'.repeat(1000))
  await expect(ask({ path: '/long' })).rejects.toMatchObject({ code: 'too_large' })
})

const coded = { 'X-ClickHouse-Exception-Code': '60' }
const tagged = { 'X-ClickHouse-Exception-Tag': 'FOOBARBAZQUXABCD' }
const unknownTable = { code: 60, type: 'UNKNOWN_TABLE', message: 'Unknown table t (or (NOT_A_TYPE) maybe).' }
const tableExists = { code: 57, type: 'TABLE_ALREADY_EXISTS', message: 'Table exists.' }
const late = (tag: string) =>
  `{"n":1}\n\r\n__exception__\r\n${tag}\r\n${exception}${exception.length} ${tag}\r\n__exception__\r\n`
const inner = 'Code: 57. DB::Exception: Table exists. (TABLE_ALREADY_EXISTS) (version 25.8.1.1)'
const wrapped = `Code: 57. DB::Exception: ${inner}. (TABLE_ALREADY_EXISTS) (version 25.8.1.1)`

test.each([
  ['an exception', 500, coded, exception, unknownTable],
  ['an exception with status 200', 200, coded, exception, unknownTable],
  ['an exception without a code', 404, {}, exception, unknownTable],
  ['an exception after a result', 200, tagged, late('FOOBARBAZQUXABCD'), unknownTable],
  ['a result that looks like an exception', 200, tagged, late('OTHER'), undefined],
  ['an exception that servers of a cluster pass on', 500, {}, wrapped, tableExists],
  ['a page of a proxy', 502, {}, '<html>Bad', { message: 'HTTP status 502: <html>Bad' }],
])('recognizes %s', async (_, status, headers, body, error) => {
  const { ask } = await serve((_, response) => response.writeHead(status, headers).end(body))
  if (error) await expect(ask()).rejects.toMatchObject(error)
  else expect((await ask()).body.toString()).toBe(body)
})

test('cuts off a very long exception', async () => {
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

test('rejects a response that breaks off', async () => {
  const { ask } = await serve((_, response) => {
    response.write('half')
    setImmediate(() => response.destroy())
  })
  await expect(ask({ repeatable: true })).rejects.toThrow('aborted')
})

test('closes the connection of a cancelled request', async () => {
  let closed: Promise<void> | undefined
  let arrived = () => {}
  const there = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const { ask } = await serve((_, response) => {
    closed = new Promise((resolve) => response.once('close', resolve))
    arrived()
  })
  const stop = new AbortController()
  const failed = expect(ask({ repeatable: true, signal: stop.signal })).rejects.toThrow('aborted')
  await there
  stop.abort()
  await failed
  await closed
})

test('uses TLS for https', async () => {
  const { url } = await serve((_, response) => response.end('plain'))
  const secure = new ClickHouseHttp({
    url: new URL(url.href.replace('http:', 'https:')),
    maxConnections: 1,
    idleMs: 1000,
    compress: false,
  })
  await expect(secure.send({ maxResponseBytes: 10 })).rejects.toMatchObject({
    code: expect.stringMatching(/SSL|TLS|EPROTO/),
  })
  secure.close()
})

describe('a kept connection that the server closes when it is reused', () => {
  /** Closes the connection at its second request. */
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

  test('repeats a repeatable request', async () => {
    const { ask, sockets } = await closing()
    expect((await ask({ repeatable: true })).body.toString()).toBe('1')
    expect((await ask({ repeatable: true })).body.toString()).toBe('3')
    expect(sockets).toHaveLength(2)
  })

  test('fails any other request, because the server may have seen it', async () => {
    const { ask, sockets } = await closing()
    await ask()
    await expect(ask()).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(sockets).toHaveLength(1)
  })
})

test('does not repeat a request on a new connection', async () => {
  let requests = 0
  const { ask } = await serve((request) => {
    requests++
    request.socket.destroy()
  })
  await expect(ask({ repeatable: true })).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(requests).toBe(1)
})

test('reads an exception of the file system, so that its cause is known', async () => {
  const what = 'filesystem error: in create_directories: Structure needs cleaning ["/data/a"]'
  const { ask } = await serve((_request, response) => {
    response.statusCode = 500
    response.end(
      `std::exception. Code: 1001, type: std::__1::Filesystem::filesystem_error, e.what() = ${what}`,
    )
  })
  const error = await ask().catch((reason) => reason)
  expect(error).toMatchObject({ code: 1001, message: what })
  const known = toWellheadError(error, { deadlineMs: 1_000, ended: 'by-engine' })
  expect([known.code, isDiskTrouble(known)]).toEqual(['engine_unavailable', true])
})

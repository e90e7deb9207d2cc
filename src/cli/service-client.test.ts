import { readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryIo } from '../../test/support/memory-io.ts'
import { scratchDirectory } from '../../test/support/scratch.ts'
import { runProgram } from './program.ts'
import { type EndpointAnswer, endpointAnswer } from './service-answers.ts'
import { connect, ServiceFailure } from './service-client.ts'

let server: Server | undefined
afterEach(() => server?.close())

/** A service that always answers so. */
async function serving(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const listening = createServer(answer)
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

async function failureOf(url: string, io = memoryIo()): Promise<ServiceFailure> {
  const failure = await connect({ url, token: 'secret-token' }, io)
    .json('GET', '/api/endpoints', z.array(endpointAnswer))
    .then(
      () => undefined,
      (error: unknown) => error,
    )
  expect(failure).toBeInstanceOf(ServiceFailure)
  return failure as ServiceFailure
}

test('an error of the service is told in a sentence with its code, parameter and request', async () => {
  const url = await serving((_, response) => {
    const error = { code: 'invalid_parameter', message: 'Too many.', parameter: 'limit', request_id: 'r-1' }
    response.writeHead(400, { 'Retry-After': '7' }).end(JSON.stringify({ error }))
  })
  expect(await failureOf(url)).toMatchObject({
    message: 'Too many. (invalid_parameter, parameter limit, request r-1)',
    status: 400,
    code: 'invalid_parameter',
    retryAfterSeconds: 7,
  })
})

test.each([
  ['a page', 200, '<html>'],
  ['an error of another server', 502, 'Bad Gateway'],
  ['JSON of another server', 404, '{"error":"nope"}'],
])('%s is told as strange', async (_, status, body) => {
  const url = await serving((_request, response) => response.writeHead(status).end(body))
  expect((await failureOf(url)).message).toContain('but not as Wellhead does')
})

describe('what is not a Wellhead service', () => {
  const nonsense: [string, (response: ServerResponse) => void][] = [
    ['a page', (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>')],
    ['an empty body', (response) => response.end()],
    ['null', (response) => response.end('null')],
    ['an object of something else', (response) => response.end('{"status":"ok"}')],
    ['a list of something else', (response) => response.end('[{"name":7}]')],
    ['no content', (response) => response.writeHead(204).end()],
    [
      'half of a body',
      (response) => {
        response.writeHead(200, { 'Content-Length': '100' }).write('[')
        response.destroy()
      },
    ],
    ['a connection that closes', (response) => response.destroy()],
  ]
  const directory = scratchDirectory()
  afterAll(() => directory.remove())

  const commands = [
    'pull',
    'endpoint list',
    'endpoint show e',
    'endpoint show e --version 1',
    'endpoint versions e',
    'endpoint restore e 1',
    'endpoint delete e --yes',
    'endpoint run e',
    'endpoint run e --explain',
    'source list',
    'source show s',
    'source show s --schema',
    'source create s',
    'source update s --retention-days 30',
    'source delete s --yes',
    'token list',
    'token create --scope query',
    'token rotate t',
    'token revoke t --yes',
    'logs send --source s',
    'logs tail --source s',
    'backup b',
  ]

  test.each(nonsense)('%s ends every command with one line and exit code 1', async (_, answer) => {
    const url = await serving((request, response) => {
      request.resume().on('end', () => answer(response))
    })
    for (const command of commands) {
      const io = memoryIo({ cwd: directory.path, input: '{"message":"one"}' })
      const code = await runProgram([...command.split(' '), '--url', url, '--token', 'x'], io)
      expect([command, code, io.stdout.text()]).toEqual([command, 1, ''])
      expect([command, io.stderr.text()]).toEqual([command, expect.stringMatching(/^wellhead: [^\n]+\.\n$/)])
    }
  })

  test('an endpoint that no file can hold is named, and nothing is written', async () => {
    const endpoint = { ...shown, name: '../../etc/passwd' }
    const url = await serving((_, response) => response.end(JSON.stringify([endpoint])))
    const io = memoryIo({ cwd: directory.path })
    expect(await runProgram(['pull', '--url', url, '--token', 'x'], io)).toBe(1)
    expect(io.stderr.text()).toMatch(/^wellhead: The endpoint .* cannot be read: name must start .*\.\n$/)
    expect(readdirSync(directory.path)).toEqual([])
  })

  test('a source whose name is no name becomes no file', async () => {
    const source = { id: 'i', name: '../../out', hot_fields: [], updated_at: '' }
    const url = await serving((request, response) =>
      response.end(request.url === '/api/sources' ? JSON.stringify([source]) : '[]'),
    )
    const io = memoryIo({ cwd: directory.path })
    expect(await runProgram(['pull', '--url', url, '--token', 'x'], io)).toBe(1)
    expect(io.stderr.text()).toMatch(/^wellhead: .*0\.name: must be lowercase letters.*\n$/)
  })
})

const shown: EndpointAnswer = {
  ...{ id: '00000000-0000-4000-8000-000000000001', name: 'e', description: '', query: 'SELECT 1' },
  ...{ parameters: {}, columns: [], max_rows: 1, cache_seconds: null, warm_seconds: null, sandbox: false },
  ...{ version: 1, updated_at: '', updated_by: '' },
}

test('the token does not follow to another address', async () => {
  const seen: unknown[] = []
  const url = await serving((request, response) => {
    seen.push([request.url, request.headers['x-api-key']])
    response.writeHead(302, { Location: '/elsewhere' }).end()
  })
  await failureOf(url)
  expect(seen).toEqual([['/api/endpoints', 'secret-token']])
})

test('an answer that breaks off can be waited for', async () => {
  const url = await serving((_, response) => {
    response.writeHead(200, { 'Content-Length': '100' }).write('{')
    response.destroy()
  })
  expect((await failureOf(url)).status).toBe(0)
})

test('nobody there: what to do is told, with exit code 1', async () => {
  const url = await serving(() => {})
  await new Promise((resolve) => server?.close(resolve))
  const io = memoryIo()
  expect(await runProgram(['endpoint', 'list', '--url', url, '--token', 'x'], io)).toBe(1)
  expect(io.stderr.text()).toBe(
    `wellhead: Nothing answers at ${url}. Start a service with: wellhead serve, or name another with --url or WELLHEAD_URL.\n`,
  )
})

test('a command that is stopped says so', async () => {
  const stop = new AbortController()
  const url = await serving(() => stop.abort('SIGINT'))
  const io = memoryIo({ signal: stop.signal })
  expect(await runProgram(['token', 'list', '--url', url, '--token', 'x'], io)).toBe(1)
  expect(io.stderr.text()).toBe('wellhead: stopped.\n')
  server?.closeAllConnections()
})

test('sending that is stopped tells how far it got', async () => {
  const stop = new AbortController()
  let batches = 0
  const url = await serving((request, response) => {
    request.resume().on('end', () => {
      if (++batches === 3) stop.abort('SIGINT')
      else response.end('{"message":"Logged!","accepted":2,"rejected":0,"errors":[]}')
    })
  })
  const input = Array.from({ length: 10 }, (_, n) => `{"message":"${n}"}`).join('\n')
  const io = memoryIo({ signal: stop.signal, input })
  const args = ['logs', 'send', '--source', 's', '--batch-entries', '2', '--url', url, '--token', 'x']
  expect(await runProgram(args, io)).toBe(1)
  expect(io.stderr.text()).toBe(
    '4 entries stored in s. The rest is not sent; give the same command again, and nothing is stored twice.\n' +
      'wellhead: stopped.\n',
  )
  server?.closeAllConnections()
})

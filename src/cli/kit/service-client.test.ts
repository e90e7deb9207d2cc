import { readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { runProgram } from '../program.ts'
import { ServiceClient, ServiceFailure } from './service-client.ts'

let server: Server | undefined
const directory = scratchDirectory()
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})
afterAll(() => directory.remove())

/** Like a service, which names the request in each response, or like another program. */
async function serve(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  isWellhead = true,
) {
  const listening = createServer((request, response) => {
    if (isWellhead) response.setHeader('X-Request-Id', 'r-1')
    listener(request, response)
  })
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

async function failureOf(url: string): Promise<ServiceFailure> {
  const client = new ServiceClient({ url, token: 'secret-token' }, memoryIo())
  const failure = await client.json('GET', '/api/endpoints').catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ServiceFailure)
  return failure as ServiceFailure
}

async function run(command: string, url: string, choices: Parameters<typeof memoryIo>[0] = {}) {
  const io = memoryIo({ cwd: directory.path, ...choices })
  const code = await runProgram([...command.split(' '), '--url', url, '--token', 'x'], io)
  return { code, stdout: io.stdout.text(), stderr: io.stderr.text() }
}

test('reports an error of the service with its code, parameter and request', async () => {
  const url = await serve((_, response) => {
    const error = { code: 'invalid_parameter', message: 'Too many.', parameter: 'limit', request_id: 'r-1' }
    response.writeHead(400, { 'Retry-After': '7' }).end(JSON.stringify({ error }))
  })
  expect(await failureOf(url)).toMatchObject({
    message: 'Too many. (invalid_parameter, parameter limit, request r-1)',
    details: { status: 400, code: 'invalid_parameter', retryAfterSeconds: 7 },
  })
})

test('reports a mistyped token, and escapes control characters', async () => {
  const url = await serve((_, response) => {
    const challenge =
      'Bearer realm="wellhead", error="invalid_token", error_description="The token is mistyped."'
    const error = { code: 'unauthorized', message: 'No \u001b[31mtoken.\nNone.' }
    response.writeHead(401, { 'WWW-Authenticate': challenge }).end(JSON.stringify({ error }))
  })
  expect((await failureOf(url)).message).toBe(
    'No \\u001b[31mtoken.\nNone. The token is mistyped. (unauthorized)',
  )
})

test.each([
  ['a page', 200, '<html>'],
  ['an error of another server', 502, 'Bad Gateway'],
  ['JSON of another server', 404, '{"error":"nope"}'],
])('reports that %s is not from Wellhead', async (_, status, body) => {
  for (const isWellhead of [true, false]) {
    const url = await serve((_request, response) => response.writeHead(status).end(body), isWellhead)
    expect((await failureOf(url)).message).toContain('is not from Wellhead')
  }
})

function sendHalf(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Length': '100' }).write('[')
  response.destroy()
}

describe('a program that is not Wellhead', () => {
  const responses: [string, (response: ServerResponse) => void][] = [
    ['a page', (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>')],
    ['an empty body', (response) => response.end()],
    ['null', (response) => response.end('null')],
    ['an unknown object', (response) => response.end('{"status":"ok"}')],
    ['an unknown list', (response) => response.end('[{"name":7}]')],
    ['no content', (response) => response.writeHead(204).end()],
    ['half of a body', sendHalf],
    ['a closed connection', (response) => response.destroy()],
  ]
  const commands = [
    'pull',
    'endpoint list',
    'endpoint show e',
    'endpoint show e --version 1',
    'endpoint versions e',
    'endpoint run e',
    'endpoint run e --explain',
    'sql -',
    'source list',
    'source show s',
    'source schema s',
    'source update s --retention 30d',
    'source delete s --yes',
    'token list',
    'token create --scope query',
    'token update t --no-project',
    'token rotate t',
    'token revoke t --yes',
    'logs send --source s',
    'logs search s',
    'logs tail s',
    'backup b',
  ]

  test.each(responses)('%s ends every command with one line and exit code 1', async (_, respond) => {
    const url = await serve((request, response) => {
      request.resume().on('end', () => respond(response))
    }, false)
    for (const command of commands) {
      const stderr = expect.stringMatching(/^wellhead: [^\n]+\.\n$/)
      const result = await run(command, url, { input: '{"message":"one"}' })
      expect({ command, ...result }).toEqual({ command, code: 1, stdout: '', stderr })
    }
  })

  test('pull writes nothing for an endpoint whose name cannot be a file name', async () => {
    const url = await serve((request, response) => {
      const views = request.url === '/api/endpoints' ? [{ ...endpoint, name: '../../etc/passwd' }] : []
      response.end(JSON.stringify(views))
    })
    const { code, stderr } = await run('pull', url)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^wellhead: Cannot read endpoints\/\S+ of the service: name .*\.\n$/),
    ])
    expect(readdirSync(directory.path)).toEqual([])
  })

  test('pull writes nothing for a source whose name cannot be a file name', async () => {
    const source = { id: 'i', name: '../../out', version: 1 }
    const url = await serve((request, response) =>
      response.end(request.url === '/api/sources' ? JSON.stringify([source]) : '[]'),
    )
    const { code, stderr } = await run('pull', url)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^wellhead: Cannot read sources\/\S+ of the service: name .*\n$/),
    ])
  })
})

const endpoint = {
  ...{ id: '00000000-0000-4000-8000-000000000001', name: 'e', description: '', query: 'SELECT 1' },
  ...{ parameters: {}, columns: [], max_rows: 1, cache_seconds: null, warm_seconds: null, sandbox: false },
  ...{ chart: null, strict: false, published: true, version: 1, updated_at: '', updated_by: '', note: '' },
}

test.each([
  ['logs send --source edge_logs', 'reads its input'],
  ['endpoint run x --output out.json', 'creates its file'],
])('wellhead %s needs a token before it %s', async (command) => {
  const read = vi.fn()
  const io = memoryIo({ cwd: directory.path, stdin: new Readable({ read }) })
  expect(await runProgram([...command.split(' '), '--url', 'http://127.0.0.1:1'], io)).toBe(2)
  expect(io.stderr.text()).toContain('No token for')
  expect(read).not.toHaveBeenCalled()
  expect(readdirSync(directory.path)).not.toContain('out.json')
})

test('does not send the token to the target of a redirect', async () => {
  const seen: unknown[] = []
  const url = await serve((request, response) => {
    seen.push([request.url, request.headers['x-api-key']])
    response.writeHead(302, { Location: '/elsewhere' }).end()
  })
  await failureOf(url)
  expect(seen).toEqual([['/api/endpoints', 'secret-token']])
})

test('reports an interrupted response as status 0, which can be retried', async () => {
  const url = await serve((_, response) => sendHalf(response))
  expect((await failureOf(url)).details.status).toBe(0)
})

test('says to try again if the connection breaks before the response', async () => {
  const url = await serve((_, response) => response.destroy())
  expect((await failureOf(url)).message).toMatch(/^Cannot reach http:\S+: .*, then try again\.$/)
})

test('explains how to start a service if none is listening', async () => {
  const url = await serve(() => {})
  await new Promise((resolve) => server?.close(resolve))
  expect(await run('endpoint list', url)).toMatchObject({
    code: 1,
    stderr: `wellhead: No service is listening at ${url}. Start one with "wellhead serve", or set --url or WELLHEAD_URL.\n`,
  })
})

test('a stopped command says so', async () => {
  const stop = new AbortController()
  const url = await serve(() => stop.abort('SIGINT'))
  const result = await run('token list', url, { signal: stop.signal })
  expect(result).toMatchObject({ code: 1, stderr: 'wellhead: stopped.\n' })
})

test('a stopped logs send reports how many entries are stored', async () => {
  const stop = new AbortController()
  let batches = 0
  const url = await serve((request, response) => {
    request.resume().on('end', () => {
      if (++batches === 3) stop.abort('SIGINT')
      else response.end('{"message":"Logged!","accepted":2,"rejected":0,"errors":[]}')
    })
  })
  const input = Array.from({ length: 10 }, (_, n) => `{"message":"${n}"}`).join('\n')
  expect(
    await run('logs send --source s --batch-entries 2', url, { signal: stop.signal, input }),
  ).toMatchObject({
    code: 1,
    stderr:
      '4 entries stored in s. Run the same command again to send the rest; nothing is stored twice.\n' +
      'wellhead: stopped.\n',
  })
})

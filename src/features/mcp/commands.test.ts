import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { runProgram } from '../../cli/program.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** The response to a request if a service responds like this. */
async function responseOf(respond: (response: ServerResponse) => void) {
  server = createServer((_, response) => respond(response.setHeader('X-Request-Id', 'r-1')))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const io = memoryIo({ input: '{"jsonrpc":"2.0","id":"a","method":"ping"}\n' })
  expect(await runProgram(['mcp', '--url', url, '--token', 'x'], io)).toBe(0)
  expect(io.stderr.text()).toBe('')
  const lines = io.stdout.text().split('\n')
  expect(lines).toHaveLength(2)
  return JSON.parse(lines[0] as string)
}

const failed = (code: number, message: string) => ({
  jsonrpc: '2.0',
  id: 'a',
  error: { code, message: expect.stringContaining(message) },
})

test('passes the response on', async () => {
  const body = { jsonrpc: '2.0', id: 'a', result: { text: 'two\nlines' } }
  expect(await responseOf((response) => response.end(JSON.stringify(body)))).toEqual(body)
})

test.each([
  [503, { error: { code: 'unavailable', message: 'The engine restarts.' } }, -32603, 'The engine restarts.'],
  [
    400,
    { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Not a message.' } },
    -32600,
    'Not a message.',
  ],
  [502, '<html>', -32603, '(502) is not from Wellhead'],
  [200, '<html>', -32603, 'the body is not JSON'],
  [302, '', -32603, '(302) is not from Wellhead'],
])('reports %i %j as an error of the request', async (status, body, code, message) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  expect(await responseOf((response) => response.writeHead(status).end(text))).toEqual(failed(code, message))
})

test('reports a connection that breaks', async () => {
  expect(await responseOf((response) => response.destroy())).toEqual(failed(-32603, 'Cannot reach'))
})

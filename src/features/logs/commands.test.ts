import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { memoryIo, memoryOutput } from '../../../test/support/memory-io.ts'
import { ServiceClient } from '../../cli/kit/service-client.ts'
import { tailSource } from './commands.ts'

const refuse = (status: number) => (response: ServerResponse) =>
  void response.writeHead(status).end(JSON.stringify({ error: { code: 'c', message: `It is ${status}.` } }))

let close = () => {}
let respondToSearch: (response: ServerResponse) => void = refuse(404)
afterEach(() => close())

async function serve(...responses: ((response: ServerResponse) => void)[]) {
  const requests: { url: string; lastId: string | undefined }[] = []
  const server = createServer(({ url = '', headers }, response) => {
    response.setHeader('X-Request-Id', 'r-1')
    if (url.endsWith('/search')) return respondToSearch(response)
    requests.push({ url, lastId: headers['last-event-id'] as string | undefined })
    response.setHeader('Content-Type', 'text/event-stream')
    responses.shift()?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

const entry = (id: string, message: string) =>
  `event: entry\nid: ${id}\ndata: {"id":"x","timestamp":1767225600123456,"project":"p\\u001b","event_message":"${message}","metadata":{"a":1}}\n\n`

function openTail(url: string, isTerminal = false, choices: object = {}) {
  const stop = new AbortController()
  const io = memoryIo({ signal: stop.signal, stdout: memoryOutput({ isTerminal }) })
  const pausesMs: number[] = []
  const client = new ServiceClient({ url, token: 't' }, io)
  const options = { source: 'edge_logs', query: 'a b', ...choices }
  const ended = tailSource(client, options, io, async (ms) => void pausesMs.push(ms))
  return { io, ended, stop: () => stop.abort(), pausesMs }
}

describe('logs tail', () => {
  test('resumes after a lost connection, and ends when it is stopped', async () => {
    const { url, requests } = await serve(
      (response) =>
        void response.end(`retry: 500\n\nid: 0\n\n${entry('1', 'one')}${entry('2', 'half').slice(0, 40)}`),
      (response) => void response.destroy(),
      refuse(408),
      (response) => void response.write(`event: missed\ndata: {"count":2}\n\n${entry('2', 'two')}`),
    )
    const { io, ended, stop, pausesMs } = openTail(url)
    await vi.waitFor(() => expect(io.stdout.text()).toContain('two'))
    stop()
    await ended
    const lines = io.stdout.text().trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).event_message)).toEqual(['one', 'two'])
    expect(io.stderr.text()).toBe(
      'The service ended the stream. Reconnecting.\nSkipped 2 entries that arrived faster than they were read.\n',
    )
    expect(requests.map(({ lastId }) => lastId)).toEqual([undefined, '1', '1', '1'])
    expect(requests[0]?.url).toBe('/api/sources/edge_logs/tail?query=a+b')
    expect(pausesMs).toEqual([500, 1_000, 2_000])
  })

  test('escapes control characters on a terminal', async () => {
    const { url } = await serve((response) => void response.write(entry('1', 'one\\u001b[2J')))
    const { io, ended, stop } = openTail(url, true)
    await vi.waitFor(() => expect(io.stdout.text()).not.toBe(''))
    stop()
    await ended
    expect(io.stdout.text()).toBe('2026-01-01T00:00:00.123Z  p\\u001b  one\\u001b[2J\n')
  })

  const stored = (id: string, message: string) =>
    `{"id":"${id}","timestamp":1767225600123456,"project":"p","event_message":"${message}","metadata":{"big":18446744073709551615}}`

  test('shows the newest entries first, and each entry once', async () => {
    const { url, requests } = await serve(
      (response) => void response.end(`${entry('1', 'two').replace('"x"', '"b"')}${entry('2', 'three')}`),
      (response) => void response.write(entry('3', 'four')),
    )
    respondToSearch = (response) => void response.end(`[\n${stored('b', 'two')},\n${stored('a', 'one')}\n]\n`)
    const { io, ended, stop } = openTail(url, false, { query: '', lines: 2 })
    await vi.waitFor(() => expect(io.stdout.text()).toContain('four'))
    stop()
    await ended
    const lines = io.stdout.text().trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).event_message)).toEqual(['one', 'two', 'three', 'four'])
    expect(lines[0]).toContain('18446744073709551615')
    expect(requests.map(({ lastId }) => lastId)).toEqual([undefined, '2'])
  })

  test('shows the newest entries after a failed attempt, and ends without the right to see them', async () => {
    const wait = (response: ServerResponse) => void response.write(': hello\n\n')
    const { url } = await serve(wait, wait)
    let searches = 0
    respondToSearch = (response) =>
      ++searches === 1 ? refuse(503)(response) : void response.end(`[\n${stored('a', 'one')}\n]\n`)
    const { io, ended, stop } = openTail(url, false, { lines: 1 })
    await vi.waitFor(() => expect(io.stdout.text()).toContain('one'))
    stop()
    await ended
    expect(io.stderr.text()).toBe('It is 503. (c) Reconnecting.\n')
    close()
    respondToSearch = refuse(403)
    const other = await serve(wait)
    await expect(openTail(other.url, false, { lines: 1 }).ended).rejects.toThrow('It is 403.')
  })

  test.each([401, 403, 404])('ends with the message of the service after status %i', async (status) => {
    const { url } = await serve(refuse(status))
    await expect(openTail(url).ended).rejects.toThrow(`It is ${status}.`)
  })

  test('ends if the service was never reached', async () => {
    const { url } = await serve()
    close()
    await expect(openTail(url).ended).rejects.toThrow('No service is listening')
  })
})

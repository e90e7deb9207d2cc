import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { memoryIo, memoryOutput } from '../../../test/support/memory-io.ts'
import { readEventStream } from '../logs/event-stream-reader.ts'
import { connect } from '../service-client.ts'
import { tailSource } from './logs-tail-command.ts'

let close = () => {}
afterEach(() => close())

/** An address that answers each request in turn as it is told. */
async function openAddress(...answers: ((response: ServerResponse) => void)[]) {
  const asked: { url: string; last: string | undefined }[] = []
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? '', last: request.headers['last-event-id'] as string | undefined })
    const answer = answers.shift()
    response.setHeader('Content-Type', 'text/event-stream')
    if (answer) answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

const entry = (id: string, message: string) =>
  `event: entry\nid: ${id}\ndata: {"id":"x","timestamp":1767225600123456,"project":"p\\u001b","event_message":"${message}","metadata":{"a":1}}\n\n`
const refuse = (status: number) => (response: ServerResponse) =>
  void response.writeHead(status).end(JSON.stringify({ error: { code: 'c', message: `It is ${status}.` } }))

function openTail(url: string, choices: { isTerminal?: boolean; json?: true } = {}) {
  const stop = new AbortController()
  const io = memoryIo({ signal: stop.signal, stdout: memoryOutput(choices) })
  const pausesMs: number[] = []
  const client = connect({ url, token: 't' }, io)
  const options = { source: 'edge_logs', text: 'a b', ...(choices.json && { json: choices.json }) }
  const over = tailSource(client, options, io, async (ms) => void pausesMs.push(ms))
  return { io, over, stop: () => stop.abort(), pausesMs }
}

describe('logs tail', () => {
  test('goes on where it was when the connection breaks, and ends when it is stopped', async () => {
    const { url, asked } = await openAddress(
      (response) =>
        void response.end(`retry: 500\n\nid: 0\n\n${entry('1', 'one')}${entry('2', 'half').slice(0, 40)}`),
      (response) => void response.destroy(),
      refuse(503),
      (response) => void response.write(`event: missed\ndata: {"count":2}\n\n${entry('2', 'two')}`),
    )
    const { io, over, stop, pausesMs } = openTail(url)
    await vi.waitFor(() => expect(io.stdout.text()).toContain('two'))
    stop()
    await over
    expect(
      io.stdout
        .text()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).event_message),
    ).toEqual(['one', 'two'])
    expect(io.stderr.text()).toBe(
      'The service ended the stream. Connecting again.\n2 entries came faster than they were read and are not shown.\n',
    )
    expect(asked.map(({ last }) => last)).toEqual([undefined, '1', '1', '1'])
    expect(asked[0]?.url).toBe('/api/sources/edge_logs/tail?text=a+b')
    expect(pausesMs).toEqual([500, 1_000, 2_000])
  })

  test('on a terminal an entry is a line that cannot steer it', async () => {
    const { url } = await openAddress((response) => void response.write(entry('1', 'one\\u001b[2J')))
    const { io, over, stop } = openTail(url, { isTerminal: true })
    await vi.waitFor(() => expect(io.stdout.text()).not.toBe(''))
    stop()
    await over
    expect(io.stdout.text()).toBe('2026-01-01T00:00:00.123Z  p\\u001b  one\\u001b[2J\n')
  })

  test.each([401, 403, 404])('an answer of %i ends it with what the service said', async (status) => {
    const { url } = await openAddress(refuse(status))
    await expect(openTail(url).over).rejects.toThrow(`It is ${status}.`)
  })

  test('a service that was never there ends it, too', async () => {
    const { url } = await openAddress()
    close()
    await expect(openTail(url).over).rejects.toThrow('Nothing answers')
  })

  test('events are read however they are divided', async () => {
    const text = ': hello\r\n\r\nevent: a\r\ndata: ü1\r\ndata:2\r\n\r\nid: 7\n\ndata: cut'
    const bytes = Buffer.from(text)
    for (const size of [1, 2, 3, 1000]) {
      const events: unknown[] = []
      async function* chunks() {
        for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size)
      }
      for await (const { event, id, data } of readEventStream(chunks())) events.push([event, id, data])
      expect(events).toEqual([
        ['', undefined, ''],
        ['a', undefined, 'ü1\n2'],
        ['', '7', ''],
      ])
    }
  })
})

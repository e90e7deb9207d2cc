import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { vi } from 'vitest'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies have many shapes.
  body: any
}

/** Undefined: the request gets no response. */
type Answer = { status: number; headers?: Record<string, string>; text?: string } | undefined

export interface Receiver {
  url: string
  /** Requests in the order of their arrival. */
  received: Received[]
  /** Of one path. */
  at(path: string): Received[]
  /** How requests to a path are answered from now on; 204 by default. */
  answer(path: string, answer: Answer): void
  /** Closes the connections whose requests got no response. */
  drop(): void
  /** Waits until a path has received this many requests. */
  until(path: string, count: number): Promise<Received[]>
  close(): Promise<void>
}

/** A receiver of webhooks. */
export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const answers = new Map<string, Answer>()
  const respond = (path: string, response: ServerResponse) => {
    const answer = answers.has(path) ? answers.get(path) : { status: 204 }
    if (answer) response.writeHead(answer.status, answer.headers).end(answer.text)
  }
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const path = request.url ?? ''
      received.push({ path, headers: request.headers, text, body: JSON.parse(text) })
      respond(path, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = (path: string) => received.filter((each) => each.path === path)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    at,
    answer: (path, answer) => void answers.set(path, answer),
    drop: () => server.closeAllConnections(),
    until: (path, count) =>
      vi.waitFor(
        () => {
          const got = at(path)
          if (got.length < count) throw new Error(`${path} received ${got.length} of ${count} requests.`)
          return got
        },
        { interval: 20 },
      ),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

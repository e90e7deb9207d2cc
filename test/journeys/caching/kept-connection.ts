import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Answer } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

/** Calls that go over one connection, one after the other, and so look the same every time. */
export class KeptConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor({ url }: RunningService, headers: Record<string, string>) {
    this.#url = url
    this.#headers = headers
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { agent: this.#agent, headers: { ...this.#headers, ...headers } }
      request(this.#url + path, options, resolve)
        .on('error', reject)
        .end()
    })
    const told = Object.entries(answer.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    const body = await text(answer)
    return {
      status: answer.statusCode ?? 0,
      headers: new Headers(told),
      body: body === '' ? body : JSON.parse(body),
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

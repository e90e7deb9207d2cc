import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { JsonResponse } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

/** Sends requests one after the other over one connection. */
export class KeptConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor({ url }: RunningService, headers: Record<string, string>) {
    this.#url = url
    this.#headers = headers
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<JsonResponse> {
    const sent = request(this.#url + path, { agent: this.#agent, headers: { ...this.#headers, ...headers } })
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage]
    const body = await text(response)
    return {
      status: response.statusCode ?? 0,
      headers: new Headers(response.headers as Record<string, string>),
      body: body === '' ? body : JSON.parse(body),
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

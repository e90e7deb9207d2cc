import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js'

/**
 * Carries the requests of one HTTP request to a server, and collects their responses. The SDK's own transport makes streams and
 * web requests, which takes five times as long.
 */
export class RequestTransport implements Transport {
  onmessage: Transport['onmessage']
  onclose: Transport['onclose']
  onerror: Transport['onerror']
  readonly #requests: readonly JSONRPCRequest[]
  readonly #responses: JSONRPCMessage[] = []
  #finish: (responses: readonly JSONRPCMessage[]) => void = () => {}

  constructor(requests: readonly JSONRPCRequest[]) {
    this.#requests = requests
  }

  async start(): Promise<void> {}

  async close(): Promise<void> {
    this.onclose?.()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    // The server sends nothing else, since no client could respond.
    if (!('result' in message) && !('error' in message)) return
    this.#responses.push(message)
    if (this.#responses.length === this.#requests.length) this.#finish(this.#responses)
  }

  /** The response to each request, in the order in which they are ready. */
  exchange(): Promise<readonly JSONRPCMessage[]> {
    return new Promise((resolve) => {
      this.#finish = resolve
      for (const request of this.#requests) this.onmessage?.(request)
    })
  }
}

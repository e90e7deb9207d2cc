import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'

export interface HttpResponse {
  /** 0 if the connection ended without a response. */
  status: number
  headers: IncomingHttpHeaders
  text: string
  ms: number
}

export interface HttpRequest {
  method?: string
  path: string
  token?: string
  body?: string | Buffer
  headers?: OutgoingHttpHeaders
  signal?: AbortSignal
}

/** An HTTP client with many keep-alive connections. */
export class HttpClient {
  readonly #url: URL
  readonly #agent: Agent

  constructor(url: string, maxSockets: number) {
    this.#url = new URL(url)
    this.#agent = new Agent({ keepAlive: true, maxSockets, scheduling: 'lifo' })
  }

  send({ method, path, token, body, headers, signal }: HttpRequest): Promise<HttpResponse> {
    const since = performance.now()
    return new Promise((resolve) => {
      const done = (status: number, received: IncomingHttpHeaders, text: string) =>
        resolve({ status, headers: received, text, ms: performance.now() - since })
      const sent = request(
        {
          host: this.#url.hostname,
          port: this.#url.port,
          agent: this.#agent,
          method: method ?? (body === undefined ? 'GET' : 'POST'),
          path,
          headers: {
            ...(token !== undefined && { 'X-API-KEY': token }),
            ...(body !== undefined && {
              'Content-Type': 'application/json',
              'Content-Length': Buffer.byteLength(body),
            }),
            ...headers,
          },
          ...(signal && { signal }),
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk) => chunks.push(chunk))
          response.on('error', () => done(0, {}, ''))
          response.on('end', () =>
            done(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString()),
          )
        },
      )
      sent.on('error', () => done(0, {}, ''))
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

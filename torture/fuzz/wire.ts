import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface WireResponse {
  status: number
  /** By lowercase name. */
  headers: ReadonlyMap<string, string>
  body: Buffer
  /** Whether it is an event stream. The connection is then closed after the headers. */
  endless: boolean
}

/** A response, a connection closed without one, or nothing in time. */
export type Outcome = WireResponse | 'closed' | 'silent'

/** A TCP connection for arbitrary bytes, including ones that no HTTP client would send. */
export class Wire {
  readonly socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #closed = false
  #changed: () => void = () => {}

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#changed()
    })
    // A reset connection is an outcome, not an error of the test.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      this.#changed()
    })
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const wire = new Wire(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
    return wire
  }

  get closed(): boolean {
    return this.#closed
  }

  write(bytes: Buffer | string): void {
    if (!this.socket.destroyed) this.socket.write(bytes)
  }

  /** The next response on this connection. */
  async nextResponse(patienceMs: number, toHead = false): Promise<Outcome> {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#changed()
    }, patienceMs)
    try {
      for (;;) {
        const response = this.#take(toHead)
        if (response) return response
        if (this.#closed) return 'closed'
        if (late) return 'silent'
        await new Promise<void>((resolve) => {
          this.#changed = resolve
        })
      }
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.socket.destroy()
  }

  #take(toHead: boolean): WireResponse | undefined {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const [line = '', ...lines] = this.#received.toString('latin1', 0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1] ?? 0)
    const rest = this.#received.subarray(end + 4)
    if (status >= 100 && status < 200) {
      this.#received = rest
      return this.#take(toHead)
    }
    const headers = new Map(
      lines.map((text) => {
        const colon = text.indexOf(':')
        return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()] as const
      }),
    )
    if (headers.get('content-type')?.startsWith('text/event-stream')) {
      this.close()
      return { status, headers, body: Buffer.alloc(0), endless: true }
    }
    const read = bodyOf(rest, status, headers, toHead, this.#closed)
    if (!read) return undefined
    this.#received = rest.subarray(read.length)
    return { status, headers, body: read.body, endless: false }
  }
}

/** The body and its size on the wire, or undefined if it is incomplete. */
function bodyOf(
  bytes: Buffer,
  status: number,
  headers: ReadonlyMap<string, string>,
  toHead: boolean,
  closed: boolean,
): { body: Buffer; length: number } | undefined {
  if (toHead || status === 204 || status === 304) return { body: Buffer.alloc(0), length: 0 }
  if (headers.get('transfer-encoding') === 'chunked') return chunkedBody(bytes)
  const sent = headers.get('content-length')
  if (sent === undefined) return closed ? { body: bytes, length: bytes.length } : undefined
  const length = Number(sent)
  return bytes.length < length ? undefined : { body: bytes.subarray(0, length), length }
}

function chunkedBody(bytes: Buffer): { body: Buffer; length: number } | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const end = lineEnd + 2 + length + 2
    if (bytes.length < end) return undefined
    if (length === 0) return { body: Buffer.concat(chunks), length: end }
    chunks.push(bytes.subarray(lineEnd + 2, end - 2))
    at = end
  }
}

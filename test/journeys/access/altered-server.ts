import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

interface Alteration {
  version: string
  /** A setting that the server ignores. */
  ignores?: string
}

/** Stands before a ClickHouse server, and makes it one of another version that ignores a setting. */
export async function openAlteredServer(url: string, first: Alteration) {
  let { version, ignores } = first
  const { hostname, port } = new URL(url)
  const forward = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const sent = await buffer(incoming)
    const address = new URL(incoming.url ?? '/', url)
    if (ignores !== undefined) address.searchParams.delete(ignores)
    const asksVersion = sent.includes('SELECT version()')
    const body = asksVersion ? Buffer.from(`${sent}`.replace('version()', `'${version}'`)) : sent
    const { 'transfer-encoding': _, ...headers } = incoming.headers
    const path = address.pathname + address.search
    // No agent: a kept connection may be closed when it is used again.
    const forwarded = request(
      {
        hostname,
        agent: false,
        port,
        path,
        method: incoming.method,
        headers: { ...headers, 'content-length': body.length },
      },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 500, response.headers)
        response.pipe(outgoing)
      },
    )
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    forwarded.end(body)
  }
  const server = createServer({ maxHeaderSize: 2 ** 20 }, (incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const listen = async (at: number) => void (await once(server.listen(at, '127.0.0.1'), 'listening'))
  await listen(0)
  const { port: own } = server.address() as AddressInfo
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  return {
    url: `http://127.0.0.1:${own}`,
    stop,
    startAs: (next: Alteration) => {
      ;({ version, ignores } = next)
      return listen(own)
    },
  }
}

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { socketPathFor } from '../../src/engine/embedded-engine.ts'

export interface EnginePort {
  /** With user and password. */
  url: string
  close(): Promise<void>
}

/** Makes the socket of an engine process available on a port with a password, like a ClickHouse server. */
export async function openEnginePort(
  socketPath: string,
  { user, password }: { user: string; password: string },
): Promise<EnginePort> {
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const server = createServer({ maxHeaderSize: 2 ** 20 }, (incoming, outgoing) => {
    const { url: path, method, headers } = incoming
    if (headers.authorization !== expected) {
      incoming.resume()
      outgoing.writeHead(401, { 'X-ClickHouse-Exception-Code': '516' })
      outgoing.end('Code: 516. DB::Exception: Password is incorrect. (AUTHENTICATION_FAILED)\n')
      return
    }
    const forwarded = request({ socketPath, path, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const login = [user, password].map(encodeURIComponent).join(':')
  return {
    url: `http://${login}@127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Runs SQL on the engine of a running service, past the service. */
export function askEngine(dataDir: string, sql: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: socketPathFor(dataDir), method: 'POST', path: '/' }, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(answer)
        else reject(new Error(`${sql}: ${answer}`))
      }, reject)
    })
    asked.on('error', reject)
    asked.end(sql)
  })
}

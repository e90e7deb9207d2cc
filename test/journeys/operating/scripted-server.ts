import { once } from 'node:events'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

/** Text, or an exception as ClickHouse sends it. */
export type Response = string | { code: number; text: string } | { status: number; body: string }

/** Where a script returns undefined, the server behind it responds, or a healthy ClickHouse 25.3. */
export type Script = (sql: string, parameters: URLSearchParams) => Response | undefined

function healthy(sql: string): string {
  if (sql === 'SELECT version()') return '25.3.14.14\n'
  if (/^SELECT getSetting/.test(sql)) return '0\n'
  if (/system\.databases/.test(sql)) return ''
  if (/^(?:CHECK GRANT|EXISTS DATABASE)/.test(sql)) return '1\n'
  if (sql.includes('system.clusters')) return 'main\n'
  return '0\n'
}

/** A small HTTP server that responds as ClickHouse does, on a loopback port. */
export async function openScriptedServer(
  script: Script,
  { tls, behind }: { tls?: { key: string; cert: string }; behind?: string } = {},
): Promise<{ url: string; close(): void }> {
  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const sent = Buffer.concat(chunks)
    const { searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    const scripted = script(searchParams.get('query') ?? sent.toString(), searchParams)
    if (scripted === undefined && behind !== undefined) {
      const { method, headers, url: path } = request
      const forwarded = forward(behind + path, { method, headers }, (reply) => {
        response.writeHead(reply.statusCode ?? 500, reply.headers)
        reply.pipe(response)
      })
      forwarded.on('error', () => response.destroy())
      forwarded.end(sent)
      return
    }
    const { status, headers, body } = formOf(scripted ?? healthy(sent.toString()))
    response.writeHead(status, headers).end(body)
  }
  const server = tls ? createTlsServer(tls, onRequest) : createServer(onRequest)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http${tls ? 's' : ''}://127.0.0.1:${port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const statusOf: Record<number, number> = { 516: 403, 194: 403, 497: 403 }

function formOf(response: Response): { status: number; headers: Record<string, string>; body: string } {
  if (typeof response === 'string') return { status: 200, headers: {}, body: response }
  if ('status' in response)
    return { status: response.status, headers: { 'Content-Type': 'text/html' }, body: response.body }
  const { code, text } = response
  return {
    status: statusOf[code] ?? 500,
    headers: { 'X-ClickHouse-Exception-Code': String(code) },
    body: `Code: ${code}. DB::Exception: ${text} (version 25.3.14.14 (official build))\n`,
  }
}

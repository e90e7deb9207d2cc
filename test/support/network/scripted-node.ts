import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { isolationSettings } from '../../../src/core/sql/isolation.ts'

export type Reply = (response: ServerResponse, request: IncomingMessage) => void

/** Speaks as much of ClickHouse's HTTP interface as a node needs to become ready. */
export async function openNode(reply: Reply, { version = '25.3.1.1', lacks = '' } = {}) {
  const node = { url: '', version, received: [] as string[], reply, ping, hasTables: true }
  const settings = Object.keys(isolationSettings).filter((name) => name !== lacks)
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://node')
    if (pathname === '/ping') return node.ping(response, request)
    if (node.version === 'wrong password') return exception(516)(response, request)
    const known = settings.map((name) => JSON.stringify({ name })).join('\n')
    const answers: [RegExp, string][] = [
      [/SELECT version\(\)/, node.version],
      [/getSetting\('readonly'\)/, '0'],
      [/EXISTS DATABASE|CHECK GRANT|system\.databases|clusterAllReplicas/, '1'],
      [/system\.clusters/, 'main'],
      [/system\.tables/, node.hasTables ? '1' : '0'],
      [/system\.settings/, known],
    ]
    const answer = answers.find(([statement]) => statement.test(body))
    if (answer) return void response.end(answer[1])
    node.received.push(`${searchParams.get('query') ?? body} ${searchParams}`)
    node.reply(response, request)
  })
  const open = async (port = 0) => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const close = async () => {
    server.closeAllConnections()
    if (server.listening) await once(server.close(), 'close')
  }
  await open()
  onTestFinished(close)
  return Object.assign(node, { close, reopen: () => open(Number(new URL(node.url).port)) })
}

const ping: Reply = (response) => response.end('Ok.\n')
export const ok: Reply = (response) => response.end('1\n')
export const reset: Reply = (response) => response.destroy()
export const hang: Reply = () => {}
export const breakOff: Reply = (response) => {
  response.write('half')
  setImmediate(() => response.destroy())
}
export const exception =
  (code: number): Reply =>
  (response) =>
    response
      .writeHead(500, { 'X-ClickHouse-Exception-Code': code })
      .end(`Code: ${code}. DB::Exception: No. (NO)`)

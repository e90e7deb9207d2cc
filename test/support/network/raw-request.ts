import { connect } from 'node:net'
import type { RunningService } from '../service.ts'

/** Sends arbitrary bytes and returns everything received until the connection closes. */
export function rawRequest({ url }: RunningService, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    // A reset connection ends the response.
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

/** Sends a raw request without a body and returns the status, or 0 if there is no response. */
export async function rawStatus(
  service: RunningService,
  line: string,
  headers: readonly string[] = [],
): Promise<number> {
  const lines = [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, '', '']
  const answer = await rawRequest(service, lines.join('\r\n'))
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)
}

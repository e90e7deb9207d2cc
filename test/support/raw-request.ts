import { connect } from 'node:net'
import type { RunningService } from './service.ts'

/** Writes these very bytes, which no HTTP client would, and gives what comes back until the connection is closed. */
export function rawRequest({ url }: RunningService, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    // Being cut off is an answer, too.
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

/** A request without a body, written by hand, and the status of its answer; 0 where there is none. */
export async function rawStatus(
  service: RunningService,
  line: string,
  headers: readonly string[] = [],
): Promise<number> {
  const lines = [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, '', '']
  const answer = await rawRequest(service, lines.join('\r\n'))
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)
}

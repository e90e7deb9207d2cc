import { connect } from 'node:net'

/**
 * Sends pieces over one connection, each after a response to the previous one, and returns everything that the server
 * sends until it closes the connection. Each character is a byte.
 */
export function conversation(url: string, pieces: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    let sent = 0
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(pieces[sent++] ?? ''))
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      received += text
      if (statusesOf(received).length >= sent && sent < pieces.length) socket.write(pieces[sent++] ?? '')
    })
    // A reset also ends the conversation.
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
  })
}

export function statusesOf(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

/** Splits responses that have a Content-Length. */
export function responsesOf(received: string): { head: string; body: string }[] {
  const responses: { head: string; body: string }[] = []
  for (let at = 0; at < received.length; ) {
    const start = received.indexOf('\r\n\r\n', at) + 4
    const head = received.slice(at, start)
    at = start + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    responses.push({ head, body: Buffer.from(received.slice(start, at), 'latin1').toString() })
  }
  return responses
}

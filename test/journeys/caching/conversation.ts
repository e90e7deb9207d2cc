import { connect } from 'node:net'

/**
 * Sends pieces over one connection, each after a response to the one before it, and returns the statuses of all responses
 * until the server closes the connection.
 */
export function conversation(url: string, pieces: readonly string[]): Promise<number[]> {
  return new Promise((resolve) => {
    let received = ''
    let sent = 0
    const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(pieces[sent++] ?? ''))
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      received += text
      if (statuses().length >= sent && sent < pieces.length) socket.write(pieces[sent++] ?? '')
    })
    // A reset is an end, too.
    socket.on('error', () => {})
    socket.on('close', () => resolve(statuses()))
  })
}

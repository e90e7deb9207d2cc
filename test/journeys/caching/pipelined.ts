import { connect } from 'node:net'

/** Sends all requests at once over one connection and reads as many answers, whose lengths must be told. */
export function pipelined(
  url: string,
  paths: readonly string[],
  headers: Record<string, string>,
): Promise<{ head: string; body: string }[]> {
  const { hostname, port, host } = new URL(url)
  const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const sent = paths.map((path) => `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`).join('')
  return new Promise((resolve, reject) => {
    let held = Buffer.alloc(0)
    const answers: { head: string; body: string }[] = []
    const socket = connect(Number(port), hostname, () => socket.write(sent))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`The connection ended after ${answers.length} answers.`)))
    socket.on('data', (chunk) => {
      held = Buffer.concat([held, chunk])
      for (;;) {
        const end = held.indexOf('\r\n\r\n')
        if (end < 0) return
        const head = held.toString('latin1', 0, end)
        const from = end + 4
        const to = from + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
        if (held.length < to) return
        answers.push({ head, body: held.toString('utf8', from, to) })
        held = held.subarray(to)
        if (answers.length < paths.length) continue
        socket.removeAllListeners('close').destroy()
        resolve(answers)
      }
    })
  })
}

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Relay {
  url: string
  /** Drops all connections and refuses new ones. */
  cut(): Promise<void>
  mend(): Promise<void>
}

/** A TCP relay whose connections can be cut. */
export async function openRelay(toPort: number, toHost = '127.0.0.1'): Promise<Relay> {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }
  const server = createServer((near) => {
    const far = keep(connect(toPort, toHost))
    keep(near).pipe(far).pipe(near)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    cut: async () => {
      const closed = server.listening ? once(server.close(), 'close') : undefined
      for (const socket of sockets) socket.destroy()
      await closed
    },
    mend: async () => {
      await once(server.listen(port, '127.0.0.1'), 'listening')
    },
  }
}

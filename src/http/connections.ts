import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface ConnectionLimits {
  /** Further connections are closed immediately. */
  maxConnections: number
  /** Time to receive the headers of a request. */
  headersWithinMs: number
  /** A client that reads nothing for this long is disconnected. */
  stalledAfterMs: number
}

/** Connections other than event streams, and file descriptors reserved for the engine and the disk. */
const bounds = { connections: 10_000, reservedFiles: 256, atLeast: 64 } as const

/** Maximum number of connections that leaves enough file descriptors for everything else. */
export function maxConnections(maxStreams: number, openFiles = openFileLimit() ?? Infinity): number {
  return Math.max(bounds.atLeast, Math.min(bounds.connections + maxStreams, openFiles - bounds.reservedFiles))
}

/** Maximum number of open files and connections of this process; undefined if the system does not report it. */
function openFileLimit(): number | undefined {
  try {
    const limit = /^Max open files {1,99}(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/** Applies limits that the framework has no options for. */
export function boundConnections(server: Server, limits: ConnectionLimits): void {
  server.maxConnections = limits.maxConnections
  server.headersTimeout = limits.headersWithinMs
  server.setTimeout(limits.stalledAfterMs, closeUnlessResponding)
  // Ignores unknown expectations, as RFC 9110 allows; Node's own response is not in our error format.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  )
}

const pollEveryMs = 20

/**
 * Waits for responses that are written but not sent: Node considers their connections idle and cuts them off when the
 * server closes. The wait is short, because the next process needs the port.
 */
export function sendsBeforeClosing(server: Server, withinMs: number): () => Promise<void> {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return async () => {
    const until = performance.now() + withinMs
    const isUnsent = ({ writableLength }: Socket) => writableLength > 0
    while ([...open].some(isUnsent) && performance.now() < until) await delay(pollEveryMs)
  }
}

/** Closes an idle connection unless its response is being computed. */
function closeUnlessResponding(socket: Socket): void {
  if (!responseOf(socket) || socket.writableLength > 0) socket.destroy()
}

/**
 * Whether an earlier response is still pending on the connection. Anything written now would be read as that response, so
 * the connection ends with it.
 */
export function endsWithResponse(socket: Socket): boolean {
  const response = responseOf(socket)
  if (!response || !(response.headersSent || response.req.complete)) return false
  response.shouldKeepAlive = false
  // A response that has started may never end.
  if (response.headersSent) socket.destroy()
  return true
}

/** The pending response of a connection. */
function responseOf(socket: Socket): ServerResponse | undefined {
  // Node has no public name for it; its own handler of malformed requests uses it, too.
  const { _httpMessage: response } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return response && !response.writableFinished ? response : undefined
}

import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { queryCancelled } from '../base/errors.ts'

export interface ConnectionLimits {
  maxConnections: number
  headersWithinMs: number
  stalledAfterMs: number
}

/** Connections other than event streams, and file descriptors reserved for the engine and the disk. */
const bounds = { connections: 10_000, reservedFiles: 256, atLeast: 64 } as const

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
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    uninvited.set(response, response.shouldKeepAlive)
    // Whether a body follows a refusal, only the client knows.
    response.shouldKeepAlive = false
    server.emit('request', request, response)
  })
}

/** Responses to clients that wait before they send the body (`Expect: 100-continue`), and whether they can be kept alive. */
const uninvited = new WeakMap<ServerResponse, boolean>()

/** Tells a waiting client to send the body. Node would do so before the token is checked. */
export function inviteBody(response: ServerResponse): void {
  const keepAlive = uninvited.get(response)
  if (keepAlive === undefined) return
  response.shouldKeepAlive = keepAlive
  response.writeContinue()
}

/** Aborted when the caller disconnects before the response ends. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(queryCancelled())
  })
  return gone.signal
}

const pollEveryMs = 20

/** Waits briefly for responses that are written but not sent: Node considers their connections idle and cuts them off. */
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

function closeUnlessResponding(socket: Socket): void {
  if (!responseOf(socket) || socket.writableLength > 0) socket.destroy()
}

/** Whether an earlier response is pending: anything written now would be read as that response, so the connection ends with it. */
export function endsWithResponse(socket: Socket): boolean {
  const response = responseOf(socket)
  if (!response || !(response.headersSent || response.req.complete)) return false
  response.shouldKeepAlive = false
  // A response that has started may never end.
  if (response.headersSent) socket.destroy()
  return true
}

function responseOf(socket: Socket): ServerResponse | undefined {
  // Node has no public name for it; its own handler of malformed requests uses it, too.
  const { _httpMessage: response } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return response && !response.writableFinished ? response : undefined
}

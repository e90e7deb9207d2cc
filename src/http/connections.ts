import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { openFileLimit } from './open-file-limit.ts'

export interface ConnectionLimits {
  /** So many are open at once; whoever comes then is sent away at once. */
  maxConnections: number
  /** The headers of a request arrive within so long, also the first of a connection. */
  headersWithinMs: number
  /** A reader that takes nothing for so long of what is there for it is given up. */
  stalledAfterMs: number
}

/** Beside streams of events, and files that are left for everything else. */
const beside = { connections: 10_000, files: 256, atLeast: 64 } as const

/** As many as can be open without taking what the engine and the disk need. */
export function maxConnections(maxStreams: number, openFiles = openFileLimit() ?? Infinity): number {
  return Math.max(beside.atLeast, Math.min(beside.connections + maxStreams, openFiles - beside.files))
}

/** Bounds on connections that the framework has no words for. */
export function boundConnections(server: Server, limits: ConnectionLimits): void {
  server.maxConnections = limits.maxConnections
  server.headersTimeout = limits.headersWithinMs
  server.setTimeout(limits.stalledAfterMs, closeUnlessWorkedFor)
  // What is expected beyond 100-continue is passed over, as RFC 9110 allows; Node's own answer would have no shape.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  )
}

/** How often it is looked whether everything was sent. */
const lookEveryMs = 20

/**
 * Gives answers that are written, and not sent yet, a moment: to Node their connections are idle, and it cuts them off when
 * the server closes. No longer, since whoever wants the port next waits for it.
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
    while ([...open].some(isUnsent) && performance.now() < until) await delay(lookEveryMs)
  }
}

/** Nothing went through the connection for as long as may be: it is kept only for an answer that is being made. */
function closeUnlessWorkedFor(socket: Socket): void {
  if (!answerOf(socket) || socket.writableLength > 0) socket.destroy()
}

/**
 * Whether a connection ends with an answer that was asked for before. What else would be written now would be taken
 * for that answer, or for a part of it.
 */
export function endsWithAnswer(socket: Socket): boolean {
  const answer = answerOf(socket)
  if (!answer || !(answer.headersSent || answer.req.complete)) return false
  answer.shouldKeepAlive = false
  // One that has begun may never end by itself.
  if (answer.headersSent) socket.destroy()
  return true
}

/** The answer that is being made for this connection. */
function answerOf(socket: Socket): ServerResponse | undefined {
  // Node has no public name for it; its own handler of broken requests looks here, too.
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return answer && !answer.writableFinished ? answer : undefined
}

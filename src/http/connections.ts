import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  /** So many are open at once; whoever comes then is sent away at once. */
  maxConnections: number
  /** The headers of a request arrive within so long, also the first of a connection. */
  headersWithinMs: number
  /** A reader that takes nothing for so long of what is there for it is given up. */
  stalledAfterMs: number
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

/** Nothing went through the connection for as long as may be: it is kept only for an answer that is being made. */
function closeUnlessWorkedFor(socket: Socket): void {
  if (!answerOf(socket) || socket.writableLength > 0) socket.destroy()
}

/** Whether whatever is written to the connection now would be taken for the answer to another request, or for a part of it. */
export function answersAnother(socket: Socket): boolean {
  const answer = answerOf(socket)
  return answer !== undefined && (answer.headersSent || answer.req.complete)
}

/** The answer that is being made for this connection. */
function answerOf(socket: Socket): ServerResponse | undefined {
  // Node has no public name for it; its own handler of broken requests looks here, too.
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return answer && !answer.writableFinished ? answer : undefined
}

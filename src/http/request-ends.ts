import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { queryCancelled } from '../base/errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether listeners were told that it ended. */
    isOver: boolean
    /** Whether the response is an event stream, which the client closes at any time. */
    isStream: boolean
  }
}

type RequestEnd = (request: FastifyRequest, reply: FastifyReply, status: number) => void

/**
 * Reports the end of every request once. The framework reports sent responses only, so this also listens to the connection:
 * a canceled request counts, too.
 */
export class RequestEnds {
  readonly #listeners: RequestEnd[] = []

  constructor(server: FastifyInstance) {
    server.decorateRequest('isOver', false)
    server.decorateRequest('isStream', false)
    server.addHook('onRequest', (request, reply, done) => {
      reply.raw.once('close', () =>
        this.#report(request, reply, request.isStream ? reply.statusCode : queryCancelled.status),
      )
      done()
    })
    server.addHook('onResponse', (request, reply, done) => {
      this.#report(request, reply, reply.statusCode)
      done()
    })
  }

  onEnd(listener: RequestEnd): void {
    this.#listeners.push(listener)
  }

  #report(request: FastifyRequest, reply: FastifyReply, status: number): void {
    if (request.isOver) return
    request.isOver = true
    for (const listener of this.#listeners) listener(request, reply, status)
  }
}

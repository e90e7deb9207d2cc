import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { queryCancelled } from '../base/errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether its end was told. */
    isOver: boolean
    /** Whether its answer lasts until its reader has enough; that it is closed is no failure. */
    isStream: boolean
  }
}

export type RequestEnd = (request: FastifyRequest, reply: FastifyReply, status: number) => void

/**
 * Tells the end of every request once. The framework tells of answers that were given and of no others, so the connection
 * is listened to as well: a caller who leaves has cost something, too.
 */
export class RequestEnds {
  readonly #listeners: RequestEnd[] = []

  constructor(server: FastifyInstance) {
    server.decorateRequest('isOver', false)
    server.decorateRequest('isStream', false)
    server.addHook('onRequest', (request, reply, done) => {
      reply.raw.once('close', () =>
        this.#tell(request, reply, request.isStream ? reply.statusCode : queryCancelled.status),
      )
      done()
    })
    server.addHook('onResponse', (request, reply, done) => {
      this.#tell(request, reply, reply.statusCode)
      done()
    })
  }

  onEnd(listener: RequestEnd): void {
    this.#listeners.push(listener)
  }

  #tell(request: FastifyRequest, reply: FastifyReply, status: number): void {
    if (request.isOver) return
    request.isOver = true
    for (const listener of this.#listeners) listener(request, reply, status)
  }
}

import type { FastifyRequest } from 'fastify'

/** Of the address as it was written, without what is asked for behind it: that may hold values. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] as string
}

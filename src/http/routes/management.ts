import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidParameter } from '../../base/errors.ts'

/** Who changes something, as the catalog writes it down. */
export function changedBy(request: FastifyRequest): string {
  return request.caller?.id ?? ''
}

/** The version that the caller believes to be the newest; undefined where any will do. */
export function expectedVersion(request: FastifyRequest): number | undefined {
  const given = request.headers['if-match']
  if (given === undefined || given.trim() === '*') return undefined
  const version = /^(?:W\/)?"(\d{1,9})"$/.exec(given.trim())?.[1]
  if (version === undefined) {
    throw invalidParameter('If-Match', 'If-Match must be one version in quotes, such as "3".')
  }
  return Number(version)
}

/** The version goes along, for the next If-Match. */
export function withVersion<T extends { version: number }>(reply: FastifyReply, thing: T): T {
  reply.header('ETag', `"${thing.version}"`)
  return thing
}

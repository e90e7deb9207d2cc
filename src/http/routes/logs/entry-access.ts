import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, withFixedParameters } from '../../../access/caller.ts'
import { forbidden } from '../../../base/errors.ts'
import type { EntryReader } from '../../../sources/log-search.ts'
import { goneSignal } from '../management.ts'

/**
 * Whether the caller may read entries. Without a project, nothing would limit which tenants' entries the token sees. Only the
 * SQL of endpoints enforces other fixed parameters, such as a user or how far back a customer reads.
 */
export function mayReadEntries(caller: Caller): boolean {
  return caller.isAdmin || (caller.project !== undefined && mayQueryAll(caller))
}

/** Whether the token has the whole scope `query`, limited by nothing but its project. */
export function mayQueryAll(caller: Caller): boolean {
  return caller.mayQuery('') && Object.keys(caller.parameters).every((name) => name === 'project')
}

/** The only project whose entries the request may read; undefined for all. Throws 403 for any other project. */
export function readableProject(request: FastifyRequest, wanted: unknown): string | undefined {
  const caller = request.caller as Caller
  if (!mayReadEntries(caller)) {
    throw forbidden(
      'This requires a token with the scope admin, or with a project, the scope query and no fixed parameters.',
    )
  }
  return withFixedParameters(caller, typeof wanted === 'string' ? { project: wanted } : {}).project
}

export function entryReader(request: FastifyRequest, reply: FastifyReply): EntryReader {
  const { project: wanted } = (request.body ?? {}) as { project?: unknown }
  readableProject(request, wanted)
  const { id, project } = request.caller as Caller
  return { id, project, signal: goneSignal(request, reply) }
}

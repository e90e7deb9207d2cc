import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, readableProject } from '../../core/access/caller.ts'
import { goneSignal } from '../../core/http/connections.ts'
import type { EntryReader } from './entry-queries.ts'

export function entryReader(request: FastifyRequest, reply: FastifyReply): EntryReader {
  const caller = request.caller as Caller
  const { project: wanted } = (request.body ?? {}) as { project?: unknown }
  readableProject(caller, wanted)
  return readerOf(caller, goneSignal(reply))
}

/** Who reads entries when the caller does. */
export function readerOf(caller: Caller, signal: AbortSignal): EntryReader {
  const { id, project, retentionDays, isAdmin, maySearch, mayReadSource } = caller
  return { id, project, retentionDays, isAdmin, maySearch, mayReadSource, signal }
}

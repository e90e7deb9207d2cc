import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, readableProject } from '../../core/access/caller.ts'
import { type EntryReader, readerOf } from '../../core/access/entry-reader.ts'
import { goneSignal } from '../../core/http/connections.ts'

export function entryReader(request: FastifyRequest, reply: FastifyReply): EntryReader {
  const caller = request.caller as Caller
  const { project: wanted } = (request.body ?? {}) as { project?: unknown }
  readableProject(caller, wanted)
  return readerOf(caller, goneSignal(reply))
}

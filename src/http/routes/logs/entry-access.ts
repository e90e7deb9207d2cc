import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, withFixedParameters } from '../../../access/caller.ts'
import { forbidden } from '../../../base/errors.ts'
import type { Source } from '../../../catalog/source.ts'
import type { EntryReader } from '../../../sources/entry-queries.ts'
import type { SourceInfo } from '../../../sources/source-info.ts'
import { auditRefusal, auditSource } from '../../../sql/audit-source.ts'
import { goneSignal } from '../management.ts'

/** The only project whose entries the caller may read now; undefined for all. Throws 403 for a project of others. */
export function readableProject(caller: Caller, wanted: unknown): string | undefined {
  return withFixedParameters(caller, typeof wanted === 'string' ? { project: wanted } : {}).project
}

/** Throws 403 for the audit, unless the caller is an admin. */
export function refuseAudit(caller: Caller | undefined, isAudit: boolean): void {
  if (isAudit && !caller?.isAdmin) throw forbidden(auditRefusal)
}

/** The sources whose entries the caller may read. */
export function searchedSources(sources: Pick<SourceInfo, 'list'>, { isAdmin }: Caller): Source[] {
  return sources.list().filter(({ name }) => isAdmin || name !== auditSource)
}

export function entryReader(request: FastifyRequest, reply: FastifyReply): EntryReader {
  const caller = request.caller as Caller
  const { project: wanted } = (request.body ?? {}) as { project?: unknown }
  readableProject(caller, wanted)
  return {
    id: caller.id,
    project: caller.project,
    isAdmin: caller.isAdmin,
    signal: goneSignal(request, reply),
  }
}

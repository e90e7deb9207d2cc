import { auditSource } from '../../core/catalog/reserved-sources.ts'
import type { Core } from '../../core.ts'
import { Audit } from './audit.ts'

export type OpenAudit = Awaited<ReturnType<typeof openAudit>>

export async function openAudit({ catalog, engine, time, log, settings, tokens, sources, appendTo }: Core) {
  const audit = new Audit({
    catalog,
    engine,
    clock: time.wall,
    log,
    after: time.after,
    dataDir: settings.dataDir,
    actorOf: (id) => tokens.actorOf(id),
    store: appendTo(auditSource),
    retentionDays: () => sources.get(auditSource).retention_days,
  })
  return {
    audit,
    start: () => audit.open(),
    stop: () => audit.stop(),
  }
}

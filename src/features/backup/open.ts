import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { audit as auditFeature } from '../audit/index.ts'
import { Backups } from './backups.ts'
import { addBackupRoutes } from './routes.ts'

const stalledAfterMs = 300_000

export type OpenBackup = Awaited<ReturnType<typeof openBackup>>

export async function openBackup(core: Core) {
  const { engine, catalog, time, log, shared, settings, gate, hooks } = core
  const { audit } = core.feature(auditFeature)
  const backups = new Backups({
    ...{ engine, catalog, log, stalledAfterMs },
    clock: time.wall,
    async atRest(work) {
      const release = await gate.hold('all')
      try {
        // A backup without the counts of the last second is better than none.
        for (const flush of hooks.flushCounts) await flush().catch(() => {})
        return await work()
      } finally {
        release()
      }
    },
    dataDir: shared ? undefined : settings.dataDir,
  })
  if (!shared) hooks.keepDefinitions = (schema) => backups.keepDefinitions(schema)
  return {
    routes: (server: FastifyInstance) => addBackupRoutes(server, { backups, audit }),
    prepare: () => backups.open(),
    stop: () => backups.stop(),
  }
}

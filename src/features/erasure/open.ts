import type { FastifyInstance } from 'fastify'
import { hasMissingKinds } from '../../core/definitions/shared-names.ts'
import type { Core } from '../../core.ts'
import { audit as auditFeature } from '../audit/index.ts'
import { ErasureFile } from './erasure-file.ts'
import { Erasures } from './erasures.ts'
import { addErasureRoutes } from './routes.ts'

export type OpenErasure = Awaited<ReturnType<typeof openErasure>>

export async function openErasure(core: Core) {
  const { engine, time, log, topology, shared, settings, sources, gate, queue, hooks } = core
  const { audit } = core.feature(auditFeature)
  const erasures = new Erasures({
    ...{ engine, time, log, topology, shared },
    sourceOf: (name) => sources.get(name, () => true).name,
    sources: () => sources.list(),
    file: new ErasureFile(settings.dataDir),
    holdEntries: (projectNames) => gate.hold(projectNames),
    async eraseTables(project) {
      for (const { eraseRows } of hooks.erasure) await eraseRows?.(project)
      return !hasMissingKinds(core.catalog)
    },
  })
  erasures.follow({
    async flush() {
      for (const flush of hooks.flushEntries) await flush()
    },
    onErase: ({ project, everything }, names) => core.forget({ project, everything, sources: names }),
    queriesEnded: () => queue.settled(),
  })
  sources.follow(() => void erasures.sourcesChanged())
  hooks.hiddenRows.push(() => erasures.hidden)
  hooks.erasedProjects.push(() => erasures.erasedProjects())
  hooks.erasedKeys = erasures
  return {
    routes: (server: FastifyInstance) => addErasureRoutes(server, { erasures, audit }),
    load: () => erasures.open(),
    stop: () => erasures.stop(),
  }
}

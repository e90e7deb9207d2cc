import { availableParallelism } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { shippedBy } from '../../core/definitions/definitions.ts'
import type { Core } from '../../core.ts'
import { addTableRoutes } from './routes.ts'
import { RowReaders } from './row-readers.ts'
import { tables as tableKind } from './table-kind.ts'
import { Tables } from './tables.ts'

const rowReaderLimits = {
  maxWorkers: Math.min(2, availableParallelism()),
  maxHeapMiB: 1_024,
  maxStepMs: 300_000,
}

export type OpenTables = Awaited<ReturnType<typeof openTables>>

export async function openTables(core: Core) {
  const { catalog, engine, disk, definitions, tableUsers, hooks } = core
  const tables = new Tables({
    catalog,
    engine,
    kind: tableKind,
    checkDisk: () => disk.check(),
    erasedProjects: () => new Set(hooks.erasedProjects.flatMap((projects) => [...projects()])),
    readers: new RowReaders(rowReaderLimits),
  })
  hooks.tables = tables
  hooks.erasure.push({
    async eraseRows(project) {
      await tables.eraseProject(project, shippedBy)
    },
  })
  tables.follow((changes) => {
    for (const { item } of changes) core.rowsReplaced(item.name)
  })
  tables.followRows((name) => core.rowsReplaced(name))
  return {
    kinds: [{ ...tableKind, ...tableKind.open({ tables }) }],
    routes: (server: FastifyInstance) => addTableRoutes(server, { definitions, tables, tableUsers }),
    load: () => tables.open(),
  }
}

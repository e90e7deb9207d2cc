import type { Feature } from '../../feature.ts'
import type { OpenTables } from './open.ts'

export const tables: Feature<OpenTables> = {
  name: 'tables',
  commands: [
    {
      name: 'table',
      description: 'list, show, fill and delete tables, and print their rows',
      after: 'source',
      load: async () => (await import('./commands.ts')).defineTable,
    },
  ],
  kinds: async () => [(await import('./table-kind.ts')).tables],
  open: async (core) => (await import('./open.ts')).openTables(core),
}

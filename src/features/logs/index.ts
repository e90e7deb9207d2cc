import type { Feature } from '../../feature.ts'
import type { OpenLogs } from './open.ts'

export type { LogSearch } from './log-search.ts'

export const logs: Feature<OpenLogs> = {
  name: 'logs',
  commands: [
    {
      name: 'logs',
      description: 'send, search and follow log entries',
      after: 'project',
      load: async () => (await import('./commands.ts')).defineLogs,
    },
  ],
  open: async (core) => (await import('./open.ts')).openLogs(core),
}

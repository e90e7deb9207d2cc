import type { Feature } from '../../feature.ts'
import type { OpenBackup } from './open.ts'

export const backup: Feature<OpenBackup> = {
  name: 'backup',
  commands: [
    {
      name: 'backup',
      description: 'back up a running service',
      after: 'erase',
      load: async () => (await import('./commands.ts')).defineBackup,
    },
    {
      name: 'restore',
      description: 'create a data directory from a backup',
      after: 'backup',
      load: async () => (await import('./commands.ts')).defineRestore,
    },
    {
      name: 'copy',
      description: 'copy a data directory to a ClickHouse server or cluster',
      after: 'restore',
      load: async () => (await import('./commands.ts')).defineCopy,
    },
  ],
  open: async (core) => (await import('./open.ts')).openBackup(core),
}

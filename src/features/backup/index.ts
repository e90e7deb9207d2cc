import type { Feature } from '../../feature.ts'
import { backupErrors } from './errors.ts'
import type { OpenBackup } from './open.ts'

export const backup: Feature<OpenBackup> = {
  name: 'backup',
  errors: backupErrors,
  apiTags: [
    {
      name: 'Backups',
      description: 'Back up everything that the service stores.',
      after: 'Signing in',
    },
  ],
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

import type { Feature } from '../../feature.ts'
import { alertKeyFile } from './key-file.ts'
import type { OpenAlerts } from './open.ts'
import { alertsSource } from './source.ts'

export const alerts: Feature<OpenAlerts> = {
  name: 'alerts',
  sources: [alertsSource],
  settings: {
    after: 'corsOrigins',
    rows: async () => (await import('./settings.ts')).alertSettings,
  },
  commands: [
    {
      name: 'alert',
      description: 'list, show, test and mute alerts',
      after: 'endpoint',
      load: async () => (await import('./commands.ts')).defineAlert,
    },
  ],
  tables: async () => (await import('./own-tables.ts')).alertTables,
  keyFiles: [alertKeyFile],
  kinds: async () => [(await import('./alert-kind.ts')).alerts],
  open: async (core) => (await import('./open.ts')).openAlerts(core),
}

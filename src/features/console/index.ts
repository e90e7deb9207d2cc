import type { Feature } from '../../feature.ts'
import type { OpenConsole } from './open.ts'

export const consolePages: Feature<OpenConsole> = {
  name: 'console',
  apiTags: [{ name: 'Console', description: 'The web console.', after: 'State and description' }],
  settings: {
    after: 'corsOrigins',
    rows: async () => (await import('./settings.ts')).consoleSettings,
  },
  open: async (core) => (await import('./open.ts')).openConsole(core),
}

import type { Feature } from '../../feature.ts'
import type { OpenMcp } from './open.ts'

export const mcp: Feature<OpenMcp> = {
  name: 'mcp',
  settings: {
    after: 'defaultRules',
    rows: async () => (await import('./settings.ts')).mcpSettings,
  },
  commands: [
    {
      name: 'mcp',
      description: 'serve the tools of a service to an agent, over stdio',
      after: 'import',
      load: async () => (await import('./commands.ts')).defineMcp,
    },
  ],
  open: async (core) => (await import('./open.ts')).openMcp(core),
}

import type { Feature } from '../../feature.ts'
import type { OpenPlans } from './open.ts'

export const plans: Feature<OpenPlans> = {
  name: 'plans',
  apiTags: [
    {
      name: 'Projects',
      description: 'Their plans, their usage, and the erasure of their entries.',
      after: '',
    },
  ],
  settings: {
    after: 'engineTimeoutFactor',
    rows: async () => (await import('./settings.ts')).planSettings,
  },
  commands: [
    {
      name: 'project',
      description: 'list and show projects, set their plans, and show what they used',
      after: 'table',
      load: async () => (await import('./commands.ts')).defineProject,
    },
  ],
  tables: async () => (await import('./own-tables.ts')).planTables,
  kinds: async () => [(await import('./plan-kind.ts')).plans],
  open: async (core) => (await import('./open.ts')).openPlans(core),
}

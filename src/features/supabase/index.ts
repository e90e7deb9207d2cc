import type { Feature } from '../../feature.ts'
import type { OpenSupabase } from './open.ts'

export const supabase: Feature<OpenSupabase> = {
  name: 'supabase',
  commands: [
    {
      name: 'import',
      description: 'import the logs of another log service',
      after: 'logs',
      load: async () => (await import('./commands.ts')).defineImport,
    },
  ],
  open: async (core) => (await import('./open.ts')).openSupabase(core),
}

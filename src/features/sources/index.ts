import type { Feature } from '../../feature.ts'
import type { OpenSources } from './open.ts'

export type { HiddenEntries } from './hidden-entries.ts'
export type { SourceInfo } from './source-info.ts'

export const sources: Feature<OpenSources> = {
  name: 'sources',
  commands: [
    {
      name: 'source',
      description: 'list, show, update and delete sources, and list their metadata paths',
      after: 'sql',
      load: async () => (await import('./commands.ts')).defineSource,
    },
  ],
  kinds: async () => [(await import('./source-kind.ts')).sources],
  open: async (core) => (await import('./open.ts')).openSources(core),
}

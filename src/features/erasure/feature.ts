import type { Feature } from '../../feature.ts'
import type { OpenErasure } from './open.ts'

export const erasure: Feature<OpenErasure> = {
  name: 'erasure',
  commands: [
    {
      name: 'erase',
      description: 'erase entries of a project everywhere',
      after: 'types',
      load: async () => (await import('./commands.ts')).defineErase,
    },
  ],
  open: async (core) => (await import('./open.ts')).openErasure(core),
}

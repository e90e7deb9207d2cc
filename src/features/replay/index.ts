import type { Feature } from '../../feature.ts'
import type { OpenReplay } from './open.ts'

export const replay: Feature<OpenReplay> = {
  name: 'replay',
  open: async (core) => (await import('./open.ts')).openReplay(core),
}

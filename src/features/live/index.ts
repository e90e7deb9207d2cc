import type { Feature } from '../../feature.ts'
import type { OpenLive } from './open.ts'

export const live: Feature<OpenLive> = {
  name: 'live',
  open: async (core) => (await import('./open.ts')).openLive(core),
}

import type { Feature } from '../../feature.ts'
import type { OpenStatistics } from './open.ts'

export const statistics: Feature<OpenStatistics> = {
  name: 'statistics',
  open: async (core) => (await import('./open.ts')).openStatistics(core),
}

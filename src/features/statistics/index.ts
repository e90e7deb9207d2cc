import type { Feature } from '../../feature.ts'
import type { OpenStatistics } from './open.ts'

export const statistics: Feature<OpenStatistics> = {
  name: 'statistics',
  settings: {
    after: 'engineTimeoutFactor',
    rows: async () => (await import('./settings.ts')).statisticsSettings,
  },
  open: async (core) => (await import('./open.ts')).openStatistics(core),
}

import type { Feature } from '../../feature.ts'
import type { OpenStatistics } from './open.ts'
import { callsSource } from './source.ts'

export const statistics: Feature<OpenStatistics> = {
  name: 'statistics',
  sources: [callsSource],
  settings: {
    after: 'engineTimeoutFactor',
    rows: async () => (await import('./settings.ts')).statisticsSettings,
  },
  open: async (core) => (await import('./open.ts')).openStatistics(core),
}

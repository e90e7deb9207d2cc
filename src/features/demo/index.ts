import type { Feature } from '../../feature.ts'
import { demoDashboard } from './demo-dashboard.ts'

export const demo: Feature = {
  name: 'demo',
  samples: {
    description:
      'send sample traffic of three projects: seven days, then new entries every second; stored in ./demo-data',
    page: `dashboards/${demoDashboard}`,
    load: async () => (await import('./fill-service.ts')).fillService,
  },
}

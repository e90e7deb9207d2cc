import type { Feature } from '../../feature.ts'
import { demoPage } from './demo-page.ts'

export const demo: Feature = {
  name: 'demo',
  samples: {
    flag: 'demo',
    description:
      'send sample traffic of three projects: seven days, then new entries every second; stored in ./demo-data',
    page: `${demoPage.folder}/${demoPage.name}`,
    load: async () => (await import('./fill-service.ts')).fillService,
  },
}

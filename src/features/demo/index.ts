import type { Feature } from '../../feature.ts'

export const demo: Feature = {
  name: 'demo',
  samples: {
    description:
      'send sample traffic of three projects: seven days, then new entries every second; stored in ./demo-data',
    page: 'dashboards/demo.traffic',
    load: async () => (await import('./fill-service.ts')).fillService,
  },
}

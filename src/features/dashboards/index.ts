import type { Feature } from '../../feature.ts'
import type { OpenDashboards } from './open.ts'

export const dashboards: Feature<OpenDashboards> = {
  name: 'dashboards',
  kinds: async () => [(await import('./dashboard-kind.ts')).dashboards],
  open: async (core) => (await import('./open.ts')).openDashboards(core),
}

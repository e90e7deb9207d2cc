import type { Feature } from '../../feature.ts'
import type { OpenDashboards } from './open.ts'

export const dashboards: Feature<OpenDashboards> = {
  name: 'dashboards',
  settings: {
    after: 'authFailuresPerMinute',
    rows: async () => (await import('./settings.ts')).dashboardSettings,
  },
  kinds: async () => [(await import('./dashboard-kind.ts')).dashboards],
  open: async (core) => (await import('./open.ts')).openDashboards(core),
}

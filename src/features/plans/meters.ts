import type { Meters } from '../../core/base/meters.ts'
import type { ProjectUsage } from './project-usage.ts'

/** Every label costs memory in Prometheus. */
const maxProjects = 20

export function addProjectMeters(meters: Meters, usage: Pick<ProjectUsage, 'top'>): void {
  const used = (figure: 'entries' | 'bytes' | 'requests') => () =>
    usage.top(maxProjects).map((one) => [one.project, one[figure]] as const)
  const today = `today (UTC), for the ${maxProjects} projects with most entries.`
  meters.gauge('wellhead_project_entries', `Entries accepted here ${today}`, used('entries'), 'project')
  meters.gauge('wellhead_project_bytes', `Bytes of entries accepted here ${today}`, used('bytes'), 'project')
  meters.gauge(
    'wellhead_project_requests',
    `Requests to endpoints here ${today}`,
    used('requests'),
    'project',
  )
}

import { logClient } from '../../../support/log-client.ts'
import type { RunningService } from '../../../support/service.ts'

export const projects = ['shopprojectabcdefghi', 'notesprojectabcdefgh'] as const

const paths = ['/rest/v1/orders', '/auth/v1/token', '/storage/v1/object']

function edgeEntry(project: string, timestamp: number, n: number) {
  const path = paths[n % paths.length] as string
  const url = `https://${project}.example.com${path}`
  const status = n % 10 === 0 ? 500 : 200
  return {
    id: `${project}-${n}`,
    project,
    timestamp,
    event_message: `GET | ${status} | ${url}`,
    metadata: {
      request: { method: 'GET', url, path },
      response: { status_code: status, origin_time: 20 + n },
    },
  }
}

/** An hour of traffic of two projects. */
export async function fillWithTraffic(service: RunningService, nowMs = Date.now()): Promise<void> {
  const { send } = logClient(() => service)
  const minutes = Array.from({ length: 55 }, (_, index) => nowMs - (index + 1) * 60_000)
  const edge = projects.flatMap((project) => minutes.map((at, n) => edgeEntry(project, at, n)))
  const invocations = projects.flatMap((project) =>
    minutes.map((at, n) => ({
      timestamp: at,
      event_message: `POST | ${n % 9 === 0 ? 500 : 200} | hello`,
      metadata: {
        project_ref: project,
        function_id: n % 2 === 0 ? 'checkout' : 'thumbnail',
        execution_time_ms: 20 + n * 3,
        response: { status_code: n % 9 === 0 ? 500 : 200 },
      },
    })),
  )
  await send('edge_logs', JSON.stringify(edge))
  await send('function_edge_logs', JSON.stringify(invocations))
  await send('edge_logs', JSON.stringify([{ timestamp: 'yesterday', event_message: 'not a time' }]))
}

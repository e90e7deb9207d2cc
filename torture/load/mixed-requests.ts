import type { Dice } from '../fuzz/dice.ts'
import { adminToken, type Target } from '../support/target.ts'
import type { HttpRequest } from './http-client.ts'

export const soakEndpoints = { cached: 'torture.soak-cached', uncached: 'torture.soak-uncached' } as const

const projects = Array.from({ length: 20 }, (_, index) => `soak-${index}`)

/** They read the last ten seconds only, so that a request costs the same however many entries are stored. */
export async function createSoakEndpoints(target: Target): Promise<void> {
  const query =
    'SELECT project, count() AS n, max(timestamp) AS newest FROM edge_logs WHERE project = @project AND timestamp > @now - INTERVAL 10 SECOND GROUP BY project'
  const parameters = { project: { required: true } }
  for (const [name, cache] of [
    [soakEndpoints.cached, 60],
    [soakEndpoints.uncached, null],
  ] as const) {
    await target.json('/api/endpoints', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name, query, parameters, cache_seconds: cache }),
    })
  }
}

/** 70 % cached queries, 20 % uncached queries, 10 % logs. */
export function mixedRequest(dice: Dice): HttpRequest & { kind: 'cached' | 'uncached' | 'logs' } {
  const project = dice.pick(projects)
  const roll = dice.below(100)
  if (roll < 70) return { kind: 'cached', ...queryRequest(soakEndpoints.cached, project) }
  if (roll < 90) return { kind: 'uncached', ...queryRequest(soakEndpoints.uncached, project) }
  const entries = Array.from({ length: 20 }, (_, index) => ({
    project,
    event_message: `GET /rest/v1/${index}`,
    metadata: {
      request: { url: `https://${project}.example.com/rest/v1/${index}`, path: `/rest/v1/${index}` },
    },
  }))
  return {
    kind: 'logs',
    path: '/api/logs?source=edge_logs',
    token: adminToken,
    body: JSON.stringify(entries),
  }
}

function queryRequest(name: string, project: string): HttpRequest {
  return { path: `/api/endpoints/query/${name}?project=${project}`, token: adminToken }
}

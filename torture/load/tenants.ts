import {
  entriesOf,
  innerEndpoints,
  listReaders,
  nestedReaders,
  projects,
  readers,
  tableReaders,
} from '../../test/journeys/access/ways-to-read.ts'
import type { Target } from '../support/target.ts'

export { foreignRows, leakedProjects, projects } from '../../test/journeys/access/ways-to-read.ts'

export interface Tenants {
  /** Token by project. */
  tokens: ReadonlyMap<string, string>
  /** Requests that must return rows of the caller's project only. */
  paths: readonly string[]
}

/** A sandbox whose view does not filter by project. */
export const sandboxName = 'torture.sandbox'

const sandboxQueries = [
  'SELECT * FROM entries',
  "SELECT count() AS n FROM entries WHERE project != 'x'",
  'SELECT max(event_message) AS m FROM entries WHERE toUInt8OrZero(id) = 0',
  'SELECT a.event_message AS m FROM entries AS a JOIN entries AS b ON a.id = b.id',
  'SELECT event_message FROM entries WHERE id IN (SELECT id FROM entries)',
]

/** Those that fail on a row of others need a parameter. */
const ways = [...readers, ...tableReaders, ...nestedReaders].filter((sql) => !sql.includes('@mine'))
const endpoints = [
  ...innerEndpoints,
  ...ways.map((query, n) => ({ name: `torture.way-${n}`, query })),
  ...listReaders.map((query, n) => ({
    ...{ name: `torture.list-${n}`, query },
    parameters: { others: { type: 'list' } },
  })),
  {
    name: sandboxName,
    sandbox: true,
    query: 'WITH entries AS (SELECT id, project, event_message FROM edge_logs) SELECT * FROM entries',
  },
  {
    name: 'torture.failing',
    query:
      'SELECT id, event_message, intDiv(1, number < 100) AS q FROM edge_logs CROSS JOIN numbers(1000) AS n ORDER BY number',
  },
  {
    name: 'torture.slow',
    query:
      'SELECT event_message FROM edge_logs UNION ALL SELECT toString(sum(sipHash64(number))) FROM numbers(100000000000)',
    timeout_seconds: 1,
  },
  { name: 'torture.cached', query: 'SELECT id, project, event_message FROM edge_logs', cache_seconds: 2 },
]

const tenantsByTarget = new WeakMap<Target, Promise<Tenants>>()

/** Entries of several projects in two sources, a token for each, and endpoints to read them. Created once per service. */
export function tenantsOf(target: Target): Promise<Tenants> {
  const tenants = tenantsByTarget.get(target) ?? createTenants(target)
  tenantsByTarget.set(target, tenants)
  return tenants
}

async function createTenants(target: Target): Promise<Tenants> {
  const post = <T>(path: string, body: unknown) =>
    target.json<T>(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  const timestamp = new Date(Date.now() - 60_000).toISOString()
  for (const source of ['edge_logs', 'auth_logs']) {
    const entries = projects.flatMap((project) => entriesOf(project, timestamp))
    await post(`/api/logs?source=${source}`, entries)
  }
  const tokens = new Map<string, string>()
  for (const project of projects) {
    const scopes = ['query', 'ingest']
    const { token } = await post<{ token: string }>('/api/access-tokens', { scopes, project })
    tokens.set(project, token)
  }
  const columns = ['project', 'id', 'event_message', 'timestamp'].map((name) => ({
    ...{ name, type: name === 'timestamp' ? 'timestamp' : 'text' },
  }))
  const tables = ['edge_rows', 'auth_rows']
  // One deployment checks all of them together, which is faster.
  await post('/api/deployments', {
    tables: tables.map((name) => ({ name, columns, expected_version: 0 })),
    endpoints: endpoints.map((endpoint) => ({ published: true, ...endpoint, expected_version: 0 })),
  })
  const rows = projects.flatMap((project) => entriesOf(project, timestamp))
  for (const name of tables) {
    await target.json(`/api/tables/${name}/rows`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(rows.map(({ metadata: _, ...row }) => row)),
    })
  }
  const queryPath = (name: string) => `/api/endpoints/query/${name}`
  return {
    tokens,
    paths: [
      ...ways.map((_, n) => queryPath(`torture.way-${n}`)),
      ...listReaders.map((_, n) => queryPath(`torture.list-${n}?others=a&others=b`)),
      ...['logs.all', 'usage.api-counts?interval=daily', 'functions.invocation-stats?interval=7day'].map(
        queryPath,
      ),
      ...sandboxQueries.map((sql) => queryPath(`${sandboxName}?sql=${encodeURIComponent(sql)}`)),
      ...Array.from({ length: 6 }, () => queryPath('torture.cached')),
    ],
  }
}

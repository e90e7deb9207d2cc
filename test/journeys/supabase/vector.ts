/** What the seven sinks of Supabase's Vector configuration send, shortened to two or three events each. */
export interface Sink {
  source: string
  table: string
  events: Record<string, unknown>[]
}

export function vectorSinks(startMs: number): Sink[] {
  const at = (seconds: number, digits = '123456789') =>
    `${new Date(startMs + seconds * 1000).toISOString().slice(0, 19)}${digits && `.${digits}`}Z`
  const edge = (id: string, seconds: number, method: string, path: string, status: number) => ({
    id,
    project: 'default',
    appname: 'supabase-kong',
    event_message: `172.18.0.12 - - [13/Jul/2026:09:00:00 +0000] "${method} ${path} HTTP/1.1" ${status} 2 "-" "node"`,
    timestamp: at(seconds, ''),
    metadata: {
      request: {
        method,
        path,
        protocol: 'HTTP/1.1',
        headers: { referer: '-', user_agent: 'node', cf_connecting_ip: '172.18.0.12' },
      },
      response: { status_code: status },
    },
  })
  return [
    {
      source: 'cloudflare.logs.prod',
      table: 'edge_logs',
      events: [
        edge('e1', 0, 'GET', '/rest/v1/orders?select=*', 200),
        edge('e2', 0, 'POST', '/auth/v1/token?grant_type=password', 400),
        edge('e3', 61, 'GET', '/storage/v1/object/a.png', 500),
        {
          id: 'e4',
          project: 'default',
          appname: 'supabase-kong',
          event_message: 'connect() failed',
          severity: 'error',
          timestamp: at(62, ''),
          metadata: { request: { host: '172.18.0.1', method: 'GET' }, response: { status_code: 200 } },
        },
      ],
    },
    {
      source: 'postgres.logs',
      table: 'postgres_logs',
      events: [
        postgres('p1', at(1), 'LOG', 'checkpoint starting: time'),
        postgres('p2', at(2), 'ERROR', 'relation "it\'s" does not exist 42'),
        postgres('p3', at(3), 'WARNING', 'cron job 7 starting'),
      ],
    },
    {
      source: 'gotrue.logs.prod',
      table: 'auth_logs',
      events: [
        auth('a1', at(1), {
          level: 'info',
          path: '/token',
          status: 200,
          msg: 'request completed',
          duration: 12_000_000,
          auth_event: { action: 'login', actor_id: 'u1' },
        }),
        auth('a2', at(2), {
          level: 'info',
          path: '/signup',
          status: '422',
          msg: 'bad',
          error: '422: weak',
          duration: 30_000_000,
        }),
        auth('a3', at(3), { level: 'error', msg: 'database is down' }),
      ],
    },
    {
      source: 'postgREST.logs.prod',
      table: 'postgrest_logs',
      events: [
        {
          id: 'r1',
          project: 'default',
          event_message: 'Listening on port 3000',
          timestamp: at(4, ''),
          metadata: { host: 'default' },
        },
        { id: 'r2', project: 'default', event_message: 'a line that does not match', timestamp: at(5, '') },
      ],
    },
    {
      source: 'realtime.logs.prod',
      table: 'realtime_logs',
      events: [
        {
          id: 't1',
          event_message: 'Tenant connected',
          timestamp: at(5),
          metadata: { project: 'default', external_id: 'realtime-dev', level: 'info' },
        },
      ],
    },
    {
      source: 'storage.logs.prod.2',
      table: 'storage_logs',
      events: [
        {
          id: 's1',
          event_message: 'object uploaded',
          timestamp: at(6),
          metadata: {
            project: 'default',
            tenantId: 'stub',
            level: 'info',
            timestamp: at(6),
            context: [{ host: 'storage', pid: 1 }],
          },
        },
      ],
    },
    {
      source: 'deno-relay-logs',
      table: 'function_edge_logs',
      events: [
        {
          id: 'f1',
          event_message: 'serving the request with /hello',
          timestamp: at(7),
          metadata: { project_ref: 'default' },
        },
      ],
    },
  ]
}

function postgres(id: string, timestamp: string, severity: string, message: string) {
  return {
    id,
    project: 'default',
    event_message: message,
    timestamp,
    metadata: { host: 'db-default', parsed: { timestamp, error_severity: severity } },
  }
}

function auth(id: string, timestamp: string, entry: Record<string, unknown>) {
  return {
    id,
    project: 'default',
    event_message: JSON.stringify(entry),
    timestamp,
    metadata: { ...entry, timestamp },
  }
}

import { randomOf, uuidOf } from './random.ts'
import { addressOf, type EntryMaker, type Moment, regions, userAgents } from './world.ts'

/** Requests at the edge: weight, method, path, search, status, statuses of failures, median of the time in ms. */
const edgeRequests = [
  [40, 'GET', '/rest/v1/{table}', '?select=*&user_id=eq.{id}&limit=25', 200, [401, 404, 406], 24],
  [13, 'POST', '/rest/v1/{table}', '', 201, [400, 401, 409], 41],
  [9, 'PATCH', '/rest/v1/{table}', '?id=eq.{id}', 200, [400, 401], 41],
  [10, 'POST', '/auth/v1/token', '?grant_type=refresh_token', 200, [400, 429], 65],
  [7, 'GET', '/auth/v1/user', '', 200, [401], 30],
  [12, 'GET', '/storage/v1/object/public/images/{id}.webp', '', 200, [404], 38],
  [2, 'POST', '/storage/v1/object/images/{id}.webp', '', 200, [400], 140],
  [7, 'GET', '/realtime/v1/websocket', '?vsn=1.0.0', 101, [403], 12],
] as const

const edgeEntry: EntryMaker = ({ project, random, trouble }) => {
  const request = random.weighted(edgeRequests.map((one) => [one, one[0]] as const))
  const [, method, template, query, success, failures, medianMs] = request
  const table = random.weighted(project.tables.map((name, i) => [name, 1 / (i + 1)] as const))
  const path = template.replace('{table}', table).replace('{id}', uuidOf(random))
  const search = query.replace('{id}', uuidOf(random))
  const status = random.chance(trouble ? 0.12 : 0.006)
    ? random.pick([500, 500, 502, 503, 504])
    : random.chance(0.04)
      ? random.pick<number>(failures)
      : success
  const host = `${project.ref}.example.com`
  const url = `https://${host}${path}${search}`
  const { region: _, ...place } = random.weighted(regions)
  const agent = random.weighted(userAgents)
  const address = addressOf(random)
  const ray = `${random.hex(16)}-${place.colo}`
  const originMs = random.longTail(medianMs * (trouble ? 4 : 1), 0.7)
  return [
    `${method} | ${status} | ${address} | ${ray} | ${url} | ${agent}`,
    {
      request: {
        method,
        url,
        path,
        host,
        protocol: 'https:',
        ...(search !== '' && { search }),
        headers: {
          user_agent: agent,
          accept: '*/*',
          x_client_info: agent.startsWith('Mozilla') ? 'js/2.58.0' : 'server',
          cf_connecting_ip: address,
          cf_ipcountry: place.country,
          cf_ray: ray,
        },
        cf: { ...place, httpProtocol: random.pick(['HTTP/2', 'HTTP/3']), tlsVersion: 'TLSv1.3' },
      },
      response: {
        status_code: status,
        origin_time: Math.max(1, Math.round(originMs)),
        headers: {
          content_type: 'application/json; charset=utf-8',
          content_length: Math.round(random.longTail(900, 1.2)),
          cf_cache_status: random.pick(['HIT', 'DYNAMIC']),
        },
      },
    },
  ]
}

/** A function of the project, and the metadata that all of its entries have. */
function functionOf({ project, random }: Moment) {
  const invoked = random.weighted(project.functions.map((one) => [one, one.weight] as const))
  // The same for all invocations of a function.
  const deployed = randomOf('deployment', project.ref, invoked.name)
  const metadata = {
    function_id: invoked.name,
    deployment_id: `${project.ref}_${uuidOf(deployed)}_${deployed.whole(3, 40)}`,
    execution_id: uuidOf(random),
    region: random.weighted(regions).region,
  }
  return { ...invoked, metadata }
}

/** An invocation of a function, as logged by the relay in front of it. */
const invocationEntry: EntryMaker = (moment) => {
  const { project, random, trouble } = moment
  const { name, errorRate, medianMs, metadata } = functionOf(moment)
  const failed = random.chance(errorRate * (trouble ? 5 : 1))
  const status = failed ? random.pick([400, 400, 401, 500, 500, 504]) : 200
  // A timeout takes the maximum duration.
  const ms = status === 504 ? 60_000 : random.longTail(medianMs * (trouble ? 2 : 1), 0.6)
  const host = `${project.ref}.functions.example.com`
  const request = { method: 'POST', url: `https://${host}/${name}`, host, pathname: `/${name}` }
  const execution_time_ms = Math.round(ms * 100) / 100
  const response = { status_code: status, headers: { content_type: 'application/json' } }
  return [`POST | ${status} | ${request.url}`, { ...metadata, execution_time_ms, request, response }]
}

/** A message with its level and its weights, the usual one and that of an hour of failures. */
type Line = readonly [message: string, level: string, weight: number, inTrouble?: number]

function lineOf({ random, trouble }: Moment, ...lines: readonly Line[]): Line {
  return random.weighted(lines.map((line) => [line, (trouble ? line[3] : undefined) ?? line[2]] as const))
}

const functionEventEntry: EntryMaker = (moment) => {
  const [message, level] = lineOf(
    moment,
    ['handled request', 'info', 8],
    ['cache miss, loading from database', 'info', 4],
    ['Error: upstream timed out after 10000 ms', 'error', 0.6, 4],
  )
  const event_type = level === 'error' ? 'UncaughtException' : 'Log'
  return [message, { ...functionOf(moment).metadata, event_type, level }]
}

const authEntry: EntryMaker = ({ random, trouble }) => {
  const [path, method, action] = random.weighted([
    [['/token', 'POST', 'token_refreshed'], 9],
    [['/token', 'POST', 'login'], 5],
    [['/user', 'GET', 'user_read'], 4],
  ] as const)
  const status = random.chance(trouble ? 0.2 : 0.07) ? random.pick([400, 400, 400, 429, 500]) : 200
  const duration = Math.round(random.longTail(48, 0.6) * 1_000_000)
  const auth_event = { action, actor_id: uuidOf(random), log_type: 'account' }
  return [
    `${status}: ${status === 200 ? action : 'invalid login credentials'}`,
    { path, method, status, level: levelOf(status), duration, remote_addr: addressOf(random), auth_event },
  ]
}

const storageEntry: EntryMaker = ({ project, random, trouble }) => {
  const statusCode = random.chance(trouble ? 0.15 : 0.04) ? random.pick([400, 404, 404, 500]) : 200
  const method = random.chance(0.8) ? 'GET' : 'POST'
  const url = `/object/${random.pick(['images', 'avatars', 'invoices'])}/${random.hex(8)}.webp`
  const req = { method, url, hostname: `${project.ref}.example.com`, remoteAddress: addressOf(random) }
  const responseTime = Math.round(random.longTail(method === 'GET' ? 22 : 120, 0.8) * 100) / 100
  return [
    `${method} | ${statusCode} | ${url}`,
    { level: levelOf(statusCode), req, res: { statusCode }, responseTime },
  ]
}

function levelOf(status: number): string {
  return status >= 500 ? 'error' : status >= 400 ? 'warning' : 'info'
}

const realtimeEntry: EntryMaker = (moment) => {
  const { project, random } = moment
  const [message, level] = lineOf(
    moment,
    ['channel joined', 'info', 6],
    ['client disconnected', 'info', 5],
    ['too many joins per second', 'error', 0.2, 3],
  )
  const topic = `realtime:public:${random.pick(project.tables)}`
  return [message, { external_id: project.ref, level, topic, region: random.weighted(regions).region }]
}

const postgrestEntry: EntryMaker = (moment) => {
  const [message] = lineOf(
    moment,
    ['Schema cache loaded in 18.4 milliseconds', 'info', 7],
    ['Failed to query database: could not obtain a connection in time', 'error', 0.2, 6],
  )
  return [message, { host: `db-${moment.project.ref}`, component: 'postgrest', version: '13.0.7' }]
}

const poolerEntry: EntryMaker = (moment) => {
  const [message, level] = lineOf(
    moment,
    ['login attempt: db=postgres user=authenticator tls=no', 'LOG', 10],
    ['pooler error: no more connections allowed (max_client_conn)', 'WARNING', 0.1, 4],
  )
  return [message, { host: `db-${moment.project.ref}`, level, database: 'postgres', user: 'authenticator' }]
}

/** A line of the database's log, parsed as its collector does. */
const postgresEntry: EntryMaker = (moment) => {
  const { project, random } = moment
  const table = random.pick(project.tables)
  const slowMs = random.longTail(1_400, 0.5).toFixed(3)
  const [message, error_severity] = lineOf(
    moment,
    ['connection authorized: user=authenticator database=postgres', 'LOG', 14],
    [`duration: ${slowMs} ms  statement: select * from ${table}`, 'LOG', 1.5, 8],
    [`duplicate key value violates unique constraint "${table}_pkey"`, 'ERROR', 1],
    ['remaining connection slots are reserved for superusers', 'FATAL', 0.05, 2],
  )
  const sql_state_code = { LOG: '00000', ERROR: '23505', FATAL: '53300' }[error_severity]
  const user_name = random.pick(['authenticator', 'postgres', 'app_auth_admin'])
  const parsed = { user_name, database_name: 'postgres', error_severity, sql_state_code }
  return [message, { host: `db-${project.ref}`, parsed }]
}

/** Share of each source in all traffic. Some entries name their project in the metadata, below this key. */
export const sources = {
  edge_logs: { share: 0.5, make: edgeEntry },
  function_edge_logs: { share: 0.2, make: invocationEntry, projectKey: 'project_ref' },
  auth_logs: { share: 0.07, make: authEntry },
  function_logs: { share: 0.06, make: functionEventEntry, projectKey: 'project_ref' },
  postgres_logs: { share: 0.06, make: postgresEntry },
  storage_logs: { share: 0.04, make: storageEntry, projectKey: 'project' },
  realtime_logs: { share: 0.03, make: realtimeEntry, projectKey: 'project' },
  postgrest_logs: { share: 0.02, make: postgrestEntry },
  pgbouncer_logs: { share: 0.02, make: poolerEntry },
} satisfies Record<string, SourceTraffic>

export interface SourceTraffic {
  share: number
  make: EntryMaker
  projectKey?: string
}

export type DemoSource = keyof typeof sources

import type { Dice } from '../fuzz/dice.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }
type Fields = Record<string, Json>

/** An entry as a query must see it. */
export interface Entry {
  table: string
  id: string
  /** Microseconds since 1970. */
  micros: number
  event_message: string
  metadata: Fields
}

export const tables = {
  edge_logs: 'cloudflare.logs.prod',
  postgres_logs: 'postgres.logs',
  auth_logs: 'gotrue.logs.prod',
  postgrest_logs: 'postgREST.logs.prod',
  realtime_logs: 'realtime.logs.prod',
  storage_logs: 'storage.logs.prod.2',
  function_edge_logs: 'deno-relay-logs',
} as const

export type TableName = keyof typeof tables

/** What senders write and people search for: every character that SQL, regular expressions, LIKE or JSON give a meaning. */
export const oddTexts = [
  ...[
    "it's",
    "'orders'",
    'say "hi"',
    'C:\\temp\\x',
    'a\\b',
    '\\d+',
    '100%',
    'under_score',
    '50% of_all',
    '`tick`',
  ],
  ...[
    '(group)',
    '[set]',
    '{brace}',
    'a|b',
    'a.b',
    'a*b',
    'a+b',
    'what?',
    '^start',
    'end$',
    '$1',
    '@now',
    '#tag',
  ],
  ...[
    '-- no comment',
    '/* nor this */',
    ';drop',
    'tab\there',
    'ünï',
    '字',
    '😀 smile',
    '\u00a0nbsp',
    '&amp;',
    '<b>',
  ],
  ...[
    'null',
    'true',
    '',
    ' ',
    '  two  spaces ',
    'x'.repeat(60),
    '{"a":[1,{"b":"c"}]}',
    '%',
    '_',
    '\\',
    "'",
    '"',
  ],
]

const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']
const paths = [
  ...[
    '/rest/v1/orders?select=*',
    '/rest/v1/rpc/run',
    '/auth/v1/token?grant_type=password',
    '/auth/v1/signup',
  ],
  ...['/storage/v1/object/a.png', '/storage/v1/object/b%20c.png', '/realtime/v1/websocket', '/graphql/v1'],
  ...['/functions/v1/hello', "/rest/v1/it's", '/rest/v1/a_b%25', '/pg/%', '/REST/V1/upper'],
]
const statuses = [200, 201, 204, 301, 304, 400, 401, 404, 422, 499, 500, 502, 503, 599]
const severities = ['LOG', 'LOG', 'LOG', 'ERROR', 'FATAL', 'PANIC', 'WARNING', 'NOTICE', 'INFO', 'DEBUG1']
const agents = ['node', 'Mozilla/5.0 (X11)', 'curl/8.0', '-', "O'Agent"]

/** What the sinks of Supabase's vector.yml send, and the same as entries. All of them belong to one project. */
export function studioEntries(dice: Dice, project: string, startMs: number, perTable: number) {
  const entries: Entry[] = []
  const batches = Object.entries(tables).map(([table, source]) => {
    const events = Array.from({ length: perTable }, (_, index) => {
      const { metadata, ...event } = eventOf(table as TableName, dice, project)
      // Several entries share an instant; some sinks send whole seconds only.
      const seconds = dice.below(dice.percent(30) ? 40 : 2_400)
      const isWhole = table === 'edge_logs' || table === 'postgrest_logs' || dice.percent(20)
      const fraction = isWhole ? '' : `.${String(dice.below(1_000_000_000)).padStart(9, '0')}`
      const instant = new Date(startMs + seconds * 1000).toISOString().slice(0, 19)
      const id = `${table.slice(0, 3)}-${index}-${dice.below(1_000_000)}`
      const micros = Date.parse(`${instant}Z`) * 1000 + Math.floor(Number(fraction.slice(1) || 0) / 1000)
      const { project: _project, event_message: message, ...others } = event
      // Keys beside those that every entry has are at the end of the metadata.
      entries.push({ table, id, micros, event_message: message, metadata: { ...metadata, ...others } })
      return { id, timestamp: `${instant}${fraction}Z`, ...event, ...(metadata && { metadata }) }
    })
    return { source, events }
  })
  return { entries, batches }
}

type Event = { event_message: string; project?: string; metadata?: Fields } & Fields

function eventOf(table: TableName, dice: Dice, project: string): Event {
  const odd = () => dice.pick(oddTexts)
  switch (table) {
    case 'edge_logs':
      return edgeEvent(dice, project)
    case 'postgres_logs': {
      const timestamp = '2026-07-13T09:00:00.123Z'
      const message = dice.percent(20) ? `cron job ${dice.below(9)} starting` : `relation "${odd()}" ${odd()}`
      const parsed = { timestamp, error_severity: dice.pick(severities) }
      return { project, event_message: message, metadata: { host: 'db-default', parsed } }
    }
    case 'auth_logs': {
      const entry: Fields = {
        ...(dice.percent(80) && { level: dice.pick(['info', 'info', 'warning', 'error', 'fatal']) }),
        ...(dice.percent(70) && { path: dice.pick(['/token', '/signup', '/verify', '/invite', odd()]) }),
        ...(dice.percent(70) && {
          status: dice.percent(70) ? dice.pick(statuses) : String(dice.pick(statuses)),
        }),
        ...(dice.percent(60) && { msg: odd() }),
        ...(dice.percent(30) && { error: `${dice.pick(statuses)}: ${odd()}` }),
        ...(dice.percent(60) && { duration: dice.below(100_000_000) }),
        ...(dice.percent(40) && {
          auth_event: {
            action: dice.pick(['login', 'logout', 'token_refreshed']),
            actor_id: `u${dice.below(5)}`,
          },
        }),
        ...(dice.percent(20) && { provider: dice.pick(['email', 'github']) }),
      }
      return {
        project,
        event_message: JSON.stringify(entry),
        metadata: { ...entry, timestamp: '2026-07-13T09:00:00Z' },
      }
    }
    case 'postgrest_logs':
      return dice.percent(80)
        ? { project, event_message: `Listening ${odd()}`, metadata: { host: 'default' } }
        : { project, event_message: odd() }
    case 'realtime_logs': {
      const metadata = {
        project,
        external_id: 'realtime-dev',
        level: dice.pick(['info', 'warning', 'error']),
      }
      return { event_message: `Tenant ${odd()}`, metadata }
    }
    case 'storage_logs': {
      const context = [{ host: 'storage', pid: dice.below(100) }]
      return { event_message: odd(), metadata: { project, tenantId: 'stub', level: 'info', context } }
    }
    case 'function_edge_logs': {
      // The hosted platform sends more than Vector does.
      const more: Fields = {
        function_id: `f${dice.below(3)}`,
        execution_time_ms: dice.below(900),
        ...(dice.percent(70) && { boot_time: dice.percent(50) ? dice.below(200) : dice.below(200) / 4 }),
        response: {
          status_code: dice.pick(statuses),
          headers: { ...(dice.percent(60) && { x_sb_edge_region: dice.pick(['eu-west-1', 'us-east-1']) }) },
        },
      }
      const metadata = { project_ref: project, ...(dice.percent(60) && more) }
      return { event_message: `serving ${odd()}`, metadata }
    }
  }
}

function edgeEvent(dice: Dice, project: string): Event {
  const appname = dice.pick(['supabase-kong', 'supabase-envoy'])
  if (dice.percent(15)) {
    const metadata = { request: { host: '172.18.0.1', method: 'GET' }, response: { status_code: 200 } }
    return {
      project,
      event_message: `connect() ${dice.pick(oddTexts)}`,
      appname,
      severity: 'error',
      metadata,
    }
  }
  const [method, path, status] = [dice.pick(methods), dice.pick(paths), dice.pick(statuses)]
  const headers = { referer: '-', user_agent: dice.pick(agents), cf_connecting_ip: `10.0.0.${dice.below(4)}` }
  return {
    project,
    appname,
    event_message: `172.18.0.12 - - [13/Jul/2026:09:00:00 +0000] "${method} ${path} HTTP/1.1" ${status} 2 "${dice.pick(oddTexts)}" "node"`,
    metadata: {
      request: {
        ...{ method, path, protocol: 'HTTP/1.1', headers },
        ...(dice.percent(30) && { cf: { country: dice.pick(['DE', 'US', 'BR']) } }),
      },
      response: { status_code: status },
    },
  }
}

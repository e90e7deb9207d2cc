import { uuidOf } from './random.ts'
import { addressOf, type EntryMaker, type Moment } from './world.ts'

export const authEntry: EntryMaker = ({ random, trouble }) => {
  const [path, action, message] = random.weighted([
    [['/token', 'token_refreshed', 'token refreshed'], 9],
    [['/token', 'login', 'user signed in'], 5],
    [['/user', 'user_read', 'request completed'], 4],
    [['/logout', 'logout', 'user signed out'], 1],
    [['/signup', 'user_signedup', 'user signed up'], 1],
  ] as const)
  const failed = random.chance(trouble ? 0.2 : 0.07)
  const failures = { 400: 6, 422: 1, 429: 1, 500: trouble ? 4 : 0.3 }
  const status = failed ? Number(random.key(failures)) : 200
  const text = failed ? (status === 429 ? 'over request rate limit' : 'invalid login credentials') : message
  return [
    `${status}: ${text}`,
    {
      path,
      method: path === '/user' ? 'GET' : 'POST',
      status,
      level: status >= 500 ? 'error' : failed ? 'warning' : 'info',
      msg: text,
      component: 'api',
      duration: Math.round(random.longTail(48, 0.6) * 1_000_000),
      remote_addr: addressOf(random),
      request_id: uuidOf(random),
      auth_event: { action, actor_id: uuidOf(random), log_type: 'account' },
    },
  ]
}

export const storageEntry: EntryMaker = ({ project, random, trouble }) => {
  const bucket = random.pick(['images', 'avatars', 'invoices'])
  const read = random.chance(0.8)
  const status = random.chance(trouble ? 0.15 : 0.04) ? random.pick([400, 404, 404, 500]) : 200
  const method = read ? 'GET' : 'POST'
  const url = `/object/${bucket}/${random.hex(8)}.webp`
  return [
    `${method} | ${status} | ${url}`,
    {
      level: status >= 500 ? 'error' : status >= 400 ? 'warn' : 'info',
      req: {
        method,
        url,
        hostname: `${project.ref}.example.com`,
        remoteAddress: addressOf(random),
        traceId: random.hex(32),
      },
      res: { statusCode: status },
      responseTime: Math.round(random.longTail(read ? 22 : 120, 0.8) * 100) / 100,
    },
  ]
}

export const realtimeEntry: EntryMaker = ({ project, random, trouble }) => {
  const [message, level] = random.weighted([
    [['channel joined', 'info'], 6],
    [['client disconnected', 'info'], 5],
    [['presence synchronised', 'debug'], 3],
    [['token expired, closing the channel', 'warning'], 1],
    [['too many joins per second', 'error'], trouble ? 3 : 0.2],
  ] as const)
  return [
    message,
    {
      external_id: project.ref,
      level,
      topic: `realtime:public:${random.pick(project.tables)}`,
      connections: random.whole(3, Math.ceil(400 * project.share)),
      region: random.pick(['us-east-1', 'eu-central-1']),
    },
  ]
}

export const postgrestEntry: EntryMaker = ({ project, random, trouble }) => [
  random.weighted([
    ['Schema cache loaded in 18.4 milliseconds', 3],
    ['Listening for notifications on the "pgrst" channel', 2],
    ['Connection pool: acquired a connection', 4],
    ['Failed to query database: could not obtain a connection in time', trouble ? 6 : 0.2],
  ]),
  { host: `db-${project.ref}`, component: 'postgrest', version: '13.0.7' },
]

export const poolerEntry: EntryMaker = ({ project, random, trouble }) => {
  const [message, level] = random.weighted([
    [['login attempt: db=postgres user=authenticator tls=no', 'LOG'], 5],
    [['closing because: client close request (age=12s)', 'LOG'], 5],
    [['stats: 41 xacts/s, 63 queries/s, in 9143 B/s, out 71022 B/s, wait 12 us', 'LOG'], 3],
    [['pooler error: no more connections allowed (max_client_conn)', 'WARNING'], trouble ? 4 : 0.1],
  ] as const)
  return [
    message,
    {
      host: `db-${project.ref}`,
      level,
      database: 'postgres',
      user: 'authenticator',
      client: `${addressOf(random)}:${random.whole(32_768, 60_999)}`,
      process_id: random.whole(400, 900),
    },
  ]
}

type Event = readonly [severity: string, state: string, message: string, query?: string, detail?: string]

function eventOf({ project, random, trouble }: Moment): Event {
  const table = random.pick(project.tables)
  const ms = random.longTail(1_400, 0.5).toFixed(3)
  const buffers = random.whole(40, 900)
  const select = `select * from ${table} order by created_at desc`
  const duplicate = `duplicate key value violates unique constraint "${table}_pkey"`
  const insert = `insert into ${table} (id) values ($1)`
  const count = `select count(*) from ${table}`
  const detail = `Key (id)=(${random.whole(1, 9_999)}) already exists.`
  return random.weighted<Event>([
    [['LOG', '00000', 'connection authorized: user=authenticator database=postgres'], 8],
    [['LOG', '00000', 'disconnection: session time: 0:00:12.482'], 6],
    [['LOG', '00000', `checkpoint complete: wrote ${buffers} buffers; sync=0.012 s, total=4.118 s`], 2],
    [['LOG', '00000', `duration: ${ms} ms  statement: ${select}`, select], trouble ? 8 : 1.5],
    [['ERROR', '23505', duplicate, insert, detail], 1],
    [['ERROR', '57014', 'canceling statement due to statement timeout', count], trouble ? 5 : 0.4],
    [['FATAL', '53300', 'remaining connection slots are reserved for superusers'], trouble ? 2 : 0.05],
  ])
}

/** A line of the database's log, parsed as its collector does. */
export const postgresEntry: EntryMaker = (moment) => {
  const { project, random } = moment
  const [severity, state, message, query, detail] = eventOf(moment)
  return [
    message,
    {
      host: `db-${project.ref}`,
      parsed: {
        user_name: random.pick(['authenticator', 'postgres', 'app_auth_admin']),
        database_name: 'postgres',
        process_id: random.whole(1_000, 65_000),
        connection_from: `${addressOf(random)}:${random.whole(32_768, 60_999)}`,
        session_id: `${random.hex(8)}.${random.hex(5)}`,
        application_name: random.pick(['postgrest', 'pooler', 'realtime']),
        backend_type: 'client backend',
        error_severity: severity,
        sql_state_code: state,
        ...(query !== undefined && { query, command_tag: query.split(' ', 1)[0]?.toUpperCase() }),
        ...(detail !== undefined && { detail }),
      },
    },
  ]
}

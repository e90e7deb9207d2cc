import { uuidOf } from './random.ts'
import { addressOf, type EntryMaker } from './world.ts'

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

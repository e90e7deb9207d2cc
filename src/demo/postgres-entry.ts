import { uuidOf } from './random.ts'
import { addressOf, type EntryMaker, type Moment } from './world.ts'

interface Event {
  severity: 'LOG' | 'ERROR' | 'FATAL' | 'WARNING'
  state: string
  message: string
  query?: string
  detail?: string
}

function eventOf({ project, random, trouble }: Moment): Event {
  const table = random.pick(project.tables)
  const ms = random.longTail(1_400, 0.5).toFixed(3)
  return random.weighted<Event>([
    [
      {
        severity: 'LOG',
        state: '00000',
        message: 'connection authorized: user=authenticator database=postgres application_name=postgrest',
      },
      8,
    ],
    [{ severity: 'LOG', state: '00000', message: 'disconnection: session time: 0:00:12.482' }, 6],
    [
      {
        severity: 'LOG',
        state: '00000',
        message: `checkpoint complete: wrote ${random.whole(40, 900)} buffers; sync=0.012 s, total=4.118 s`,
      },
      2,
    ],
    [
      {
        severity: 'LOG',
        state: '00000',
        message: `duration: ${ms} ms  statement: select * from ${table} order by created_at desc`,
        query: `select * from ${table} order by created_at desc`,
      },
      trouble ? 8 : 1.5,
    ],
    [
      {
        severity: 'ERROR',
        state: '23505',
        message: `duplicate key value violates unique constraint "${table}_pkey"`,
        query: `insert into ${table} (id) values ($1)`,
        detail: `Key (id)=(${random.whole(1, 9_999)}) already exists.`,
      },
      1,
    ],
    [
      {
        severity: 'ERROR',
        state: '57014',
        message: 'canceling statement due to statement timeout',
        query: `select count(*) from ${table}`,
      },
      trouble ? 5 : 0.4,
    ],
    [
      {
        severity: 'FATAL',
        state: '53300',
        message: 'remaining connection slots are reserved for superusers',
      },
      trouble ? 2 : 0.05,
    ],
  ])
}

/** A line of the database's log, parsed as its collector does. */
export const postgresEntry: EntryMaker = (moment) => {
  const { project, random } = moment
  const { severity, state, message, query, detail } = eventOf(moment)
  return {
    id: uuidOf(random),
    project: project.ref,
    event_message: message,
    metadata: {
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
  }
}

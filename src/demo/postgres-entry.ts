import { addressOf, type EntryMaker, type Moment } from './world.ts'

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

import type { Entry, Json } from './entries.ts'
import type { Row } from './question.ts'
import type { Report } from './reports.ts'
import { at, byValues, nested, newestFirst, numberOf, shownMetadata } from './terms.ts'

const request = 'cross join unnest(metadata) as m cross join unnest(m.request) as r'

const byId = (one: Entry, other: Entry) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0)

/** SQL of people and models in which rows, elements and levels of nesting are easily lost. */
export const lists: Record<string, Report> = {
  'joins on true': (dice, of) => {
    const tables = ['edge_logs', 'supavisor_logs']
    const [left, right] = [dice.pick(tables), dice.pick(tables)]
    const type = dice.pick(['left join', 'right join', 'full join', 'full outer join', 'join'])
    const on = dice.pick(['true', 'true', '1 = 1'])
    const joined = dice.percent(50) ? `${right} b` : `(${right} b cross join unnest(b.metadata) as bm)`
    const sql = `select count(*) as logs, count(a.id) as a, count(b.id) as b from ${left} a ${type} ${joined} on ${on}`
    const [l, r] = [of(left).length, of(right).length]
    const keepsLeft = r === 0 && /left|full/.test(type)
    const keepsRight = l === 0 && /right|full/.test(type)
    const row = {
      logs: l * r + (keepsLeft ? l : 0) + (keepsRight ? r : 0),
      a: l * r + (keepsLeft ? l : 0),
      b: l * r + (keepsRight ? r : 0),
    }
    return { name: '', sql, expected: { rows: [row], order: 'exact' } }
  },
  'sorted lists': (dice, of) => {
    const [direction, nulls] = [
      dice.pick(['', ' asc', ' desc']),
      dice.pick(['', ' nulls first', ' nulls last']),
    ]
    const sign = direction === ' desc' ? -1 : 1
    const areLast = nulls === '' ? sign === -1 : nulls === ' nulls last'
    const boot = (entry: Entry) => numberOf(at(entry, 'boot_time'))
    const sorted = [...of('function_edge_logs')].sort((one, other) => {
      const [a, b] = [boot(one), boot(other)]
      if (a === null || b === null) {
        if (a === b) return sign * byId(one, other)
        return (a === null) === areLast ? 1 : -1
      }
      return sign * (a - b || byId(one, other))
    })
    const sql = `select array_agg(id order by m.boot_time${direction}${nulls}, id${direction}) as ids, array_agg(m.boot_time ignore nulls order by m.boot_time${direction}, id${direction} limit 5) as times, string_agg(id, '|' order by id${direction} limit 2) as first from function_edge_logs cross join unnest(metadata) as m`
    const times = sorted.map(boot).filter((time) => time !== null)
    const ids = [...sorted].sort((one, other) => sign * byId(one, other)).slice(0, 2)
    const row: Row = {
      ids: sorted.length === 0 ? null : sorted.map(({ id }) => id),
      times: times.length === 0 ? null : times.slice(0, 5),
      first: sorted.length === 0 ? null : ids.map(({ id }) => id).join('|'),
    }
    return { name: '', sql, expected: { rows: [row], order: 'exact' } }
  },
  'the newest entry of each group': (dice, of) => {
    const newest = 'order by timestamp desc, id desc limit 1)[offset(0)]'
    const field = dice.pick([
      { sql: `array_agg(struct(id, timestamp) ${newest}.id`, of: (entry: Entry): Json => entry.id },
      { sql: `array_agg(t ${newest}.event_message`, of: (entry: Entry): Json => entry.event_message },
      { sql: `array_agg(struct(t.timestamp as at) ${newest}.at`, of: (entry: Entry): Json => entry.micros },
      {
        sql: `array_agg(t ${newest}.metadata[offset(0)].response[offset(0)].status_code`,
        of: (entry: Entry): Json => at(entry, 'response.status_code'),
      },
    ])
    const sql = `select r.method, ${field.sql} as last from edge_logs t ${request} group by r.method`
    const rows = byValues(
      of('edge_logs'),
      (entry) => [at(entry, 'request.method')],
      ([method = null], group) => ({ method, last: field.of([...group].sort(newestFirst)[0] as Entry) }),
    )
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'TO_JSON_STRING of what is not read directly': (dice, of) => {
    const table = dice.pick(['edge_logs', 'auth_logs', 'storage_logs'])
    // What a subquery selects is metadata as Studio's panel needs it.
    const whole = (entry: Entry) => JSON.stringify(shownMetadata(entry))
    const element = ({ metadata }: Entry) => JSON.stringify(nested(metadata)).slice(1, -1)
    const inner = `select id, metadata from ${table}`
    const { from, json, write } = dice.pick([
      { from: `(${inner})`, json: 'metadata', write: whole },
      {
        from: `(${inner} union all select id, metadata from supavisor_logs)`,
        json: 'metadata',
        write: whole,
      },
      { from: `(${inner} group by id, metadata)`, json: 'metadata', write: whole },
      { from: table, json: 'metadata[safe_offset(0)]', write: element },
      {
        from: `(select id, m from ${table} cross join unnest(metadata) as m)`,
        json: 'm',
        write: element,
      },
      {
        from: `(${inner})`,
        json: 'struct(metadata as m, 1 as n)',
        write: (entry: Entry) => `{"m":${whole(entry)},"n":1}`,
      },
      {
        from: `${table} t`,
        json: 't',
        write: ({ id, micros, event_message, metadata }: Entry) =>
          JSON.stringify({ id, timestamp: micros, event_message, metadata: nested(metadata) }),
      },
    ])
    const isGrouped = json === 'metadata' && dice.percent(40)
    const sql = `select id, to_json_string(${isGrouped ? `any_value(${json})` : json}) as json from ${from}${isGrouped ? ' group by id' : ''}`
    const rows = of(table).map((entry) => ({ id: entry.id, json: write(entry) }))
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'columns with the names of tables': (dice, of) => {
    const name = dice.pick(['edge_logs', 'auth_logs', 'm', 'id_2', 'count'])
    const sql = `select e.id, ${name} * 2 as twice from edge_logs e cross join (select count(*) as ${name} from auth_logs) n join (select id, event_message as storage_logs from edge_logs) x using (id) where storage_logs like '%GET%'`
    const rows = of('edge_logs')
      .filter((entry) => entry.event_message.includes('GET'))
      .map(({ id }) => ({ id, twice: 2 * of('auth_logs').length }))
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'EXISTS with fields': (dice, of) => {
    const { not, keeps } = dice.pick([
      { not: '', keeps: (holds: boolean) => holds },
      { not: 'not ', keeps: (holds: boolean) => !holds },
    ])
    const sql = `select id from auth_logs where ${not}exists (select * from unnest(metadata) as m cross join unnest(m.auth_event) as e where m.status >= 400 or e.action = 'login' order by 1 limit 1)`
    const rows = of('auth_logs')
      .filter((entry) =>
        keeps(Number(numberOf(at(entry, 'status'))) >= 400 || at(entry, 'auth_event.action') === 'login'),
      )
      .map(({ id }) => ({ id }))
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
}

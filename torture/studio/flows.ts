import { type Entry, type Json, oddTexts } from './entries.ts'
import { status } from './pages.ts'
import type { Row } from './question.ts'
import type { Report } from './reports.ts'
import {
  at,
  dateTime,
  groupedBy,
  like,
  nested,
  newestFirst,
  quoted,
  shownMetadata,
  textOf,
  truncated,
} from './terms.ts'

const apiKey =
  'left join unnest(request.sb) as sb left join unnest(sb.jwt) as jwt left join unnest(COALESCE(jwt.apikey, [])) as apikey left join unnest(apikey.payload) as apikey_payload'
const edge =
  'cross join unnest(metadata) as m left join unnest(m.request) as request left join unnest(m.response) as response left join unnest(request.headers) as headers left join unnest(response.headers) as resp_headers left join unnest(request.cf) as cf'

/** Queries of the unified logs, of panels and links, and SQL that people and models write. */
export const flows: Record<string, Report> = {
  'U2: the service flow of a request': (dice, of) => {
    const entry = of('edge_logs').length > 0 ? dice.pick(of('edge_logs')) : undefined
    const bare = ['user_agent', 'referer', 'method', 'protocol', 'country', 'algorithm']
    const sql = `select id, el.timestamp as timestamp, el as raw_log_data, apikey_payload IS NOT NULL as has_key, COALESCE(apikey_payload.algorithm, 'none') as algorithm_used, ${bare.map((name) => `${name} as the_${name}`).join(', ')}, CASE WHEN referer = '-' AND protocol LIKE 'HTTP/%' AND method IN ('GET', 'POST') THEN concat(referer, protocol, method) ELSE COALESCE(referer, protocol, method) END as mixed, null as function_logs from edge_logs as el ${edge} ${apiKey} where id = ${quoted(entry?.id ?? 'none')} limit 1`
    const rows = (entry ? [entry] : []).map((one) => {
      const [agent, referer, method, protocol] = [
        'headers.user_agent',
        'headers.referer',
        'method',
        'protocol',
      ].map((path) => at(one, `request.${path}`))
      const isMixed =
        referer === '-' &&
        textOf(protocol ?? null)?.startsWith('HTTP/') &&
        (method === 'GET' || method === 'POST')
      return {
        ...{ id: one.id, timestamp: one.micros },
        raw_log_data: [
          {
            id: one.id,
            timestamp: one.micros,
            event_message: one.event_message,
            metadata: nested(one.metadata),
          },
        ],
        ...{
          has_key: false,
          algorithm_used: 'none',
          the_user_agent: agent ?? null,
          the_referer: referer ?? null,
        },
        ...{
          the_method: method ?? null,
          the_protocol: protocol ?? null,
          the_country: at(one, 'request.cf.country'),
          the_algorithm: null,
        },
        ...{
          mixed: isMixed ? `${referer}${protocol}${method}` : (referer ?? protocol ?? method ?? null),
          function_logs: null,
        },
      }
    })
    return { name: '', sql, expected: { rows, order: 'exact' } }
  },
  'U1: a join in brackets': (_dice, of) => {
    const sql = `select e.id, pm.parsed.error_severity as severity from edge_logs as e cross join unnest(metadata) as m left join (postgres_logs p cross join unnest(metadata) as pm) on timestamp_trunc(p.timestamp, second) = timestamp_trunc(e.timestamp, second) and pm.parsed.error_severity = 'LOG'`
    const rows = of('edge_logs').flatMap<Row>((entry) => {
      const same = of('postgres_logs').filter(
        (other) =>
          truncated(other.micros, 'second') === entry.micros && at(other, 'parsed.error_severity') === 'LOG',
      )
      return same.length === 0
        ? [{ id: entry.id, severity: null }]
        : same.map(() => ({ id: entry.id, severity: 'LOG' }))
    })
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'U1: a search without case': (dice, of) => {
    const table = dice.pick(['edge_logs', 'postgres_logs', 'auth_logs', 'realtime_logs'])
    const text = dice.pick(oddTexts)
    const matches = like(`%${text}%`.toLowerCase())
    const sql = `select id, event_message from ${table} where LOWER(\`event_message\`) LIKE LOWER(${quoted(`%${text}%`)}) order by timestamp desc`
    const rows = of(table)
      .filter((entry) => matches(entry.event_message.toLowerCase()))
      .sort(newestFirst)
    return {
      name: '',
      sql,
      expected: { rows: rows.map(({ id, event_message }) => ({ id, event_message })), order: 'exact' },
    }
  },
  'link of an Auth user': (dice, of) => {
    const agent = dice.pick(['node', "O'Agent", 'none'])
    const sql = `select id, timestamp, event_message, metadata from edge_logs where ( metadata[SAFE_OFFSET(0)].request[SAFE_OFFSET(0)].headers[SAFE_OFFSET(0)].user_agent = ${quoted(agent)} ) order by timestamp desc limit 100`
    const rows = of('edge_logs')
      .filter((entry) => at(entry, 'request.headers.user_agent') === agent)
      .sort(newestFirst)
    return {
      name: '',
      sql,
      expected: {
        rows: rows.slice(0, 100).map((entry) => ({
          id: entry.id,
          timestamp: entry.micros,
          event_message: entry.event_message,
          metadata: shownMetadata(entry),
        })),
        order: 'exact',
      },
    }
  },
  'K1: the last use of keys': (_dice, of) => {
    const sql = `select unix_millis(max(timestamp)) as timestamp, apikey.\`hash\`, count(*) as count from edge_logs ${edge} ${apiKey} GROUP BY apikey.\`hash\``
    const found = of('edge_logs')
    const newest = found.reduce((most, { micros }) => Math.max(most, micros), 0)
    const rows =
      found.length === 0 ? [] : [{ timestamp: Math.floor(newest / 1000), hash: null, count: found.length }]
    return { name: '', sql, expected: { rows, order: 'exact' } }
  },
  'aggregates, also over no rows': (dice, of) => {
    const table = dice.pick(['edge_logs', 'auth_logs', 'storage_logs'])
    const [id, any] = [dice.pick(oddTexts), dice.percent(50)]
    const found = of(table).filter((entry) => any || entry.id === id)
    const micros = found.map((entry) => entry.micros).sort((one, other) => one - other)
    const [first = null, last = null] = [micros[0], micros.at(-1)]
    const sql = `select count(*) as logs, min(timestamp) as first, max(cast(timestamp as datetime)) as last, max(cast(timestamp as int64)) as edge_logs, count(distinct id) as ids, string_agg(case when id is null then id end) as none from ${table} where ${any ? 'true' : `id = ${quoted(id)}`}`
    const row = {
      logs: found.length,
      first,
      last: last === null ? null : dateTime(last),
      edge_logs: last,
      ids: found.length,
      none: null,
    }
    return { name: '', sql, expected: { rows: [row], order: 'exact' } }
  },
  TO_JSON_STRING: (dice, of) => {
    const { sql: where, keeps } = dice.pick([
      {
        sql: 'to_json_string(metadata) like \'%"status_code":500%\'',
        keeps: (entry: Entry) => status.of(entry) === 500,
      },
      {
        sql: "json_value(to_json_string(metadata), '$[0].request[0].method') = 'GET'",
        keeps: (entry: Entry) => at(entry, 'request.method') === 'GET',
      },
    ])
    const sql = `select id, to_json_string(metadata) as whole, to_json_string(m.response) as response from edge_logs cross join unnest(metadata) as m where ${where}`
    const rows = of('edge_logs')
      .filter(keeps)
      .map((entry) => ({
        id: entry.id,
        whole: JSON.stringify(nested(entry.metadata)),
        response: JSON.stringify(nested(entry.metadata.response as Json)),
      }))
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'joins with USING': (dice, of) => {
    const type = dice.pick(['join', 'left join', 'full join', 'right join'])
    const minutes = (table: string) => groupedBy(of(table), ({ micros }) => truncated(micros, 'minute'))
    const [left, right] = [minutes('edge_logs'), minutes('auth_logs')]
    const counts = (table: string, name: string) =>
      `(select timestamp_trunc(timestamp, minute) as minute, count(*) as ${name} from ${table} group by minute)`
    const sql = `select minute, path, count from ${counts('edge_logs', 'path')} ${type} ${counts('auth_logs', 'count')} using (minute)`
    const keys = [...new Set([...left.keys(), ...right.keys()])].filter((key) =>
      type === 'join'
        ? left.has(key) && right.has(key)
        : type === 'left join'
          ? left.has(key)
          : type === 'right join'
            ? right.has(key)
            : true,
    )
    const rows = keys.map((minute) => ({
      minute,
      path: left.get(minute)?.length ?? null,
      count: right.get(minute)?.length ?? null,
    }))
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
}

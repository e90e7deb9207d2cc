import type { Dice } from '../fuzz/dice.ts'
import type { Entry, Json } from './entries.ts'
import { flows } from './flows.ts'
import { lists } from './lists.ts'
import { type Asked, pages, status } from './pages.ts'
import { platformReports } from './platform-reports.ts'
import {
  at,
  byTime,
  byValues,
  type Condition,
  compares,
  dateTime,
  equals,
  field,
  groupedBy,
  isLike,
  matches,
  newestFirst,
  numberOf,
  quoted,
  shownMetadata,
  sum,
  textOf,
  truncated,
  type Unit,
} from './terms.ts'

export type Report = (dice: Dice, of: (table: string) => Entry[]) => Asked

const edge =
  'cross join unnest(metadata) as m cross join unnest(m.request) as request cross join unnest(m.response) as response'
const headers = `${edge} cross join unnest(request.headers) as headers`
const path = field('request.path', 'request.path')

/** Aliases that are also names of tables, views, sources, columns and functions. */
const aliases = [
  'count',
  'c',
  'logs',
  'edge_logs',
  'function_logs',
  'path',
  'level',
  'timestamp_1',
  'error',
  'avg',
]

const filterOf = (dice: Dice): Condition =>
  dice.pick([
    compares(status, '>=', 400),
    compares(
      { ...status, sql: '`response`.`status_code`' },
      dice.pick(['=', '!=', '>=', '<=', '>', '<']),
      dice.pick([200, 404, 500]),
    ),
    matches({ ...path, sql: '`request`.`path`' }, '/auth'),
    equals(field('`request`.`method`', 'request.method'), 'GET'),
    isLike(path, '/rest/%'),
    { sql: '`identifier` = @project', holds: () => true },
  ])

const unitOf = (dice: Dice) => dice.pick<Unit>(['minute', 'hour', 'day'])

const parsed = (entry: Entry) => JSON.parse(entry.event_message) as Record<string, Json>
const distinct = (values: readonly Json[]) => new Set(values.filter((value) => value !== null)).size

const reports: Record<string, Report> = {
  'P1, P6: requests by time': (dice, of) => {
    const [unit, condition, name] = [unitOf(dice), filterOf(dice), dice.pick(aliases)]
    const found = of('edge_logs').filter((entry) => condition.holds(entry) === true)
    const sql = `select cast(timestamp_trunc(t.timestamp, ${unit}) as datetime) as timestamp, count(t.id) as ${name} FROM edge_logs t ${headers} WHERE ${condition.sql} GROUP BY timestamp ORDER BY timestamp ASC`
    return {
      name: '',
      sql,
      expected: {
        rows: byTime(found, unit, (group) => ({ [name]: group.length }), dateTime),
        order: 'exact',
      },
    }
  },
  'P2: top routes': (dice, of) => {
    const limit = dice.pick([3, 10])
    const values = (entry: Entry) => [
      at(entry, 'request.path'),
      at(entry, 'request.method'),
      null,
      at(entry, 'response.status_code'),
    ]
    const sql = `select request.path as path, request.method as method, request.search as search, response.status_code as status_code, count(t.id) as count, avg(response.origin_time) as avg from edge_logs t ${edge} group by request.path, request.method, request.search, response.status_code order by count desc limit ${limit}`
    const rows = byValues(of('edge_logs'), values, ([p = null, m = null, s = null, code = null], group) => ({
      path: p,
      method: m,
      search: s,
      status_code: code,
      count: group.length,
      avg: null,
    }))
    return { name: '', sql, expected: { rows, order: 'top', by: 'count', limit } }
  },
  'P3: network traffic': (dice, of) => {
    const unit = unitOf(dice)
    const sql = `select cast(timestamp_trunc(t.timestamp, ${unit}) as datetime) as timestamp, coalesce(safe_divide(sum(cast(coalesce(headers.content_length, "0") as int64)), 1000000), 0) as ingress_mb, coalesce(safe_divide(sum(cast(coalesce(resp_headers.content_length, "500000") as int64)), 1000000), 0) as egress_mb, FROM edge_logs t ${headers} cross join unnest(response.headers) as resp_headers GROUP BY timestamp ORDER BY timestamp ASC`
    const rows = byTime(
      of('edge_logs'),
      unit,
      (group) => ({ ingress_mb: 0, egress_mb: group.length / 2 }),
      dateTime,
    )
    return { name: '', sql, expected: { rows, order: 'exact' } }
  },
  'P5: countif': (_dice, of) => {
    const found = of('edge_logs').filter(
      (entry) =>
        textOf(at(entry, 'request.path'))?.startsWith('/storage/v1/object') &&
        at(entry, 'request.method') === 'GET',
    )
    const sql = `SELECT timestamp_trunc(timestamp, hour) as timestamp, countif( h.cf_cache_status in ('HIT', 'STALE') ) as hit_count, countif( res.status_code >= 400 ) as miss_count, from edge_logs f cross join unnest(f.metadata) as m cross join unnest(m.request) as r cross join unnest(m.response) as res cross join unnest(res.headers) as h where starts_with(r.path, '/storage/v1/object') and r.method = 'GET' group by timestamp order by timestamp desc`
    const row = (group: readonly Entry[]) => ({
      hit_count: 0,
      miss_count: group.filter((entry) => Number(status.of(entry)) >= 400).length,
    })
    return {
      name: '',
      sql,
      expected: { rows: byTime(found, 'hour', row, (micros) => micros).reverse(), order: 'exact' },
    }
  },
  'A1: users of Auth': (dice, of) => {
    const unit = unitOf(dice)
    const action = (entry: Entry) =>
      (parsed(entry).auth_event as Record<string, Json> | undefined)?.action ?? null
    const found = of('auth_logs').filter((entry) =>
      ['login', 'token_refreshed'].includes(String(action(entry))),
    )
    const sql = `select timestamp_trunc(timestamp, ${unit}) as timestamp, count(distinct json_value(f.event_message, "$.auth_event.actor_id")) as count, countif(COALESCE(JSON_VALUE(event_message, "$.provider"), 'unknown') = 'unknown') as unknown from auth_logs f where json_value(f.event_message, "$.auth_event.action") in ('login', 'token_refreshed') group by timestamp order by timestamp`
    const row = (group: readonly Entry[]) => ({
      count: distinct(
        group.map((entry) => (parsed(entry).auth_event as Record<string, Json>).actor_id ?? null),
      ),
      unknown: group.filter((entry) => (parsed(entry).provider ?? null) === null).length,
    })
    return { name: '', sql, expected: { rows: byTime(found, unit, row, (micros) => micros), order: 'exact' } }
  },
  'A2: latency of Auth': (dice, of) => {
    const unit = unitOf(dice)
    const sql = `select timestamp_trunc(timestamp, ${unit}) as timestamp, round(avg(cast(json_value(event_message, "$.duration") as int64)) / 1000000, 2) as avg, max(cast(json_value(event_message, "$.duration") as int64)) as max, min(cast(json_value(event_message, "$.duration") as int64)) as min, sum(cast(json_value(event_message, "$.duration") as int64)) as sum from auth_logs group by timestamp order by timestamp`
    const row = (group: readonly Entry[]) => {
      const numbers = group.flatMap((entry) => numberOf(parsed(entry).duration ?? null) ?? [])
      if (numbers.length === 0) return { avg: null, max: null, min: null, sum: null }
      // The engine rounds halves to even.
      const average = Number((sum(numbers) / numbers.length / 1e6).toFixed(2))
      return { avg: average, max: Math.max(...numbers), min: Math.min(...numbers), sum: sum(numbers) }
    }
    return {
      name: '',
      sql,
      expected: { rows: byTime(of('auth_logs'), unit, row, (micros) => micros), order: 'exact' },
    }
  },
  'A4: errors by status': (_dice, of) => {
    const found = of('edge_logs').filter(
      (entry) => textOf(path.of(entry))?.includes('auth/v1') && Number(status.of(entry)) >= 400,
    )
    const sql = `select timestamp_trunc(timestamp, hour) as timestamp, response.status_code, count(*) as count, h.x_sb_error_code as error_code from edge_logs ${edge} cross join unnest(response.headers) as h where path like '%auth/v1%' and response.status_code >= 400 group by timestamp, status_code, error_code`
    const values = (entry: Entry) => [truncated(entry.micros, 'hour'), status.of(entry)]
    const rows = byValues(found, values, ([timestamp = null, code = null], group) => ({
      timestamp,
      status_code: code,
      count: group.length,
      error_code: null,
    }))
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'template: a header, grouped': (_dice, of) => {
    const found = of('edge_logs').filter((entry) => at(entry, 'request.headers.cf_connecting_ip') !== null)
    const sql = `select h.user_agent, cf.country, count(*) as count from edge_logs left join unnest(metadata) as m on true left join unnest(m.request) as r on true left join unnest(r.headers) as h on true left join unnest(r.cf) as cf on true where h.cf_connecting_ip is not null group by h.user_agent, cf.country order by count desc`
    const rows = byValues(
      found,
      (entry) => [at(entry, 'request.headers.user_agent'), at(entry, 'request.cf.country')],
      ([agent = null, country = null], group) => ({ user_agent: agent, country, count: group.length }),
    )
    return { name: '', sql, expected: { rows, order: 'top', by: 'count', limit: rows.length } }
  },
  'template: a bare field': (_dice, of) => {
    const found = of('edge_logs').filter((entry) => textOf(path.of(entry))?.includes('rest/v1'))
    const sql = `select cast(timestamp as datetime) as timestamp, id, (responseHeaders.cf_cache_status = 'HIT') as cached, method from edge_logs f cross join unnest(f.metadata) as m cross join unnest(m.request) as r cross join unnest(m.response) as res cross join unnest(res.headers) as responseHeaders where path like '%rest/v1%' order by id`
    const rows = found.map((entry) => ({
      timestamp: dateTime(entry.micros),
      id: entry.id,
      cached: null,
      method: at(entry, 'request.method'),
    }))
    return {
      name: '',
      sql,
      expected: { rows: rows.sort((one, other) => (one.id < other.id ? -1 : 1)), order: 'exact' },
    }
  },
  'Explorer: newest entries': (dice, of) => {
    const { table } = dice.pick(pages)
    const limit = dice.pick([5, 50])
    const sql = `select\n  timestamp, event_message, metadata\nfrom ${table} order by timestamp desc limit ${limit}`
    const rows = of(table)
      .sort(newestFirst)
      .slice(0, limit)
      .map((entry) => ({
        timestamp: entry.micros,
        event_message: entry.event_message,
        metadata: shownMetadata(entry),
      }))
    return { name: '', sql, expected: { rows, order: 'exact' } }
  },
  'U1: unified logs': (dice, of) => {
    const search = dice.pick(['GET', 'orders', "it's", '100%', 'TENANT'])
    const chosen = ['edge_logs', 'postgres_logs', 'auth_logs', 'storage_logs']
    const level: Record<string, (entry: Entry) => string> = {
      edge_logs: (entry) =>
        Number(status.of(entry)) >= 500 ? 'error' : Number(status.of(entry)) >= 400 ? 'warning' : 'success',
      postgres_logs: (entry) =>
        ['ERROR', 'FATAL', 'PANIC'].includes(String(at(entry, 'parsed.error_severity')))
          ? 'error'
          : 'success',
    }
    const levelOf = (entry: Entry) => level[entry.table]?.(entry) ?? 'success'
    const branches = [
      `select id, el.timestamp as timestamp, 'edge_logs' as log_type, CAST(response.status_code AS STRING) as status, CASE WHEN response.status_code >= 500 THEN 'error' WHEN response.status_code >= 400 THEN 'warning' ELSE 'success' END as level, request.path as path, event_message, null as logs from edge_logs as el ${edge}`,
      `select id, pgl.timestamp as timestamp, 'postgres_logs' as log_type, null as status, CASE WHEN pgl_parsed.error_severity IN ('ERROR', 'FATAL', 'PANIC') THEN 'error' ELSE 'success' END as level, null as path, event_message, null as logs from postgres_logs as pgl cross join unnest(pgl.metadata) as pgl_metadata cross join unnest(pgl_metadata.parsed) as pgl_parsed`,
      ...['auth_logs', 'storage_logs'].map(
        (table) =>
          `select id, timestamp, '${table}' as log_type, null as status, 'success' as level, null as path, event_message, null as logs from ${table}`,
      ),
    ]
    const found = chosen
      .flatMap(of)
      .filter((entry) => entry.event_message.toLowerCase().includes(search.toLowerCase()))
    const unified = `WITH unified_logs AS (\n${branches.join('\nunion all\n')}\n)\n`
    // A percent sign in a pattern stands for any text.
    const condition = `WHERE contains_substr(event_message, ${quoted(search)})`
    if (dice.percent(50)) {
      const sql = `${unified}SELECT id, timestamp, log_type, status, level, path, event_message, logs FROM unified_logs ${condition} ORDER BY timestamp DESC, id DESC LIMIT 50`
      const rows = found
        .sort(newestFirst)
        .slice(0, 50)
        .map((entry) => ({
          ...{ id: entry.id, timestamp: entry.micros, log_type: entry.table },
          status: entry.table === 'edge_logs' ? textOf(status.of(entry)) : null,
          ...{ level: levelOf(entry), path: entry.table === 'edge_logs' ? path.of(entry) : null },
          ...{ event_message: entry.event_message, logs: null },
        }))
      return { name: '', sql, expected: { rows, order: 'exact' } }
    }
    const facet = (name: string) =>
      `SELECT '${name}' as dimension, ${name} as value, COUNT(*) as count FROM unified_logs ${condition} GROUP BY ${name}`
    const sql = `${unified}SELECT 'total' as dimension, 'all' as value, COUNT(*) as count FROM unified_logs ${condition} UNION ALL ${facet('level')} UNION ALL ${facet('log_type')}`
    const counted = (dimension: string, keyOf: (entry: Entry) => string) =>
      byValues(
        found,
        (entry) => [keyOf(entry)],
        ([value = null], group) => ({ dimension, value, count: group.length }),
      )
    const rows = [
      { dimension: 'total', value: 'all', count: found.length },
      ...counted('level', levelOf),
      ...counted('log_type', (entry) => entry.table),
    ]
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'MCP: windows, EXISTS and lists': (_dice, of) => {
    const ranked = [...groupedBy(of('edge_logs'), (entry) => String(at(entry, 'request.method')))].map(
      ([method, group]) => {
        const newest = [...group].sort(newestFirst)
        return {
          method,
          first: newest[0]?.id ?? null,
          ids: newest.slice(0, 3).map(({ id }) => id),
          n: group.length,
        }
      },
    )
    const sql = `with ranked as (select id, timestamp, request.method as method, row_number() over (partition by request.method order by timestamp desc, id desc) as place from edge_logs ${edge}) select r.method, max(case when place = 1 then r.id end) as first, array_agg(r.id order by place limit 3) as ids, count(*) as n from ranked r where exists (select 1 from edge_logs e where e.id = r.id) group by r.method`
    return { name: '', sql, expected: { rows: ranked, order: 'any' } }
  },
}

export function reportQuestion(dice: Dice, entries: readonly Entry[], project: string): Asked {
  const all = { ...reports, ...platformReports, ...flows, ...lists }
  const name = dice.pick(Object.keys(all))
  const asked = (all[name] as Report)(dice, (table) => entries.filter((entry) => entry.table === table))
  return { ...asked, name, sql: asked.sql.replace('@project', quoted(project)) }
}

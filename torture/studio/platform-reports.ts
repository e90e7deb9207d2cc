import type { Entry, Json } from './entries.ts'
import { status } from './pages.ts'
import type { Report } from './reports.ts'
import { at, byTime, byValues, numberOf, sum, truncated } from './terms.ts'

const response = 'cross join unnest(metadata) as m cross join unnest(m.response) as response'
const region = (entry: Entry) => at(entry, 'response.headers.x_sb_edge_region')
const average = (numbers: readonly number[]) => (numbers.length === 0 ? null : sum(numbers) / numbers.length)

/** What APPROX_QUANTILES returns for so few values: one of them. */
function quantile(numbers: readonly number[], share: number): number | null {
  const sorted = [...numbers].sort((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null
}

/** Reports that Studio shows on the hosted platform. */
export const platformReports: Record<string, Report> = {
  'P4: requests by country': (_dice, of) => {
    const found = of('edge_logs').filter((entry) => at(entry, 'request.cf.country') !== null)
    const sql =
      'select cf.country as country, count(t.id) as count from edge_logs t cross join unnest(metadata) as m cross join unnest(m.response) as response cross join unnest(m.request) as request cross join unnest(request.headers) as headers cross join unnest(request.cf) as cf where cf.country is not null group by cf.country'
    const rows = byValues(
      found,
      (entry) => [at(entry, 'request.cf.country')],
      ([country = null], group) => ({ country, count: group.length }),
    )
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'A3: percentiles of Auth': (dice, of) => {
    const offset = dice.pick([0, 50, 95, 100])
    const duration = 'cast(json_value(event_message, "$.duration") as int64)'
    const sql = `select timestamp_trunc(timestamp, hour) as timestamp, round(approx_quantiles(${duration}, 100)[offset(${offset})] / 1000000, 2) as p from auth_logs group by timestamp order by timestamp`
    const row = (group: readonly Entry[]) => {
      const numbers = group.flatMap((entry) => numberOf(at(entry, 'duration')) ?? [])
      const found = quantile(numbers, offset / 100)
      return { p: found === null ? null : Number((found / 1e6).toFixed(2)) }
    }
    const rows = byTime(of('auth_logs'), 'hour', row, (micros) => micros)
    return { name: '', sql, expected: { rows, order: 'exact' } }
  },
  'G1: invocations of functions': (dice, of) => {
    const { sql: where, keeps } = dice.pick([
      { sql: 'h.x_sb_edge_region is not null', keeps: (entry: Entry) => region(entry) !== null },
      {
        sql: "function_id IN ('f0', 'f2')",
        keeps: (entry: Entry) => ['f0', 'f2'].includes(String(at(entry, 'function_id'))),
      },
      { sql: 'true', keeps: () => true },
    ])
    const sql = `SELECT timestamp_trunc(timestamp, minute) as timestamp, function_id, h.x_sb_edge_region as region, count(*) as count, avg(m.execution_time_ms) as avg FROM function_edge_logs ${response} CROSS JOIN UNNEST(response.headers) as h where ${where} GROUP BY timestamp, function_id, region`
    const values = (entry: Entry) => [
      truncated(entry.micros, 'minute'),
      at(entry, 'function_id'),
      region(entry),
    ]
    const rows = byValues(
      of('function_edge_logs').filter(keeps),
      values,
      ([timestamp = null, id = null, name = null], group) => ({
        ...{ timestamp, function_id: id, region: name, count: group.length },
        avg: average(group.flatMap((entry) => numberOf(at(entry, 'execution_time_ms')) ?? [])),
      }),
    )
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'G2: the list of functions': (_dice, of) => {
    const sql = `SELECT function_id, count(distinct id) as requests_count, count(distinct case when response.status_code >= 500 then id end) as server_err_count FROM function_edge_logs ${response} where function_id is not null GROUP BY function_id`
    const rows = byValues(
      of('function_edge_logs').filter((entry) => at(entry, 'function_id') !== null),
      (entry) => [at(entry, 'function_id')],
      ([id = null], group) => ({
        ...{ function_id: id, requests_count: group.length },
        server_err_count: group.filter((entry) => Number(status.of(entry)) >= 500).length,
      }),
    )
    return { name: '', sql, expected: { rows, order: 'any' } }
  },
  'Q1: insights into queries': (dice, of) => {
    // Only the hosted platform fills the first one.
    const table = dice.pick(['supamonitor_logs', 'auth_logs'])
    const after = of('auth_logs').length > 0 ? Math.floor(dice.pick(of('auth_logs')).micros / 1000) : 0
    const sql = `SELECT SUM(m.duration) as total, MIN(NULLIF(m.duration, 0)) as least, APPROX_QUANTILES(m.duration, 100)[OFFSET(95)] as p95, COUNT(*) as calls FROM ${table} CROSS JOIN UNNEST(metadata) AS m WHERE timestamp >= CAST('${new Date(after).toISOString()}' AS TIMESTAMP)`
    const found = of(table).filter(({ micros }) => micros >= after * 1000)
    const numbers = found.flatMap((entry) => numberOf(at(entry, 'duration')) ?? [])
    const least = numbers.filter((number) => number !== 0)
    const row: Record<string, Json> = {
      total: numbers.length === 0 ? null : sum(numbers),
      least: least.length === 0 ? null : Math.min(...least),
      ...{ p95: quantile(numbers, 0.95), calls: found.length },
    }
    return { name: '', sql, expected: { rows: [row], order: 'exact' } }
  },
}

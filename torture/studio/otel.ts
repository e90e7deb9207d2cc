import type { Dice } from '../fuzz/dice.ts'
import { type Entry, type Json, oddTexts } from './entries.ts'
import type { Asked } from './pages.ts'
import type { Row } from './question.ts'
import { dateTime, groupedBy, newestFirst, quoted, sum, truncated, type Unit } from './terms.ts'

/** The metadata as a flat map of texts, with dots in the keys. */
function attributes(entry: Entry, project: string): Record<string, string> {
  const flat: Record<string, string> = { project, identifier: project }
  const add = (value: Json, path: string) => {
    if (value === null) return
    if (typeof value !== 'object') flat[path] = String(value)
    else if (Array.isArray(value)) flat[path] = JSON.stringify(value)
    else for (const [key, inner] of Object.entries(value)) add(inner, path ? `${path}.${key}` : key)
  }
  add(entry.metadata, '')
  return flat
}

/** Queries for the hosted platform's one table of all logs, in ClickHouse SQL. */
export function otelQuestion(dice: Dice, entries: readonly Entry[], project: string): Asked {
  const source = dice.pick(['edge_logs', 'postgres_logs', 'auth_logs', 'storage_logs', 'function_edge_logs'])
  const own = entries.filter(({ table }) => table === source)
  const get = (entry: Entry, key: string) => attributes(entry, project)[key] ?? ''
  const search = dice.pick(oddTexts).replace(/[%_\\]/g, '')
  const isFiltered = dice.percent(50)
  const found = own.filter(
    ({ event_message: text }) => !isFiltered || text.toLowerCase().includes(search.toLowerCase()),
  )
  // ClickHouse reads a backslash in a string as an escape, and a quote is doubled.
  const where = `WHERE source = '${source}'${isFiltered ? ` AND positionCaseInsensitiveUTF8(event_message, ${quoted(search)}) > 0` : ''}`
  const code = "toInt32OrZero(log_attributes['response.status_code'])"
  const codeOf = (entry: Entry) => Number(get(entry, 'response.status_code') || 0)
  const buckets = (unit: Unit, row: (micros: number, group: readonly Entry[]) => Row) =>
    [...groupedBy(found, ({ micros }) => truncated(micros, unit))]
      .sort(([one], [other]) => one - other)
      .map(([micros, group]) => row(micros, group))
  const kinds: (() => Asked)[] = [
    () => {
      const rows = [...found]
        .sort(newestFirst)
        .slice(0, 100)
        .map((entry) => ({
          ...{ id: entry.id, timestamp: entry.micros, event_message: entry.event_message },
          ...{ method: get(entry, 'request.method'), level: get(entry, 'level') },
        }))
      const sql = `-- ['${source}']\nSELECT id, timestamp, event_message, log_attributes['request.method'] AS method, log_attributes['level'] AS level FROM logs ${where} ORDER BY timestamp DESC, id DESC LIMIT 100`
      return { name: 'O1: the list', sql, expected: { rows, order: 'exact' } }
    },
    () => ({
      name: 'O2: the count',
      sql: `SELECT count() AS ${dice.pick(['count', 'logs', 'edge_logs'])} FROM logs ${where}`,
      expected: { rows: [{ count: found.length }], order: 'exact' },
    }),
    () => {
      const sql = `SELECT toStartOfMinute(timestamp) AS timestamp, countIf(NOT ((${code} >= 500) OR (0))) AS ok_count, countIf(${code} >= 500) AS error_count FROM logs ${where} GROUP BY timestamp ORDER BY timestamp ASC`
      const rows = buckets('minute', (micros, group) => {
        const errors = group.filter((entry) => codeOf(entry) >= 500).length
        return { timestamp: dateTime(micros), ok_count: group.length - errors, error_count: errors }
      })
      return { name: 'O3: the chart', sql, expected: { rows, order: 'exact' } }
    },
    () => {
      const entry = own.length > 0 ? dice.pick(own) : undefined
      const sql = `SELECT id, event_message, source, log_attributes FROM logs WHERE id = ${quoted(entry?.id ?? 'none')} LIMIT 1`
      const rows = entry
        ? [
            {
              id: entry.id,
              event_message: entry.event_message,
              source,
              log_attributes: attributes(entry, project),
            },
          ]
        : []
      return { name: 'O4: one entry', sql, expected: { rows, order: 'exact' } }
    },
    () => {
      const level = (entry: Entry) => get(entry, 'level') || get(entry, 'parsed.error_severity') || 'none'
      const sql = `SELECT 'total' AS facet, 'all' AS value, count() AS count FROM logs ${where} UNION ALL SELECT arrayJoin(['source', 'level']) AS facet, multiIf(facet = 'source', source, facet = 'level', coalesce(nullIf(log_attributes['level'], ''), nullIf(log_attributes['parsed.error_severity'], ''), 'none'), '') AS value, count() AS count FROM logs ${where} GROUP BY facet, value HAVING value != ''`
      const counted = (facet: string, keyOf: (entry: Entry) => string) =>
        [...groupedBy(found, keyOf)].map(([value, group]) => ({ facet, value, count: group.length }))
      const rows = [
        { facet: 'total', value: 'all', count: found.length },
        ...counted('source', () => source),
        ...counted('level', level),
      ]
      return { name: 'O7: unified counts', sql, expected: { rows, order: 'any' } }
    },
    () => {
      const { sql: condition, keeps } = dice.pick([
        {
          sql: "match(log_attributes['path'], '/signup|/verify')",
          keeps: (entry: Entry) => /\/signup|\/verify/.test(get(entry, 'path')),
        },
        {
          sql: "toInt32OrZero(log_attributes['response.status_code']) BETWEEN 400 AND 499",
          keeps: (entry: Entry) => /^4\d\d$/.test(get(entry, 'response.status_code')),
        },
        {
          sql: "log_attributes['parsed.error_severity'] NOT IN ('LOG', '')",
          keeps: (entry: Entry) => !['LOG', ''].includes(get(entry, 'parsed.error_severity')),
        },
        {
          sql: "startsWith(log_attributes['request.path'], '/rest')",
          keeps: (entry: Entry) => get(entry, 'request.path').startsWith('/rest'),
        },
      ])
      const sql = `SELECT id, logs.source AS source FROM logs ${where} AND (${condition}) ORDER BY logs.timestamp DESC, id DESC LIMIT 100`
      const rows = found
        .filter(keeps)
        .sort(newestFirst)
        .slice(0, 100)
        .map(({ id }) => ({ id, source }))
      return { name: 'O11: filters', sql, expected: { rows, order: 'exact' } }
    },
    () => {
      const sql = `SELECT arrayJoin(mapKeys(log_attributes)) AS key, count() AS n FROM logs ${where} GROUP BY key`
      const keys = found.flatMap((entry) => Object.keys(attributes(entry, project)))
      const rows = [...new Set(keys)].map((key) => ({ key, n: keys.filter((other) => other === key).length }))
      return { name: 'O5: the keys', sql, expected: { rows, order: 'any' } }
    },
    () => {
      const level = `CASE WHEN ${code} >= 500 THEN 'error' WHEN ${code} >= 400 THEN 'warning' ELSE 'success' END`
      const sql = `SELECT id, null AS source_id, ${level} AS level, if(source = 'auth_logs', log_attributes['status'], toString(log_attributes['response.status_code'])) AS status FROM logs ${where} ORDER BY timestamp DESC, id DESC LIMIT 50`
      const rows = [...found]
        .sort(newestFirst)
        .slice(0, 50)
        .map((entry) => ({
          ...{ id: entry.id, source_id: null },
          level: codeOf(entry) >= 500 ? 'error' : codeOf(entry) >= 400 ? 'warning' : 'success',
          status: get(entry, source === 'auth_logs' ? 'status' : 'response.status_code'),
        }))
      return { name: 'O6: unified rows', sql, expected: { rows, order: 'exact' } }
    },
    () => {
      const level = `(CASE WHEN ${code} >= 400 THEN 'error' ELSE 'success' END)`
      const sql = `SELECT toStartOfHour(timestamp) AS time_bucket, countIf(${level} = 'success') AS success, countIf(${level} = 'error') AS error, count() AS total_per_bucket FROM logs ${where} GROUP BY time_bucket ORDER BY time_bucket`
      const rows = buckets('hour', (micros, group) => {
        const error = group.filter((entry) => codeOf(entry) >= 400).length
        const success = group.length - error
        return { time_bucket: dateTime(micros), success, error, total_per_bucket: group.length }
      })
      return { name: 'O8: the unified chart', sql, expected: { rows, order: 'exact' } }
    },
    () => {
      const duration = "log_attributes['duration']"
      const sql = `SELECT toUnixTimestamp(toStartOfHour(timestamp)) * 1000000 as timestamp, count(distinct JSONExtractString(event_message, 'auth_event', 'actor_id')) as actors, sum(toInt64OrZero(${duration})) as total, avg(toFloat64OrZero(${duration})) as avg, round(quantile(1)(toInt64OrZero(${duration})) / 1000000, 2) as most, countIf(coalesce(nullIf(log_attributes['provider'], ''), 'unknown') = 'unknown') as unknown FROM logs ${where} GROUP BY timestamp ORDER BY timestamp`
      const rows = buckets('hour', (micros, group) => {
        const durations = group.map((entry) => Number(get(entry, 'duration') || 0))
        return {
          ...{
            timestamp: micros,
            actors: new Set(group.map((entry) => get(entry, 'auth_event.actor_id'))).size,
          },
          ...{ total: sum(durations), avg: sum(durations) / durations.length },
          most: Number((Math.max(...durations) / 1e6).toFixed(2)),
          unknown: group.filter((entry) => get(entry, 'provider') === '').length,
        }
      })
      return { name: 'O9: reports', sql, expected: { rows, order: 'exact' } }
    },
    () => {
      const sql = `SELECT toUnixTimestamp64Micro(timestamp) as timestamp, id, toFloat64OrZero(log_attributes['execution_time_ms']) as ms FROM logs ${where} ORDER BY logs.timestamp DESC, id DESC LIMIT 100`
      const rows = [...found]
        .sort(newestFirst)
        .slice(0, 100)
        .map((entry) => ({
          ...{ timestamp: entry.micros, id: entry.id },
          ms: Number(get(entry, 'execution_time_ms') || 0),
        }))
      return { name: 'O10: functions', sql, expected: { rows, order: 'exact' } }
    },
    () => {
      const sql = `SELECT log_attributes['function_id'] as function_id, count(distinct case when ${code} >= 500 then id end) as failed, count(distinct id) as n FROM logs ${where} GROUP BY function_id`
      const rows = [...groupedBy(found, (entry) => get(entry, 'function_id'))].map(([id, group]) => ({
        ...{ function_id: id, failed: group.filter((entry) => codeOf(entry) >= 500).length, n: group.length },
      }))
      return { name: 'O10: the list of functions', sql, expected: { rows, order: 'any' } }
    },
  ]
  const asked = dice.pick(kinds)()
  const { expected } = asked
  if (asked.name !== 'O2: the count' || !('rows' in expected)) return asked
  const alias = /AS (\w+)/.exec(asked.sql)?.[1] ?? ''
  return { ...asked, expected: { rows: [{ [alias]: found.length }], order: 'exact' } }
}

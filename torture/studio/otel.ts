import type { Dice } from '../fuzz/dice.ts'
import { type Entry, type Json, oddTexts } from './entries.ts'
import type { Asked } from './pages.ts'
import { dateTime, groupedBy, newestFirst, quoted, truncated } from './terms.ts'

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
      const code = "toInt32OrZero(log_attributes['response.status_code'])"
      const sql = `SELECT toStartOfMinute(timestamp) AS timestamp, countIf(NOT ((${code} >= 500) OR (0))) AS ok_count, countIf(${code} >= 500) AS error_count FROM logs ${where} GROUP BY timestamp ORDER BY timestamp ASC`
      const groups = groupedBy(found, ({ micros }) => truncated(micros, 'minute'))
      const rows = [...groups]
        .sort(([one], [other]) => one - other)
        .map(([micros, group]) => {
          const errors = group.filter(
            (entry) => Number(get(entry, 'response.status_code') || 0) >= 500,
          ).length
          return {
            timestamp: dateTime(micros),
            ok_count: group.length - errors,
            error_count: errors,
          }
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
  ]
  const asked = dice.pick(kinds)()
  const { expected } = asked
  if (asked.name !== 'O2: the count' || !('rows' in expected)) return asked
  const alias = /AS (\w+)/.exec(asked.sql)?.[1] ?? ''
  return { ...asked, expected: { rows: [{ [alias]: found.length }], order: 'exact' } }
}

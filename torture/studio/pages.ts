import type { Dice } from '../fuzz/dice.ts'
import { type Entry, oddTexts, type TableName } from './entries.ts'
import type { Expected, Row } from './question.ts'
import {
  both,
  type Condition,
  compares,
  either,
  equals,
  field,
  groupedBy,
  isBetween,
  isIn,
  isLike,
  matches,
  message,
  negated,
  never,
  newestFirst,
  numberOf,
  quoted,
  shownMetadata,
  type Term,
  textOf,
  truncated,
  type Unit,
} from './terms.ts'

export interface Asked {
  name: string
  sql: string
  expected: Expected
}

/** A log page of Studio: how it names things, and which filters it offers. */
export interface Page {
  table: TableName
  joins: string
  /** Columns of the list beside id, timestamp and event_message. */
  fields: Record<string, Term>
  filters: (dice: Dice) => Condition
  error: Condition
  warning: Condition
}

const edgeJoins =
  'cross join unnest(metadata) as m\n  cross join unnest(m.request) as request\n  cross join unnest(m.response) as response'
const request = (name: string) => field(`request.${name}`, `request.${name}`)
export const status = field('response.status_code', 'response.status_code')
const severity = field('parsed.error_severity', 'parsed.error_severity')
const auth = (name: string) => field(`metadata.${name}`, name)
/** The source has a typed column for it, so a text with a number is a number. */
const authStatus: Term = { sql: 'metadata.status', of: (entry) => numberOf(auth('status').of(entry)) }
const safeStatus: Term = { ...authStatus, sql: 'SAFE_CAST(metadata.status AS INT64)' }
const authLevel: Term = {
  sql: "IFNULL(metadata.level, '')",
  of: (entry) => textOf(auth('level').of(entry)) ?? '',
}
const orZero = (term: Term): Term => ({ sql: `IFNULL(${term.sql}, 0)`, of: (entry) => term.of(entry) ?? 0 })
const authError = either(isIn(authLevel, ['error', 'fatal']), compares(orZero(safeStatus), '>=', 500))
const authWarning = either(equals(authLevel, 'warning'), isBetween(orZero(safeStatus), 400, 499))
const [failed, refused] = [
  compares(status, '>=', 500),
  both(compares(status, '>=', 400), compares(status, '<', 500)),
]

/** What people type into the search field, mostly text that occurs. */
export function searched(dice: Dice): string {
  const escaped = dice.pick(oddTexts).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const patterns = [
    'GET .*HTTP',
    '"(GET|POST) /rest',
    '^172\\.',
    ' 5\\d\\d ',
    '[A-Z]{4,}',
    'level.{3}(info|warning||error)',
    '\\w+$',
  ]
  return dice.percent(70) ? escaped : dice.pick(patterns)
}

const range = (dice: Dice, term: Term) => {
  const hundred = 100 * (2 + dice.below(4))
  return isBetween(term, hundred, hundred + 99)
}

const plain = {
  joins: '',
  fields: {},
  filters: (dice: Dice) => matches(message, searched(dice)),
  error: never,
  warning: never,
}
const isCron = either(equals(field('parsed.application_name', 'parsed.application_name'), 'pg_cron'), {
  ...isLike(message, '%cron job%', 'LIKE'),
  sql: "event_message::text LIKE '%cron job%'",
})

export const pages: readonly Page[] = [
  {
    table: 'edge_logs',
    joins: edgeJoins,
    fields: {
      method: request('method'),
      path: request('path'),
      search: request('search'),
      status_code: status,
    },
    filters: (dice) =>
      dice.pick([
        () => range(dice, status),
        () => either(isLike(request('path'), '/rest/%'), isLike(request('path'), '/graphql/%')),
        () => equals(request('method'), dice.pick(['GET', 'POST', 'nothing'])),
        () => equals(field('`request`.`path`', 'request.path'), "/rest/v1/it's"),
        () =>
          compares(
            field('`response`.`status_code`', 'response.status_code'),
            dice.pick(['=', '!=', '>=', '<']),
            404,
          ),
        () => isLike(request('path'), dice.pick(['%/v1/%', '%.png', '/REST/%'])),
        () => isLike(request('path'), '/rest/V1/%', 'ilike'),
      ])(),
    error: failed,
    warning: refused,
  },
  {
    table: 'postgres_logs',
    joins: 'cross join unnest(metadata) as m\n  cross join unnest(m.parsed) as parsed',
    fields: {
      error_severity: severity,
      detail: field('parsed.detail', 'parsed.detail'),
      hint: field('parsed.hint', 'parsed.hint'),
    },
    filters: (dice) =>
      dice.pick([
        () => isIn(severity, ['ERROR', 'FATAL', 'PANIC'], dice.pick(['', 'not '])),
        () => equals(severity, dice.pick(['LOG', 'WARNING'])),
        () => isCron,
      ])(),
    error: isIn(severity, ['ERROR', 'FATAL', 'PANIC']),
    warning: isIn(severity, ['WARNING']),
  },
  {
    table: 'auth_logs',
    joins: 'cross join unnest(metadata) as metadata',
    fields: {
      level: auth('level'),
      status: authStatus,
      path: auth('path'),
      msg: auth('msg'),
      error: auth('error'),
    },
    filters: (dice) =>
      dice.pick([
        () => authError,
        () => authWarning,
        () => both(negated(authError), negated(authWarning)),
        () => range(dice, { ...authStatus, sql: 'cast(metadata.status as int64)' }),
        () => {
          const { holds } = matches(auth('path'), '/signup|/invite|/verify')
          return { sql: 'REGEXP_CONTAINS(metadata.path, "/signup|/invite|/verify")', holds }
        },
        () => equals(field('`metadata`.`level`', 'level'), 'info'),
      ])(),
    error: authError,
    warning: authWarning,
  },
  // Search and filters are ignored on this page.
  { ...plain, table: 'function_edge_logs', joins: edgeJoins, error: failed, warning: refused },
  { ...plain, table: 'storage_logs' },
  { ...plain, table: 'realtime_logs' },
  { ...plain, table: 'postgrest_logs' },
]

const where = (conditions: readonly Condition[]) =>
  conditions.length === 0 ? '' : `where ${conditions.map(({ sql }) => `(${sql})`).join(' and ')}`

const all = (conditions: readonly Condition[]) => (entry: Entry) =>
  conditions.every((condition) => condition.holds(entry) === true)

function filtersOf({ filters }: Page, dice: Dice): Condition[] {
  const some = [
    ...(dice.percent(60) ? [filters(dice)] : []),
    ...(dice.percent(40) ? [matches(message, searched(dice))] : []),
  ]
  return dice.percent(15) ? [...some, filters(dice)] : some
}

/** List, count, chart and single entry of a log page. */
export function pageQuestion(dice: Dice, entries: readonly Entry[]): Asked {
  const page = dice.pick(pages)
  const { table, joins, fields } = page
  const own = entries.filter((entry) => entry.table === table)
  const conditions = filtersOf(page, dice)
  const found = own.filter(all(conditions))
  const kinds: (() => Asked)[] = [
    () => {
      const columns = Object.entries(fields).map(([name, term]) =>
        term.sql.endsWith(`.${name}`) && dice.percent(80) ? term.sql : `${term.sql} as ${name}`,
      )
      const limit = dice.pick([100, 5, 1])
      const sql = `-- local dev ${table} query
select id, ${table}.timestamp, ${['event_message', ...columns].join(', ')} from ${table} ${joins} ${where(conditions)} order by timestamp desc limit ${limit}${dice.pick([';', ''])}`
      const rows = [...found]
        .sort(newestFirst)
        .slice(0, limit)
        .map((entry) => ({
          ...{ id: entry.id, timestamp: entry.micros, event_message: entry.event_message },
          ...Object.fromEntries(Object.entries(fields).map(([name, term]) => [name, term.of(entry)])),
        }))
      return { name: `list of ${table}`, sql, expected: { rows, order: 'exact' } }
    },
    () => ({
      name: `count of ${table}`,
      sql: `SELECT count(*) as count FROM ${table} ${joins} ${where(conditions)}`,
      expected: { rows: [{ count: found.length }], order: 'exact' },
    }),
    () => chart(page, dice, found, conditions),
    () => {
      const entry = dice.percent(90) ? dice.pick(own) : undefined
      const id = entry?.id ?? dice.pick(oddTexts)
      const sql = `select id, timestamp, event_message, metadata from ${table} where id = ${quoted(id)} limit 1`
      const row = entry && {
        id,
        timestamp: entry.micros,
        event_message: entry.event_message,
        metadata: shownMetadata(entry),
      }
      return { name: `entry of ${table}`, sql, expected: { rows: row ? [row] : [], order: 'exact' } }
    },
  ]
  return dice.pick(kinds)()
}

function chart(page: Page, dice: Dice, found: readonly Entry[], conditions: readonly Condition[]): Asked {
  const { table, joins, error, warning } = page
  const unit = dice.pick<Unit>(['minute', 'hour'])
  const afterMs = Math.floor((found.length > 0 ? dice.pick(found).micros : 0) / 1000)
  const after = new Date(afterMs).toISOString()
  const successful = negated(either(error, warning))
  const sql = `
SELECT
-- log-event-chart
  timestamp_trunc(t.timestamp, ${unit}) as timestamp,
  count(CASE WHEN ${successful.sql} THEN 1 END) as ok_count,
  count(CASE WHEN ${error.sql} THEN 1 END) as error_count,
  count(CASE WHEN ${warning.sql} THEN 1 END) as warning_count,
FROM
  ${table} t
  ${joins}
  where ${[...conditions.map((condition) => `(${condition.sql})`), `t.timestamp > '${after}'`].join(' and ')}
GROUP BY
timestamp
ORDER BY
  timestamp ASC
`
  const groups = groupedBy(
    found.filter(({ micros }) => micros > afterMs * 1000),
    ({ micros }) => truncated(micros, unit),
  )
  const countOf = (some: readonly Entry[], condition: Condition) =>
    some.filter((entry) => condition.holds(entry) === true).length
  const rows: Row[] = [...groups]
    .sort(([one], [other]) => one - other)
    .map(([timestamp, some]) => ({
      timestamp,
      ok_count: countOf(some, successful),
      error_count: countOf(some, error),
      warning_count: countOf(some, warning),
    }))
  return { name: `chart of ${table}`, sql, expected: { rows, order: 'exact' } }
}

/** Searches that are no regular expressions say so. */
export function brokenSearch(dice: Dice): Asked {
  const pattern = dice.pick(['(', '[a', '*x', 'a{2,1}', '(?<n', ')', '\\'])
  const { table } = dice.pick(pages)
  return {
    name: `invalid search of ${table}`,
    sql: `select id, ${table}.timestamp, event_message from ${table} where regexp_contains(event_message, ${quoted(pattern)}) order by timestamp desc limit 100`,
    expected: { error: /regular expression|compile|regexp/i },
  }
}

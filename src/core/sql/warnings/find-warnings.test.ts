import { describe, expect, test } from 'vitest'
import { recent, warned } from '../../../../test/support/sql/warned.ts'
import { findWarnings, maxWarnedLength, type WarnedQuery } from './find-warnings.ts'

describe('undeclared_parameter and unused_parameter', () => {
  const find = (sql: string, more: Partial<WarnedQuery>) =>
    findWarnings({
      ...{
        sql,
        declared: [],

        sandbox: false,
        columnsOf: () => undefined,
      },
      ...more,
    })

  test('a mistyped parameter is reported at its first use, with the declared name', async () => {
    const sql = 'SELECT 1\nFROM edge_logs\nWHERE project = @projct OR id = @projct AND timestamp > @now'
    expect(await find(sql, { declared: ['project'] })).toContainEqual({
      code: 'undeclared_parameter',
      message: '@projct is not declared, so it is null unless a caller sends it. Did you mean @project?',
      line: 3,
      column: 17,
    })
  })

  test('a parameter without a similar declaration is reported, too', async () => {
    const [warning] = await find('SELECT @region', { declared: [] })
    expect(warning?.message).toBe(
      '@region is not declared, so it is null unless a caller sends it. Declare it.',
    )
    expect((await find('SELECT @Now', {}))[0]?.message).toContain('Did you mean @now?')
  })

  test('a declared parameter that the SQL does not use is reported at the start', async () => {
    expect(await find('\n  SELECT 1', { declared: ['limit'] })).toEqual([
      {
        code: 'unused_parameter',
        message:
          'The parameter limit is declared, but the SQL does not use it. Use @limit, or remove the declaration.',
        ...{ line: 1, column: 1 },
      },
    ])
    const [quoted] = await find("SELECT 1 WHERE 'a' = '@project'", { declared: ['project'] })
    expect(quoted?.message).toContain('In quotes, @project is only text')
  })

  test.each([
    ['a declared parameter', 'SELECT @project', { declared: ['project'] }],
    ['@now', 'SELECT @now', {}],
    ['an undeclared name in a string', "SELECT 'mail@example.com'", {}],
    ['an undeclared name in a comment', 'SELECT 1 -- @project', {}],
    ['a server variable', 'SELECT @@version', {}],
    ['a use in a view', 'WITH v AS (SELECT @project AS p) SELECT 1', { declared: ['project'] }],
  ])('%s is not reported', async (_, sql, more) => {
    expect(await find(sql, more)).toEqual([])
  })
})

describe('alias_shadows_column', () => {
  const warnedAliases = (sql: string) => warned(sql, /alias_shadows_column/)

  test.each([
    `SELECT timestamp::date AS timestamp, count() AS n FROM edge_logs WHERE ${recent} GROUP BY timestamp`,
    `SELECT toStartOfHour(timestamp) AS timestamp, count() AS n FROM edge_logs\nWHERE ${recent} GROUP BY timestamp ORDER BY timestamp`,
    `SELECT toStartOfHour(timestamp) timestamp FROM edge_logs WHERE ${recent}`,
    `SELECT timestamp::date timestamp FROM edge_logs WHERE ${recent}`,
    `SELECT toStartOfHour(e.timestamp) AS timestamp FROM edge_logs AS e WHERE ${recent}`,
    `SELECT id FROM (SELECT id, toStartOfDay(timestamp) AS timestamp FROM auth_logs WHERE ${recent})`,
    `WITH d AS (SELECT toStartOfDay(timestamp) AS timestamp FROM auth_logs WHERE ${recent}) SELECT count() FROM d`,
  ])('%s is reported', async (sql) => {
    expect(await warnedAliases(sql)).toEqual(['timestamp'])
  })

  test('other columns and typed columns are reported, too', async () => {
    expect(
      await warnedAliases("SELECT lower(project) AS project FROM edge_logs WHERE project = 'Shop'"),
    ).toEqual(['project'])
    expect(
      await warnedAliases(
        'SELECT intDiv(status_code, 100) AS status_code FROM edge_logs WHERE status_code >= 500',
      ),
    ).toEqual(['status_code'])
  })

  test('the message names the clause and the source', async () => {
    const sql = `SELECT timestamp::date AS timestamp FROM edge_logs WHERE ${recent}`
    const [warning] = await findWarnings({
      ...{ sql, declared: [], sandbox: false, columnsOf: () => [] },
    })
    expect(warning).toEqual({
      code: 'alias_shadows_column',
      message:
        'WHERE reads the alias timestamp, not the column of edge_logs with this name. Choose another alias, or write the table before the column.',
      ...{ line: 1, column: 27 },
    })
  })

  test.each([
    `SELECT timestamp, id FROM edge_logs WHERE ${recent}`,
    `SELECT timestamp AS timestamp FROM edge_logs WHERE ${recent}`,
    `SELECT e.timestamp AS timestamp FROM edge_logs e WHERE ${recent}`,
    `SELECT (timestamp) AS timestamp FROM edge_logs WHERE ${recent}`,
    `SELECT toTimeZone(timestamp, 'Europe/Berlin') AS timestamp FROM edge_logs WHERE ${recent}`,
    `SELECT timestamp::date AS day FROM edge_logs WHERE ${recent}`,
    `SELECT metadata.x::Nullable(String) AS x FROM edge_logs WHERE x = 'a' AND ${recent}`,
    // The alias is what GROUP BY and ORDER BY mean.
    `SELECT toStartOfHour(timestamp) AS timestamp, count() AS n FROM edge_logs WHERE project = 'p' GROUP BY timestamp ORDER BY timestamp`,
    `SELECT toStartOfHour(timestamp) AS timestamp, count() AS n FROM edge_logs GROUP BY timestamp HAVING timestamp > 1`,
    `SELECT toStartOfHour(edge_logs.timestamp) AS timestamp FROM edge_logs WHERE edge_logs.${recent}`,
    `SELECT toStartOfHour(e.timestamp) AS timestamp FROM edge_logs AS e WHERE e.${recent}`,
    `SELECT toStartOfHour(timestamp) AS timestamp FROM edge_logs WHERE wellhead.edge_logs.${recent}`,
    // The value of the typed column.
    `SELECT metadata.response.status_code::Nullable(Int64) AS status_code FROM edge_logs WHERE status_code >= 500`,
    `SELECT CAST(metadata.request.path AS String) AS request_path FROM edge_logs WHERE request_path = '/'`,
    // Not a column of the source.
    `SELECT metadata.response.status_code::Nullable(Int64) AS status_code FROM auth_logs WHERE status_code >= 500`,
    `WITH r AS (SELECT toStartOfHour(timestamp) AS bucket FROM edge_logs WHERE ${recent}) SELECT bucket AS timestamp FROM r WHERE bucket > 1`,
    // The WHERE of another SELECT.
    `SELECT toStartOfDay(timestamp) AS timestamp FROM edge_logs WHERE id IN (SELECT id FROM auth_logs WHERE ${recent})`,
    `SELECT max(timestamp) AS timestamp FROM edge_logs WHERE project = 'p'`,
    `SELECT CAST(id AS timestamp) FROM edge_logs WHERE ${recent}`,
    `SELECT count() AS n FROM numbers(10) WHERE number > 1`,
    `SELECT toString(number) AS id FROM numbers(10) WHERE id > '1'`,
  ])('%s is not reported', async (sql) => {
    expect(await warnedAliases(sql)).toEqual([])
  })
})

describe('unbounded_time', () => {
  const warnedTimes = (sql: string, more?: Partial<WarnedQuery>) => warned(sql, /unbounded_time/, more)

  test.each([
    ['SELECT count() FROM edge_logs', 'edge_logs'],
    ['SELECT count() FROM wellhead.edge_logs', 'edge_logs'],
    ['SELECT timestamp, id FROM edge_logs WHERE project = @project ORDER BY timestamp DESC', 'edge_logs'],
    [`SELECT id FROM edge_logs WHERE id IN (SELECT id FROM auth_logs WHERE ${recent})`, 'edge_logs'],
    [`SELECT id FROM edge_logs WHERE ${recent} AND id IN (SELECT id FROM auth_logs)`, 'auth_logs'],
    [`SELECT count() FROM edge_logs e JOIN auth_logs a ON a.id = e.id WHERE e.${recent}`, 'auth_logs'],
    ["SELECT count() FROM edge_logs WHERE metadata.timestamp > '2026'", 'edge_logs'],
    ['SELECT count() FROM edge_logs WHERE toHour(timestamp) = 3', 'edge_logs'],
    ['WITH e AS (SELECT id FROM edge_logs) SELECT count() FROM e', 'edge_logs'],
    ['SELECT count() FROM (SELECT timestamp FROM edge_logs)', 'edge_logs'],
    [
      `WITH e AS (SELECT * FROM edge_logs) SELECT count() FROM e WHERE ${recent} UNION ALL SELECT count() FROM e`,
      'edge_logs',
    ],
    [`SELECT 1 FROM auth_logs WHERE ${recent} UNION ALL SELECT 1 FROM edge_logs`, 'edge_logs'],
    // An alias of the bound, not of the entry's time.
    ['WITH @now - INTERVAL 1 DAY AS since SELECT count() FROM edge_logs WHERE since > 1', 'edge_logs'],
  ])('%s is reported', async (sql, source) => {
    expect(await warnedTimes(sql)).toEqual([source])
  })

  test.each([
    `SELECT count() FROM edge_logs WHERE ${recent}`,
    'SELECT count() FROM edge_logs WHERE timestamp BETWEEN @a AND @b',
    'SELECT count() FROM edge_logs WHERE @now - INTERVAL 1 DAY < timestamp',
    'SELECT count() FROM edge_logs WHERE (@since IS NULL OR timestamp > @since)',
    'SELECT count() FROM edge_logs WHERE toDate(timestamp) = today()',
    "SELECT count() FROM edge_logs WHERE dateDiff('hour', timestamp, @now) < 3",
    'SELECT count() FROM edge_logs AS e WHERE e.timestamp > @since',
    'SELECT count() FROM edge_logs WHERE edge_logs.timestamp > @since',
    'SELECT count() FROM edge_logs WHERE wellhead.edge_logs.timestamp > @since',
    'SELECT count() FROM edge_logs WHERE `timestamp` > @since',
    'WITH toDate(timestamp) AS day SELECT count() FROM edge_logs WHERE day = today()',
    'SELECT toStartOfHour(timestamp) AS hour, count() FROM edge_logs WHERE hour > @since GROUP BY hour',
    'SELECT toStartOfHour(timestamp) hour, count() FROM edge_logs GROUP BY hour HAVING hour > @since',
    'FROM edge_logs SELECT count() WHERE timestamp > @since',
    // Bounded by the SELECT around it.
    'SELECT count() FROM (SELECT timestamp FROM edge_logs) WHERE timestamp > @since',
    'SELECT count() FROM ((SELECT timestamp FROM edge_logs)) WHERE timestamp > @since',
    'SELECT count() FROM (SELECT timestamp AS at FROM edge_logs) AS e WHERE e.at > @since',
    'WITH e AS (SELECT * FROM edge_logs) SELECT count() FROM e WHERE timestamp > @since',
    'WITH a AS (SELECT * FROM edge_logs), b AS (SELECT * FROM a) SELECT count() FROM b WHERE timestamp > @since',
    'WITH e AS (SELECT * FROM edge_logs UNION ALL SELECT * FROM auth_logs) SELECT count() FROM e WHERE timestamp > @since',
    // Both are bounded, or the name could mean either.
    'SELECT 1 FROM edge_logs e JOIN auth_logs a ON a.id = e.id AND a.timestamp > e.timestamp WHERE e.timestamp > @since',
    'SELECT 1 FROM edge_logs e JOIN auth_logs a ON a.id = e.id WHERE timestamp > @since',
    'SELECT 1 FROM edge_logs ARRAY JOIN [1, 2] AS n',
    // Not a source, not sent, or not certain.
    'SELECT number FROM numbers(10)',
    'SELECT 1',
    'SELECT count() FROM unknown_table',
    `WITH unused AS (SELECT * FROM edge_logs) SELECT count() FROM auth_logs WHERE ${recent}`,
    `WITH edge_logs AS (SELECT * FROM auth_logs WHERE ${recent}) SELECT count() FROM edge_logs`,
    'WITH RECURSIVE r AS (SELECT id, timestamp FROM edge_logs UNION ALL SELECT id, timestamp FROM r) SELECT 1 FROM r WHERE timestamp > @since',
  ])('%s is not reported', async (sql) => {
    expect(await warnedTimes(sql)).toEqual([])
  })

  test('callers of a sandbox can limit the time of views that show it', async () => {
    const views = (items: string) =>
      `WITH entries AS (SELECT ${items} FROM edge_logs) SELECT count() FROM entries`
    expect(await warnedTimes(views('id, timestamp'), { sandbox: true })).toEqual([])
    expect(await warnedTimes(views('*'), { sandbox: true })).toEqual([])
    expect(await warnedTimes(views('count() AS n'), { sandbox: true })).toHaveLength(1)
    expect(await warnedTimes(views('id, timestamp'))).toHaveLength(1)
  })
})

describe('current_time and mixed_intervals', () => {
  const warnedTimes = (sql: string) => warned(`SELECT ${sql} AS x`, /current_time|mixed_intervals/)

  test.each([
    ['now()', ['now']],
    ['NOW() - INTERVAL 1 DAY', ['NOW']],
    ['today() + now64(3)', ['today', 'now64']],
    ["multiIf(@by = 'week', toIntervalWeek(1), toIntervalDay(1))", ['multiIf']],
    ['if(1, toIntervalHour(1), toIntervalMinute(1) * 5)', ['if']],
    ['if(1, INTERVAL 1 WEEK, INTERVAL 1 DAY)', ['if']],
    [
      'CURRENT_DATE + CURRENT_TIMESTAMP() + utc_timestamp()',
      ['CURRENT_DATE', 'CURRENT_TIMESTAMP', 'utc_timestamp'],
    ],
  ])('%s is reported', async (sql, found) => expect(await warnedTimes(sql)).toEqual(found))

  test.each([
    '@now',
    'now',
    "'now()'",
    'current_date',
    'if(1, INTERVAL 1 DAY, INTERVAL 7 DAY)',
    'multiIf(@a, toIntervalDay(1), @b, toIntervalDay(7), toIntervalDay(30))',
    'if(1, timestamp + toIntervalDay(1), timestamp + toIntervalHour(1))',
    'f(1, toIntervalDay(1), toIntervalHour(1))',
  ])('%s is not reported', async (sql) => expect(await warnedTimes(sql)).toEqual([]))
})

describe('no_order', () => {
  const warnedOrders = (sql: string) => warned(sql, /no_order/)
  const from = `FROM edge_logs WHERE ${recent}`

  test.each([
    `SELECT id ${from} LIMIT 100`,
    `SELECT id ${from} LIMIT @limit`,
    `SELECT DISTINCT project ${from} LIMIT 10`,
    `SELECT project, count() AS n ${from} GROUP BY project LIMIT 10`,
    `SELECT id ${from} LIMIT 10 OFFSET 20`,
    `SELECT id ${from} LIMIT 1 BY project LIMIT 10`,
    `SELECT id, row_number() OVER (ORDER BY timestamp) AS n ${from} LIMIT 10`,
    `SELECT count() FROM (SELECT id ${from} LIMIT 10)`,
    `SELECT id FROM (SELECT id ${from}) LIMIT 10`,
    `WITH e AS (SELECT id ${from}) SELECT id FROM e LIMIT 10`,
    `SELECT count() OVER () AS n ${from} LIMIT 5`,
    `SELECT id ${from} UNION ALL SELECT id ${from} LIMIT 10`,
  ])('%s is reported', async (sql) => {
    expect((await warnedOrders(sql)).map((word) => word.toUpperCase())).toEqual(['LIMIT'])
  })

  test.each([
    `SELECT id ${from} ORDER BY timestamp DESC LIMIT 100`,
    `SELECT id ${from} order by timestamp limit 100`,
    `SELECT id ${from}`,
    `SELECT id ${from} LIMIT 0`,
    `SELECT id ${from} LIMIT 1 BY project`,
    `SELECT count() AS n, max(timestamp) ${from} LIMIT 1`,
    `SELECT quantile(0.9)(status_code) ${from} LIMIT 1`,
    'SELECT 1 LIMIT 1',
    'SELECT number FROM numbers(10) LIMIT 5',
    `SELECT id FROM (SELECT id ${from} ORDER BY timestamp) LIMIT 10`,
    `WITH e AS (SELECT id ${from} ORDER BY timestamp DESC) SELECT id FROM e LIMIT 10`,
    `SELECT event_message FROM edge_logs WHERE id = @id LIMIT 1`,
    `SELECT 1 WHERE EXISTS (SELECT 1 ${from} LIMIT 1)`,
    `SELECT metadata.limit::Nullable(Int64) AS limit ${from}`,
    `SELECT limit, id ${from}`,
  ])('%s is not reported', async (sql) => {
    expect(await warnedOrders(sql)).toEqual([])
  })
})

describe('long SQL', () => {
  const repeated = (times: number, part: (index: number) => string, separator: string) =>
    Array.from({ length: times }, (_, index) => part(index)).join(separator)
  const select = 'SELECT metadata.a::Int64 AS x FROM edge_logs LIMIT 1'

  // Quadratic time would take many times as long as a test may.
  test.each([
    ['UNION', `SELECT x FROM (${repeated(1_500, () => select, ' UNION ALL ')})`],
    [
      'named subqueries',
      `WITH ${repeated(2_000, (index) => `c${index} AS (SELECT id FROM edge_logs)`, ', ')} ` +
        `SELECT 1 FROM ${repeated(2_000, (index) => `c${index}`, ', ')}`,
    ],
    ['tables', `SELECT 1 FROM ${repeated(5_000, (index) => `edge_logs AS t${index}`, ', ')}`],
    ['aliases', `SELECT f(${repeated(8_000, (index) => `1 AS a${index}`, '+')}) FROM edge_logs`],
    ['lambdas', `SELECT ${repeated(8_000, () => 'f(x -> x)', ', ')}, metadata.a FROM edge_logs`],
    ['casts', `SELECT ${repeated(3_000, () => 'ifNull(metadata.a::Int64, 1)', ', ')} FROM edge_logs`],
  ])('of %s is read in linear time', async (_, sql) => {
    expect(sql.length).toBeLessThan(maxWarnedLength)
    await warned(sql, /./)
  })

  test('has no warnings', async () => {
    expect(await warned(select, /no_order/)).toHaveLength(1)
    expect(await warned(`${select} -- ${'a'.repeat(maxWarnedLength)}`, /./)).toEqual([])
  })
})

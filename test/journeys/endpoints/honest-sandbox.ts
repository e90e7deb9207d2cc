type Row = Record<string, unknown>

/** Far ahead, so that the entries never expire. */
const at = (time: string) => Date.parse(`2046-11-14T${time}Z`) * 1000

/** Entries of the sources for one of two projects. */
export function sandboxEntries(project: string): { edge_logs: unknown[]; auth_logs: unknown[] } {
  const edge = (id: string, time: string, path: string, status: number, ms: number, tags: string[]) => ({
    id: `${project}${id}`,
    project,
    timestamp: `2046-11-14T${time}Z`,
    event_message: `${project}: GET ${path} ${status}`,
    metadata: {
      request: { url: `https://${project}.example.com${path}?q=1`, path, ip: '10.0.0.7' },
      response: { status_code: status },
      ms,
      tags,
    },
  })
  return {
    edge_logs: [
      edge('1', '12:00:00', '/rest/v1/a', 200, 10, ['x', 'y']),
      edge('2', '12:00:30', '/auth/v1/b', 401, 20, ['x']),
      edge('3', '12:01:00', '/rest/v1/c', 500, 30, []),
      edge('4', '13:00:00', '/rest/v1/a', 200, 40, ['z']),
    ],
    auth_logs: ['1', '2', '9'].map((id) => ({
      id: `${project}${id}`,
      project,
      timestamp: '2046-11-14T12:30:00Z',
      event_message: `${project}: login ${id}`,
    })),
  }
}

export const sandboxQuery = `WITH
  @project AS me,
  toDateTime64('2046-11-14 00:00:00', 6, 'UTC') AS since,
  entries AS (
    SELECT id, timestamp, event_message, metadata, request_path AS path,
      metadata.response.status_code::Int64 AS status, metadata.ms::Float64 AS ms
    FROM edge_logs
    WHERE project = me AND timestamp >= since
  ),
  sessions AS (SELECT id, event_message FROM auth_logs WHERE project = me),
  failures AS (SELECT * FROM entries WHERE status >= 400)
SELECT count() AS entries FROM entries`

/** SQL that callers send, and its rows for project a. */
export const honestSandbox: readonly (readonly [sql: string, rows: readonly Row[]])[] = [
  // Names of the endpoint that are not views are free for callers.
  [
    "WITH 'b' AS me SELECT count() AS n, any(event_message) LIKE 'a: %' AS own FROM entries",
    [{ n: 4, own: 1 }],
  ],
  ["SELECT 'b' AS me, (SELECT count() FROM entries) AS n", [{ me: 'b', n: 4 }]],
  ["SELECT (SELECT min(id) FROM entries) AS id FROM (SELECT 'b' AS me, 'b' AS project)", [{ id: 'a1' }]],
  ["SELECT arrayMap(me -> (SELECT min(id) FROM entries), ['b']) AS ids", [{ ids: ['a1'] }]],
  [
    'SELECT count() AS n FROM entries AS me, (SELECT now64(6) + INTERVAL 1 YEAR AS since) AS later',
    [{ n: 4 }],
  ],
  // A value can have any name, also that of a source or of a view.
  [
    "SELECT count() AS edge_logs, 'x (alias y)' AS auth_logs, edge_logs + 1 AS sessions FROM entries",
    [{ edge_logs: 4, auth_logs: 'x (alias y)', sessions: 5 }],
  ],
  [
    'SELECT entries.status AS entries, count() AS edge_logs FROM entries WHERE entries.status = 500 GROUP BY entries ORDER BY edge_logs',
    [{ entries: 500, edge_logs: 1 }],
  ],
  [
    'SELECT edge_logs FROM (SELECT id AS edge_logs, id AS auth_logs FROM entries) WHERE auth_logs IN (SELECT id AS edge_logs FROM entries WHERE status = 500)',
    [{ edge_logs: 'a3' }],
  ],
  ['SELECT 1 AS one', [{ one: 1 }]],
  // Any name can be that of a subquery.
  [
    'WITH _a AS (SELECT min(id) AS id FROM entries) SELECT id, _a.id AS own FROM _a',
    [{ id: 'a1', own: 'a1' }],
  ],
  ['WITH x_local AS (SELECT 7 AS id) SELECT * FROM x_local', [{ id: 7 }]],
  [
    'WITH _other AS (SELECT 1 AS x), `system.one` AS (SELECT 2 AS y) SELECT x, y FROM _other, `system.one`',
    [{ x: 1, y: 2 }],
  ],
  [
    'WITH "a b" AS (SELECT status FROM entries), `ä` AS (SELECT 500 AS n) SELECT count() AS n, any("a b".status) AS s FROM "a b" WHERE status IN `ä`',
    [{ n: 1, s: 500 }],
  ],
  ['SELECT _s.n AS n, _s.* FROM (SELECT 1 AS n) AS _s', [{ n: 1, '_s.n': 1 }]],
  ['SELECT count() AS n FROM entries', [{ n: 4 }]],
  ['SELECT count() FROM entries', [{ 'count()': 4 }]],
  ['select id from entries order by id limit 2;', [{ id: 'a1' }, { id: 'a2' }]],
  ['SELECT id FROM entries ORDER BY timestamp DESC LIMIT 1 -- the newest', [{ id: 'a4' }]],
  ['/* all */ SELECT * FROM sessions ORDER BY id DESC LIMIT 1', [{ id: 'a9', event_message: 'a: login 9' }]],
  ['FROM entries SELECT id WHERE status = 500', [{ id: 'a3' }]],
  ['SELECT `id` FROM `entries` WHERE "status" = 401', [{ id: 'a2' }]],
  ['SELECT * EXCEPT (event_message) FROM sessions WHERE id = $x$a1$x$', [{ id: 'a1' }]],
  [
    "SELECT * REPLACE (upper(id) AS id) FROM sessions WHERE event_message LIKE '%1'",
    [{ id: 'A1', event_message: 'a: login 1' }],
  ],
  ["SELECT COLUMNS('^i') FROM sessions WHERE id = 'a2'", [{ id: 'a2' }]],
  [
    'SELECT path, count() AS n, avg(ms) AS mean FROM entries GROUP BY path ORDER BY n DESC, path LIMIT 2',
    [
      { path: '/rest/v1/a', n: 2, mean: 25 },
      { path: '/auth/v1/b', n: 1, mean: 20 },
    ],
  ],
  [
    'SELECT toStartOfHour(timestamp) AS hour, countIf(status >= 400) AS errors FROM entries GROUP BY hour ORDER BY hour',
    [
      { hour: '2046-11-14T12:00:00', errors: 2 },
      { hour: '2046-11-14T13:00:00', errors: 0 },
    ],
  ],
  ['SELECT timestamp FROM entries ORDER BY timestamp LIMIT 1 OFFSET 1', [{ timestamp: at('12:00:30') }]],
  ['SELECT count() AS n FROM entries HAVING n > 3', [{ n: 4 }]],
  ['SELECT DISTINCT path FROM entries ORDER BY path LIMIT 1', [{ path: '/auth/v1/b' }]],
  ['SELECT id FROM entries ORDER BY id LIMIT 1 BY path LIMIT 9', [{ id: 'a1' }, { id: 'a2' }, { id: 'a3' }]],
  ['SELECT id FROM failures ORDER BY id', [{ id: 'a2' }, { id: 'a3' }]],
  [
    'SELECT quantileExact(0.5)(ms) AS p50, quantilesExact(0.1, 0.9)(ms) AS ps FROM entries',
    [{ p50: 30, ps: [10, 40] }],
  ],
  [
    'SELECT uniq(path) AS u, uniqExact(status) AS s, topK(1)(path) AS t FROM entries',
    [{ u: 3, s: 3, t: ['/rest/v1/a'] }],
  ],
  ['SELECT argMax(id, ms) AS slowest, max(ms) AS most FROM entries', [{ slowest: 'a4', most: 40 }]],
  ['SELECT sumIf(ms, status = 200) AS ok, sumOrNullIf(ms, 0) AS none FROM entries', [{ ok: 50, none: null }]],
  ['SELECT count(DISTINCT path) AS n FROM entries', [{ n: 3 }]],
  ['SELECT count() FILTER (WHERE status = 200) AS n FROM entries', [{ n: 2 }]],
  [
    'SELECT groupArray(id) AS ids FROM (SELECT id FROM entries ORDER BY id)',
    [{ ids: ['a1', 'a2', 'a3', 'a4'] }],
  ],
  [
    'SELECT id, row_number() OVER (ORDER BY ms DESC) AS place FROM entries ORDER BY id LIMIT 1',
    [{ id: 'a1', place: 4 }],
  ],
  [
    'SELECT id, ms - lagInFrame(ms) OVER w AS more FROM entries WINDOW w AS (ORDER BY ms) ORDER BY id LIMIT 2',
    [
      { id: 'a1', more: 10 },
      { id: 'a2', more: 10 },
    ],
  ],
  ['SELECT id FROM entries QUALIFY row_number() OVER (ORDER BY ms DESC) = 1', [{ id: 'a4' }]],
  [
    'SELECT e.id AS id FROM entries AS e JOIN sessions AS s ON e.id = s.id ORDER BY id',
    [{ id: 'a1' }, { id: 'a2' }],
  ],
  ['SELECT s.id AS id FROM sessions AS s LEFT ANTI JOIN entries AS e USING (id)', [{ id: 'a9' }]],
  ['SELECT count() AS n FROM entries, sessions', [{ n: 12 }]],
  [
    'SELECT id FROM entries WHERE id NOT IN (SELECT id FROM sessions) ORDER BY id',
    [{ id: 'a3' }, { id: 'a4' }],
  ],
  ["WITH ['a1', 'a9'] AS wanted SELECT id FROM entries WHERE id IN wanted", [{ id: 'a1' }]],
  [
    'SELECT id FROM entries WHERE ms > (SELECT avg(ms) FROM entries) ORDER BY id',
    [{ id: 'a3' }, { id: 'a4' }],
  ],
  ['SELECT (SELECT count() FROM entries) - (SELECT count() FROM sessions) AS more', [{ more: 1 }]],
  [
    'SELECT s.id AS id FROM sessions AS s WHERE EXISTS (SELECT 1 FROM failures AS f WHERE f.id = s.id)',
    [{ id: 'a2' }],
  ],
  [
    "SELECT id FROM failures UNION ALL SELECT id FROM sessions WHERE id = 'a9' ORDER BY id",
    [{ id: 'a2' }, { id: 'a3' }, { id: 'a9' }],
  ],
  ['(SELECT id FROM entries) INTERSECT (SELECT id FROM failures WHERE status = 500)', [{ id: 'a3' }]],
  ['WITH slow AS (SELECT id FROM entries WHERE ms > 25) SELECT count() AS n FROM slow', [{ n: 2 }]],
  [
    'WITH 25 AS bound, slow AS (SELECT id FROM entries WHERE ms > bound) SELECT max(id) AS id FROM slow',
    [{ id: 'a4' }],
  ],
  [
    'WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT sum(n) AS s FROM r',
    [{ s: 10 }],
  ],
  [
    'SELECT tag, count() AS n FROM entries ARRAY JOIN metadata.tags::Array(String) AS tag GROUP BY tag ORDER BY n DESC, tag LIMIT 1',
    [{ tag: 'x', n: 2 }],
  ],
  [
    'SELECT metadata.request.path::String AS p FROM entries WHERE metadata.response.status_code::Int64 = 401',
    [{ p: '/auth/v1/b' }],
  ],
  [
    "SELECT arrayMap(x -> x * 2, [1, 2]) AS xs, mapKeys(map('k', 1)) AS ks, (1, 'b').2 AS t",
    [{ xs: [2, 4], ks: ['k'], t: 'b' }],
  ],
  ["SELECT arrayReduce('sum', [1, 2, 3]) AS s, arraySort(x -> -x, [1, 3, 2]) AS r", [{ s: 6, r: [3, 2, 1] }]],
  [
    "SELECT extract(event_message, '[0-9]+$') AS code, replaceRegexpOne(id, '^a', '') AS n FROM failures WHERE match(path, '^/rest')",
    [{ code: '500', n: '3' }],
  ],
  [
    'SELECT domain(metadata.request.url::String) AS host, IPv4NumToString(IPv4StringToNum(metadata.request.ip::String)) AS ip FROM entries LIMIT 1',
    [{ host: 'a.example.com', ip: '10.0.0.7' }],
  ],
  [
    "SELECT JSONExtractInt('{\"a\":5}', 'a') AS a, hex(MD5('x')) != '' AS h, 1::Nullable(Int8) AS i",
    [{ a: 5, h: 1, i: 1 }],
  ],
  [
    "SELECT multiIf(status < 400, 'ok', 'bad') AS kind, count() AS n FROM entries GROUP BY ALL ORDER BY ALL",
    [
      { kind: 'bad', n: 2 },
      { kind: 'ok', n: 2 },
    ],
  ],
  [
    'SELECT path, count() AS n FROM entries GROUP BY ROLLUP(path) ORDER BY n DESC, path LIMIT 1',
    [{ path: '', n: 4 }],
  ],
  [
    'SELECT n, v FROM (SELECT 1 AS n, 5 AS v UNION ALL SELECT 3, 6) ORDER BY n WITH FILL FROM 1 TO 4 INTERPOLATE (v AS v + 1)',
    [
      { n: 1, v: 5 },
      { n: 2, v: 6 },
      { n: 3, v: 6 },
    ],
  ],
  [
    'SELECT number FROM numbers(3) WHERE number % 2 = 0 UNION ALL SELECT generate_series FROM generate_series(7, 7)',
    [{ number: 0 }, { number: 2 }, { number: 7 }],
  ],
  ["SELECT a FROM values('a String', 'x')", [{ a: 'x' }]],
]

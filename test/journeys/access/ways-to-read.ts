/** Names that break a careless filter. */
export const projects = ['tenant-a', "o'neil\\", 'tenant-a%', 'Tenant-A'] as const

/** A palindrome of digits per project, so that changing case or order cannot turn one into another. */
const marks: Record<(typeof projects)[number], string> = {
  'tenant-a': '130211112031',
  "o'neil\\": '465544445564',
  'tenant-a%': '798877778897',
  'Tenant-A': '279006600972',
}

/** Occurs in every entry of the project and nowhere else. */
export const markOf = (project: string) => marks[project as (typeof projects)[number]]

export const secretOf = (project: string) => `secret of <${project}> ${markOf(project)}`

/** What the ids of a project begin with. */
export const idsOf = (project: string) => `${project} ${markOf(project)}`

/** Two entries for each of two sources. */
export function entriesOf(project: string, timestamp: string) {
  return [1, 2].map((n) => ({
    id: `${idsOf(project)} ${n}`,
    project,
    timestamp,
    event_message: secretOf(project),
    metadata: {
      request: { url: 'https://any.example.com/rest/v1', path: '/rest/v1' },
      [markOf(project)]: true,
    },
  }))
}

/** Other projects whose mark is in a response. Marks have no letters, so changing case or escaping does not hide them. */
export function leakedProjects(text: string, project: string): string[] {
  return projects.filter((other) => other !== project && text.includes(markOf(other)))
}

/** Number of rows with the `project` of another tenant. */
export function foreignRows(text: string, project: string): number {
  if (!text.startsWith('{"result":[')) return 0
  const { result } = JSON.parse(text) as { result: { project?: unknown }[] }
  return result.filter((row) => typeof row.project === 'string' && row.project !== project).length
}

const foreignId = `'${idsOf('Tenant-A')} 1'`

/**
 * Ways of saved SQL to read `edge_logs` and `auth_logs` without filtering by project. A tenant's response to each must be
 * the same whether or not others have entries, and one for all projects must differ from it.
 */
export const readers: readonly string[] = [
  'SELECT id, project FROM edge_logs',
  'SELECT count() AS n FROM edge_logs',
  "SELECT count() AS n FROM edge_logs WHERE project != ''",
  "SELECT count() AS n FROM edge_logs WHERE project = 'Tenant-A' OR 1",
  'SELECT count() AS a, count(id) AS b, countIf(1) AS c, uniqExact(project) AS d FROM edge_logs',
  'SELECT DISTINCT project FROM edge_logs',
  'SELECT min(project) AS a, max(project) AS b, min(id) AS c, max(id) AS d FROM edge_logs',
  'SELECT project, count() AS n FROM edge_logs GROUP BY project WITH TOTALS',
  'SELECT project AS p, count() AS n FROM edge_logs GROUP BY ROLLUP(project) ORDER BY ALL',
  'SELECT arrayJoin(groupArray(id)) AS id, project FROM edge_logs GROUP BY project ORDER BY id',
  'SELECT id FROM edge_logs ORDER BY project DESC, timestamp DESC, id LIMIT 1',
  'SELECT id FROM edge_logs ORDER BY id DESC LIMIT 1 WITH TIES',
  'SELECT id FROM edge_logs ORDER BY id LIMIT 1 BY timestamp',
  'SELECT e.id AS id, e.project AS project FROM edge_logs AS e ORDER BY id',
  'SELECT edge_logs.id AS id FROM auth_logs AS edge_logs ORDER BY id',
  'SELECT r.id AS id, r.project AS project FROM edge_logs AS l INNER JOIN auth_logs AS r ON l.event_message = r.event_message ORDER BY id',
  'SELECT e.id AS e, a.id AS a FROM edge_logs AS e JOIN auth_logs AS a ON e.project != a.project OR e.id = a.id ORDER BY ALL',
  "SELECT e.id AS e, a.id AS a FROM edge_logs AS e FULL JOIN auth_logs AS a ON a.id = e.id AND a.project = 'Tenant-A' ORDER BY ALL",
  'SELECT e.id AS e, a.id AS a FROM edge_logs AS e ASOF JOIN auth_logs AS a ON e.id = a.id AND e.timestamp <= a.timestamp ORDER BY ALL',
  'SELECT a.id AS id FROM numbers(10) AS n LEFT JOIN auth_logs AS a ON toString(n.number) = right(a.id, 1) ORDER BY ALL',
  'SELECT count() AS n FROM edge_logs AS e, auth_logs AS a',
  'SELECT count() AS n FROM (SELECT id AS i FROM edge_logs) AS x PASTE JOIN (SELECT id AS j FROM edge_logs) AS y',
  'SELECT count() AS n FROM edge_logs CROSS JOIN (SELECT max(timestamp) AS max_at FROM edge_logs) AS m WHERE timestamp <= max_at',
  'SELECT id, project FROM edge_logs UNION ALL SELECT id, project FROM auth_logs ORDER BY id',
  'SELECT * FROM (SELECT project FROM edge_logs UNION DISTINCT SELECT project FROM auth_logs) ORDER BY project',
  "SELECT 'Tenant-A' AS p INTERSECT SELECT project FROM edge_logs",
  "SELECT count() AS n FROM (SELECT DISTINCT project FROM edge_logs EXCEPT SELECT 'tenant-a')",
  'SELECT (SELECT arraySort(groupUniqArray(project)) FROM edge_logs) AS x',
  'SELECT id, project, (SELECT uniqExact(project) FROM auth_logs) AS seen FROM edge_logs WHERE seen != 1 OR project IN (SELECT project FROM auth_logs) ORDER BY id',
  'SELECT id, project FROM auth_logs WHERE event_message IN (SELECT event_message FROM edge_logs) ORDER BY id',
  `SELECT 'Tenant-A' IN (SELECT project FROM edge_logs) AS a, ('Tenant-A', ${foreignId}) IN (SELECT project, id FROM edge_logs) AS b`,
  "SELECT number FROM numbers(3) AS n WHERE EXISTS (SELECT 1 FROM edge_logs AS e WHERE e.project = 'Tenant-A' AND right(e.id, 1) = toString(n.number))",
  "WITH RECURSIVE r AS (SELECT 0 AS n, '' AS p UNION ALL SELECT n + 1, project FROM r, edge_logs WHERE n < 1) SELECT DISTINCT p FROM r ORDER BY p",
  'WITH c AS (SELECT * FROM edge_logs) SELECT id, project FROM c ORDER BY id',
  'WITH c AS (SELECT * FROM edge_logs) SELECT count() AS n FROM c AS l JOIN c AS r USING (timestamp)',
  'WITH edge_logs AS (SELECT * FROM auth_logs) SELECT id FROM edge_logs ORDER BY id',
  'SELECT id, p AS project FROM edge_logs ARRAY JOIN [project] AS p ORDER BY id',
  'SELECT arrayMap(x -> (SELECT count() FROM edge_logs), [1]) AS c',
  'SELECT id, min(project) OVER () AS project FROM edge_logs ORDER BY id',
  'SELECT any(id) OVER (ORDER BY id DESC) AS x FROM edge_logs ORDER BY x',
  'SELECT id FROM edge_logs QUALIFY row_number() OVER (ORDER BY project DESC, id DESC) = 1',
  'SELECT arrayJoin(JSONExtractKeys(metadata::String)) AS key FROM edge_logs ORDER BY key',
]

/** Fails on a row of another project than that of `@mine`, if it is ever shown one, and tells what is in it. */
const failing = (table = '') => `toUInt8(if(startsWith(${table}id, @mine), '1', ${table}event_message))`
const dividing = (table = '') => `intDiv(1, startsWith(${table}id, @mine))`

/** Ways that fail on a row of another project. Optimizations move, merge and drop filters, so every kind of query is a case of its own. */
export const failingReaders: readonly string[] = [
  `SELECT count() AS n FROM edge_logs WHERE ${failing()} = 1`,
  `SELECT count() AS n FROM edge_logs WHERE ${dividing()} = 1`,
  `SELECT count() AS n FROM edge_logs WHERE right(id, 1) = '1' AND ${failing()} = 1 AND timestamp > toDateTime64('2020-01-01 00:00:00', 6, 'UTC')`,
  `WITH c AS (SELECT * FROM edge_logs WHERE timestamp > '2000-01-01') SELECT count() AS n FROM c WHERE ${dividing()} = 1`,
  `SELECT count() AS n FROM (SELECT * FROM edge_logs) WHERE ${failing()} = 1`,
  `SELECT count() AS n FROM (SELECT id, event_message FROM edge_logs UNION ALL SELECT id, event_message FROM auth_logs) WHERE ${failing()} = 1`,
  `SELECT count() AS n FROM (SELECT * FROM edge_logs UNION ALL SELECT * FROM auth_logs) WHERE ${dividing()} = 1`,
  `SELECT count() AS n FROM edge_logs AS e JOIN auth_logs AS a ON e.id = a.id WHERE ${failing('e.')} = 1`,
  `SELECT count() AS n FROM edge_logs AS e JOIN auth_logs AS a ON ${failing('e.')} = ${failing('a.')}`,
  `SELECT count() AS n FROM edge_logs AS e LEFT JOIN auth_logs AS a ON e.id = a.id AND ${failing('a.')} = 1`,
  `SELECT count() AS n FROM edge_logs AS l LEFT JOIN auth_logs AS r ON l.id = r.id AND ${dividing('r.')} = 1`,
  `SELECT count() AS n FROM edge_logs AS e SEMI LEFT JOIN auth_logs AS a ON ${failing('e.')} = ${failing('a.')}`,
  `SELECT count() AS n FROM edge_logs AS e, auth_logs AS a WHERE ${failing('e.')} = ${failing('a.')}`,
  `SELECT count() AS n FROM edge_logs WHERE ${failing()} IN (SELECT ${failing()} FROM auth_logs)`,
  `SELECT count() AS n FROM edge_logs AS e WHERE EXISTS (SELECT 1 FROM auth_logs AS a WHERE a.id = e.id AND ${failing('a.')} = 1)`,
  `SELECT id FROM edge_logs ORDER BY ${failing()}, id LIMIT 1`,
  `SELECT ${failing()} AS k, count() AS n FROM edge_logs GROUP BY k`,
  `SELECT k FROM edge_logs ARRAY JOIN [${failing()}] AS k WHERE k = 1`,
  `SELECT sum(k) OVER () AS s FROM (SELECT ${failing()} AS k FROM edge_logs) WHERE k = 1 LIMIT 1`,
  `SELECT id FROM edge_logs WHERE ${failing()} = 1 ORDER BY timestamp, id LIMIT 1`,
]

/** Endpoints that are read in the place of both sources. The second reads another one. */
export const innerEndpoints: readonly { name: string; query: string }[] = [
  { name: 'tenants.edge', query: 'SELECT * FROM edge_logs' },
  { name: 'tenants.auth', query: 'WITH c AS (SELECT * FROM `tenants.auth-all`) SELECT * FROM c' },
  { name: 'tenants.auth-all', query: 'SELECT * FROM auth_logs' },
]

export const nestedReaders: readonly string[] = [...readers, ...failingReaders]
  // A source keeps its name where it is that of an alias or of a subquery.
  .filter((sql) => !/metadata|EXISTS|RECURSIVE|(?:AS|WITH) (?:edge|auth)_logs|edge_logs\./.test(sql))
  .filter((_, n) => n % 3 === 1)
  .map((sql) => sql.replaceAll('edge_logs', '`tenants.edge`').replaceAll('auth_logs', '`tenants.auth`'))

/** With a list of other projects as `@others`. */
export const listReaders: readonly string[] = [
  'SELECT id, project FROM edge_logs WHERE empty(@others) OR project IN @others OR 1 ORDER BY id',
  'SELECT count() AS n FROM edge_logs WHERE has(@others, project) OR NOT has(@others, project)',
  'SELECT id, arrayJoin(@others) AS other FROM edge_logs ORDER BY ALL',
]

/** The same ways with tables in the place of both sources. Tables have neither typed columns nor metadata. */
export const tableReaders: readonly string[] = [...readers, ...failingReaders]
  .filter((sql) => !/metadata|request_|_format|EXISTS/.test(sql))
  .filter((_, n) => n % 2 === 0)
  // Values can be null, which would not be read as a number.
  .map((sql) => sql.replace(/toUInt8\((if\(startsWith[^)]*\)[^)]*\))\)/g, 'toUInt8(assumeNotNull($1))'))
  .map((sql) => sql.replaceAll('edge_logs', 'edge_rows').replaceAll('auth_logs', 'auth_rows'))

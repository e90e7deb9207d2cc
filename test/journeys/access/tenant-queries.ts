/** Names that break a careless filter. */
export const projects = ['tenant-a', "o'neil\\", 'tenant-a%', 'Tenant-A'] as const

/** A palindrome of digits per project, so that changing case or order cannot turn one into another. */
const marks: Record<(typeof projects)[number], string> = {
  'tenant-a': '130211112031',
  "o'neil\\": '465544445564',
  'tenant-a%': '798877778897',
  'Tenant-A': '279006600972',
}

/** Occurs in every secret of the project and nowhere else. */
export const markOf = (project: string) => marks[project as (typeof projects)[number]]

export const secretOf = (project: string) => `secret of <${project}> ${markOf(project)}`

/** Ways to read a source without filtering by project. */
export const readers = {
  plain: 'SELECT id, project FROM edge_logs',
  'common-table': 'WITH c AS (SELECT * FROM edge_logs) SELECT id, project FROM c',
  union: 'SELECT id, project FROM edge_logs UNION ALL SELECT id, project FROM auth_logs',
  join: 'SELECT r.id AS id, r.project AS project FROM edge_logs AS l INNER JOIN auth_logs AS r ON l.event_message = r.event_message',
  'in-subquery':
    'SELECT id, project FROM auth_logs WHERE event_message IN (SELECT event_message FROM edge_logs)',
  scalar:
    'SELECT id, project, (SELECT uniqExact(project) FROM auth_logs) AS seen FROM edge_logs WHERE seen != 1 OR project IN (SELECT project FROM auth_logs)',
  alias: 'SELECT e.id AS id, e.project AS project FROM edge_logs AS e',
  'array-join': 'SELECT id, p AS project FROM edge_logs ARRAY JOIN [project] AS p',
  window: 'SELECT id, any(project) OVER () AS project FROM edge_logs',
  grouped: 'SELECT arrayJoin(groupArray(id)) AS id, project FROM edge_logs GROUP BY project',
}

export const counters = {
  count: 'SELECT count() AS n FROM edge_logs',
  'count-filtered': "SELECT count() AS n FROM edge_logs WHERE project != ''",
  'count-distinct': 'SELECT uniqExact(project) + 1 AS n FROM edge_logs',
  'max-of-two':
    'SELECT toUInt64(count() + min(timestamp = max_at)) AS n FROM edge_logs CROSS JOIN (SELECT max(timestamp) AS max_at FROM edge_logs) AS m WHERE 0',
}

/** Each fails if it reads a row of another project. */
export const oracles = {
  'oracle-where':
    "SELECT count() AS n FROM edge_logs WHERE intDiv(1, NOT startsWith(event_message, 'secret of') OR event_message = @mine) = 1",
  'oracle-nested':
    "WITH c AS (SELECT * FROM edge_logs WHERE timestamp > '2000-01-01') SELECT count() AS n FROM c WHERE intDiv(1, event_message = @mine) = 1",
  'oracle-join':
    'SELECT count() AS n FROM edge_logs AS l LEFT JOIN auth_logs AS r ON l.id = r.id AND intDiv(1, r.event_message = @mine) = 1',
  'oracle-union':
    'SELECT count() AS n FROM (SELECT * FROM edge_logs UNION ALL SELECT * FROM auth_logs) WHERE intDiv(1, event_message = @mine) = 1',
}

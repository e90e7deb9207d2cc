import { keptFor, type OwnTable } from '../../core/catalog/own-tables.ts'
import { ownTable } from '../../core/engine/tables.ts'

/** Usage is kept for two years and a bit, so that a year can be compared with the one before. */
export const usageDays = 800

/** Newer rows of a writer replace older ones, at some time. To be completed with what is read, and grouped. */
export const usedSql =
  'SELECT day, project, writer, max(u.entries) AS entries, max(u.bytes) AS bytes, max(u.requests) AS requests, ' +
  'max(u.hits) AS hits, max(u.engine_ms) AS engine_ms, max(u.last_at) AS last_at FROM _project_usage AS u'

/** The plan that each project was assigned last, and when. */
export function assignedSql(table = '_projects'): string {
  return `SELECT project, argMax(p.plan, p.at) AS plan, max(p.at) AS assigned_at FROM ${table} AS p GROUP BY project`
}

export const planTables: readonly OwnTable[] = [
  {
    name: '_projects',
    title: 'plans of projects',
    schema: 11,
    // The newest row of a project counts.
    create: (topology) =>
      ownTable(
        topology,
        '_projects',
        "project String, plan LowCardinality(String), at DateTime64(6, 'UTC') DEFAULT now64(6)",
        'ORDER BY project',
        'Replacing',
      ),
    copied: {
      columns: 'project plan at',
      from: '(SELECT project, max(p.at) AS at, argMax(p.plan, p.at) AS plan FROM _projects AS p GROUP BY project)',
    },
  },
  {
    name: '_project_usage',
    title: 'usage of projects',
    schema: 11,
    // Totals of one writer so far, so that a row can be written again. The sum of the writers counts.
    create: (topology) =>
      ownTable(
        topology,
        '_project_usage',
        "day Date, project String, writer String, entries UInt64, bytes UInt64, requests UInt64, hits UInt64, engine_ms Float64, last_at DateTime64(3, 'UTC')",
        `ORDER BY (day, project, writer) TTL day + INTERVAL ${usageDays} DAY DELETE`,
        'Replacing',
      ),
    copied: {
      columns: 'day project writer entries bytes requests hits engine_ms last_at',
      from: `(${usedSql} GROUP BY day, project, writer)`,
      kept: keptFor('day', usageDays),
    },
  },
]

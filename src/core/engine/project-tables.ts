import type { Topology } from './cluster/topology.ts'
import { ownTable } from './tables.ts'

/** Usage is kept for two years and a bit, so that a year can be compared with the one before. */
export const usageDays = 800

/** Newer rows of a writer replace older ones, at some time. To be completed with what is read, and grouped. */
export const usedSql =
  'SELECT day, project, writer, max(u.entries) AS entries, max(u.bytes) AS bytes, max(u.requests) AS requests, ' +
  'max(u.hits) AS hits, max(u.engine_ms) AS engine_ms, max(u.last_at) AS last_at FROM _project_usage AS u'
export const usageSql = `${usedSql} GROUP BY day, project, writer`

/** How often a service reads what others wrote to these tables. */
export const followEveryMs = 1_000

/** Condition for rows that were stored since the newest one that was read, and for some before it: rows may become visible late. */
export const isNewSql = (at: string) => `${at} > toDateTime64({since:String}, 6, 'UTC') - INTERVAL 10 SECOND`

/** The plan that each project was assigned last, and when. */
export function assignedSql(table = '_projects'): string {
  return `SELECT project, argMax(p.plan, p.at) AS plan, max(p.at) AS assigned_at FROM ${table} AS p GROUP BY project`
}

export function createProjectTables(topology: Topology): string[] {
  return [
    // The newest row of a project counts.
    ...ownTable(
      topology,
      '_projects',
      "project String, plan LowCardinality(String), at DateTime64(6, 'UTC') DEFAULT now64(6)",
      'ORDER BY project',
      'Replacing',
    ),
    // Totals of one writer so far, so that a row can be written again. The sum of the writers counts.
    ...ownTable(
      topology,
      '_project_usage',
      "day Date, project String, writer String, entries UInt64, bytes UInt64, requests UInt64, hits UInt64, engine_ms Float64, last_at DateTime64(3, 'UTC')",
      `ORDER BY (day, project, writer) TTL day + INTERVAL ${usageDays} DAY DELETE`,
      'Replacing',
    ),
    // The row with the highest sequence counts.
    ...ownTable(
      topology,
      '_erasures',
      "id String, sequence UInt32, at DateTime64(3, 'UTC') DEFAULT now64(3), body String",
      'ORDER BY (id, sequence)',
      'Replacing',
    ),
  ]
}

import type { Topology } from '../engine/cluster/topology.ts'
import { ownTable, rememberInserts } from '../engine/tables.ts'

/** A table of the service itself, beside those with entries. Data of a release keeps it forever, also in a build without its feature. */
export interface OwnTable {
  readonly name: string
  /** For people. */
  readonly title: string
  /** Number of the schema that created it, one of `migrations`. */
  readonly schema: number
  readonly create: (topology: Topology) => string[]
  readonly copied: CopiedColumns
}

/** How a copy of an installation reads the rows of a table. */
export interface CopiedColumns {
  /** Separated by spaces. */
  readonly columns: string
  /** A subquery, for tables that may have several rows where one counts. By default, the table. */
  readonly from?: string
  /** Condition for rows that will not expire before the parameter `until`. By default, all rows. */
  readonly kept?: string
}

/** Condition for rows that are deleted some days after the time in a column. */
export function keptFor(column: string, days: number): string {
  return `toDateTime(${column}) + INTERVAL ${days} DAY > toDateTime({until:UInt32})`
}

/** How often a service reads rows that other services wrote to the same table. */
export const followEveryMs = 1_000

/** Condition for rows that were stored since the newest one that was read, and for some before it: rows may become visible late. */
export const isNewSql = (at: string) => `${at} > toDateTime64({since:String}, 6, 'UTC') - INTERVAL 10 SECOND`

export const idempotencyDays = 1
const tokenUseDays = 400

export const catalogTable: OwnTable = {
  name: '_catalog',
  title: 'catalog',
  schema: 10,
  create: (topology) => {
    // On a cluster, the catalog relies on it (see `Catalog`).
    const remembered =
      topology.cluster === undefined ? '' : ` SETTINGS ${rememberInserts(topology).join(', ')}`
    return ownTable(
      topology,
      '_catalog',
      "kind LowCardinality(String), id String, version UInt32, changed_at DateTime64(6, 'UTC'), changed_by String, deleted Bool, body String, entry String, position UInt64, address String, request_id String",
      `ORDER BY (kind, id, version)${remembered}`,
    )
  },
  copied: {
    columns: 'entry kind id version changed_at changed_by deleted body position address request_id',
  },
}

/** The tables of core. */
export const coreTables: readonly OwnTable[] = [
  catalogTable,
  {
    name: '_idempotency',
    title: 'idempotency keys',
    schema: 10,
    // The project is that of all entries of the request, so that an erasure finds it; empty if they had several.
    create: (topology) =>
      ownTable(
        topology,
        '_idempotency',
        "key String, at DateTime64(6, 'UTC'), digest String, response String, project String",
        `ORDER BY key TTL toDateTime(at) + INTERVAL ${idempotencyDays} DAY DELETE`,
      ),
    copied: { columns: 'key at digest response project', kept: keptFor('at', idempotencyDays) },
  },
  {
    name: '_token_uses',
    title: 'token uses',
    schema: 10,
    // When each token was last used, and from where.
    create: (topology) =>
      ownTable(
        topology,
        '_token_uses',
        "id String, at DateTime64(3, 'UTC'), address String",
        `ORDER BY id TTL toDateTime(at) + INTERVAL ${tokenUseDays} DAY DELETE`,
        'Replacing',
      ),
    copied: {
      columns: 'id at address',
      // Older uses of a token disappear when parts are merged.
      from: '(SELECT id, max(uses.at) AS at, argMax(uses.address, uses.at) AS address FROM _token_uses AS uses GROUP BY id)',
      kept: keptFor('at', tokenUseDays),
    },
  },
]

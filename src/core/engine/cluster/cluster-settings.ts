import { OperatorError } from '../../base/operator-error.ts'
import type { ClusterLayout } from './topology.ts'

type Settings = Readonly<Record<string, string | number>>

/** An insert whose quorum is not reached in this time is retried with the same token. */
const quorumWithinMs = 20_000

/** Nodes that are away run the statement when they return. */
const schemaWithinSeconds = 20

/** Number of replicas that store an entry before it is acknowledged. */
export function quorumOf({ cluster, replicas }: ClusterLayout, wanted: number | undefined): number {
  if (wanted !== undefined && wanted > replicas) {
    throw new OperatorError(
      `WELLHEAD_CLICKHOUSE_QUORUM is ${wanted}, but a shard of cluster ${cluster} has ${replicas} ` +
        `${replicas === 1 ? 'replica' : 'replicas'}. Set it to at most ${replicas}.`,
    )
  }
  return wanted ?? Math.min(2, replicas)
}

/** Inserts to fewer replicas than there are must be ordered, so that a replica knows whether it lacks one. */
function isOrdered({ replicated, mostReplicas }: ClusterLayout, quorum: number): boolean {
  return replicated && quorum > 1 && quorum < mostReplicas
}

/** For every query, also those that check a node. */
export const distributedReads = {
  // Subqueries run once, over all shards. "local" would join only rows of the same shard.
  distributed_product_mode: 'global',
  max_parallel_replicas: 1,
  // With it, ORDER BY … LIMIT of a distributed table fails on the node that has the rows (seen in 26.7, not in 25.3).
  query_plan_optimize_lazy_materialization: 0,
} as const

export function readSettings(layout: ClusterLayout, quorum: number): Settings {
  return {
    ...distributedReads,
    // A project is on one shard, unless it was stored when there were other shards.
    optimize_skip_unused_shards: layout.shardsChanged ? 0 : 1,
    // Fails rather than missing rows.
    skip_unavailable_shards: 0,
    ...(isOrdered(layout, quorum) && { select_sequential_consistency: 1 }),
  }
}

export function insertSettings(layout: ClusterLayout, quorum: number, table: string): Settings {
  // Resolves when the shards have stored the rows. By default the node keeps them, and sends them later.
  const settings = { distributed_foreground_insert: 1 }
  if (!layout.replicated) return settings
  const isCatalog = table === '_catalog'
  if (quorum === 1 && !isCatalog) return settings
  return {
    ...settings,
    // All nodes have the catalog, and a majority of them must agree on it. Other tables can miss rows for a while.
    insert_quorum: isCatalog ? 'auto' : quorum,
    insert_quorum_timeout: quorumWithinMs,
    insert_quorum_parallel: isCatalog || (!table.startsWith('_') && isOrdered(layout, quorum)) ? 0 : 1,
  }
}

/** For schema statements: waits for the nodes that respond, and reports their errors. */
export function schemaSettings({ replicated }: ClusterLayout): Settings {
  return replicated
    ? {
        distributed_ddl_task_timeout: schemaWithinSeconds,
        distributed_ddl_output_mode: 'null_status_on_timeout',
      }
    : {}
}

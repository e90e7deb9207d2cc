import { OperatorError } from '../../base/operator-error.ts'
import type { Engine } from '../engine.ts'
import { queryRows } from '../json-rows.ts'

/** A single server, or a cluster: there, each shard stores a part of the entries. */
export interface Topology {
  readonly database: string
  readonly cluster: string | undefined
  /** Whether a keeper coordinates several nodes: tables are replicated, and schema statements run on every node. */
  readonly replicated: boolean
  /** Weights of the shards, recorded with the tables: they decide which shard stores a project. */
  readonly shards?: string
}

export interface ClusterLayout extends Topology {
  readonly cluster: string
  readonly replicas: number
  readonly mostReplicas: number
  /** Whether entries were stored when the cluster had other shards, so that a project may be on several. */
  readonly shardsChanged: boolean
}

interface Shard {
  replicas: number
  weight: number
  isLocal: boolean
}

const limits = { deadlineMs: 30_000 }

export function singleServer(database: string): Topology {
  return { database, cluster: undefined, replicated: false }
}

/** Asks a server that knows the cluster. Throws if it cannot serve as this cluster. */
export async function findLayout(engine: Engine, cluster: string): Promise<ClusterLayout> {
  const [shards, { keeper: replicated, recorded }] = await Promise.all([
    readShards(engine, cluster),
    readTables(engine),
  ])
  if (shards.length === 0) {
    throw new OperatorError(
      `ClickHouse has no cluster named ${cluster}. Set WELLHEAD_CLICKHOUSE_CLUSTER to one of system.clusters.`,
    )
  }
  const isOneNode = shards.length === 1 && shards.every(({ replicas, isLocal }) => replicas === 1 && isLocal)
  if (!replicated && !isOneNode) {
    throw new OperatorError(
      `Cluster ${cluster} has several nodes, but no keeper. Add <zookeeper> to the configuration of every node, and ` +
        'allow the user to read system.zookeeper_connection.',
    )
  }
  const weights = `shards ${shards.map(({ weight }) => weight).join(',')}`
  return {
    database: engine.database,
    cluster,
    replicated,
    shards: weights,
    replicas: Math.min(...shards.map(({ replicas }) => replicas)),
    mostReplicas: Math.max(...shards.map(({ replicas }) => replicas)),
    shardsChanged: recorded !== '' && recorded !== weights,
  }
}

async function readShards(engine: Engine, cluster: string): Promise<Shard[]> {
  const sql =
    'SELECT toUInt32(count()) AS replicas, max(shard_weight) AS weight, toBool(max(is_local)) AS isLocal ' +
    'FROM system.clusters WHERE cluster = {cluster:String} GROUP BY shard_num ORDER BY shard_num'
  return queryRows<Shard>(engine, { sql, parameters: { cluster } }, limits)
}

/** Whether the server has a keeper, without which certain tables do not exist; and the recorded shards, if any. */
async function readTables(engine: Engine): Promise<{ keeper: boolean; recorded: string }> {
  const sql =
    "SELECT toBool(countIf(database = 'system' AND name IN ('zookeeper', 'zookeeper_connection'))) AS keeper, " +
    "anyIf(comment, database = currentDatabase() AND name = '_migrations') AS recorded FROM system.tables"
  const [row] = await queryRows<{ keeper: boolean; recorded: string }>(engine, { sql }, limits)
  return row ?? { keeper: false, recorded: '' }
}

/** A table of the system database, with the rows of one replica of each shard. */
export function systemTable({ cluster }: Topology, name: 'parts' | 'mutations'): string {
  return cluster === undefined ? `system.${name}` : `cluster('${cluster}', system.${name})`
}

/** Makes a schema statement run on every node. */
export function onCluster({ replicated, cluster }: Topology): string {
  return replicated ? ` ON CLUSTER \`${cluster}\`` : ''
}

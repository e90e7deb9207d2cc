import { engineDatabase } from '../engine/engine.ts'
import type { HotField, NewSource } from './source.ts'

export const database = engineDatabase

/** A single server, or a cluster whose every statement runs on all of its nodes. */
export interface Topology {
  cluster: string | undefined
}

const searchIndex = 'ngrambf_v1(4, 8192, 2, 0)'

/** So many inserts are remembered per table, so that one that is tried again is stored once. */
const rememberedInserts = 10_000

/** How many different paths of metadata get a column of their own; the others share one. */
const maxPaths = 256

function materialised(field: HotField): string {
  const path = `metadata.${field.path
    .split('.')
    .map((part) => `\`${part}\``)
    .join('.')}`
  // Whatever was sent there, the expression has a value: a strange type must not refuse an entry.
  if (field.type === 'text') {
    return `\`${field.column}\` String MATERIALIZED ifNull(${path}::Nullable(String), '') CODEC(ZSTD(1))`
  }
  // The texts "nan" and "inf" are numbers to the engine, and one of them would spoil every average.
  const number = `toFloat64OrNull(${path}::Nullable(String))`
  return `\`${field.column}\` Nullable(Float64) MATERIALIZED if(isFinite(${number}), ${number}, NULL) CODEC(ZSTD(1))`
}

function retention(days: number): string {
  return `toDateTime(timestamp) + INTERVAL ${days} DAY DELETE`
}

function onCluster(topology: Topology): string {
  return topology.cluster === undefined ? '' : ` ON CLUSTER \`${topology.cluster}\``
}

/** On a cluster the rows live in a table per shard, and the source's name is the view over all of them. */
function localName(table: string, topology: Topology): string {
  return topology.cluster === undefined ? table : `${table}_local`
}

function mergeTree(topology: Topology, table: string): string {
  return topology.cluster === undefined
    ? 'MergeTree'
    : `ReplicatedMergeTree('/clickhouse/tables/{shard}/${database}/${table}', '{replica}')`
}

function distributed(table: string, sharding: string, topology: Topology): string[] {
  if (topology.cluster === undefined) return []
  return [
    `CREATE TABLE IF NOT EXISTS ${database}.\`${table}\`${onCluster(topology)} AS ${database}.\`${table}_local\` ` +
      `ENGINE = Distributed('${topology.cluster}', '${database}', '${table}_local', ${sharding})`,
  ]
}

/** Sorted so that a time range of one project is a short read. */
export function createSourceTable(source: NewSource, topology: Topology): string[] {
  const { name, hot_fields: hotFields, retention_days: days } = source
  const columns = [
    'project String CODEC(ZSTD(1))',
    'id String CODEC(ZSTD(1))',
    "timestamp DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1))",
    'event_message String CODEC(ZSTD(3))',
    `metadata JSON(max_dynamic_paths = ${maxPaths}) CODEC(ZSTD(3))`,
    ...hotFields.map(materialised),
    ...hotFields
      .filter((field) => field.searched)
      .map(
        (field) => `INDEX \`${field.column}_ngrams\` \`${field.column}\` TYPE ${searchIndex} GRANULARITY 1`,
      ),
  ]
  const settings = ['ttl_only_drop_parts = 1']
  if (topology.cluster === undefined)
    settings.push(`non_replicated_deduplication_window = ${rememberedInserts}`)
  else settings.push(`replicated_deduplication_window = ${rememberedInserts}`)
  return [
    `CREATE TABLE IF NOT EXISTS ${database}.\`${localName(name, topology)}\`${onCluster(topology)} (${columns.join(', ')}) ` +
      `ENGINE = ${mergeTree(topology, name)} PARTITION BY toDate(timestamp) ORDER BY (project, timestamp) ` +
      `TTL ${retention(days)} SETTINGS ${settings.join(', ')}`,
    ...distributed(name, 'cityHash64(project)', topology),
  ]
}

export function changeRetention(name: string, days: number, topology: Topology): string[] {
  return [
    `ALTER TABLE ${database}.\`${localName(name, topology)}\`${onCluster(topology)} MODIFY TTL ${retention(days)}`,
  ]
}

export function dropSourceTable(name: string, topology: Topology): string[] {
  const drop = (table: string) => `DROP TABLE IF EXISTS ${database}.\`${table}\`${onCluster(topology)}`
  return topology.cluster === undefined ? [drop(name)] : [drop(name), drop(localName(name, topology))]
}

/** Tables that are the service's own; no source can have such a name. On a cluster every node has all of their rows. */
function ownTable(
  topology: Topology,
  table: string,
  columns: string,
  rest: string,
  kind: '' | 'Replacing' = '',
): string[] {
  const engine =
    topology.cluster === undefined
      ? `${kind}MergeTree`
      : `Replicated${kind}MergeTree('/clickhouse/tables/${database}/${table}', '{shard}-{replica}')`
  return [
    `CREATE TABLE IF NOT EXISTS ${database}.\`${table}\`${onCluster(topology)} (${columns}) ENGINE = ${engine} ${rest}`,
  ]
}

export function createMigrationsTable(topology: Topology): string[] {
  return ownTable(
    topology,
    '_migrations',
    "id UInt32, at DateTime64(6, 'UTC') DEFAULT now64(6)",
    'ORDER BY id',
  )
}

export function createOwnTables(topology: Topology): string[] {
  return [
    ...ownTable(
      topology,
      '_catalog',
      "kind LowCardinality(String), id String, version UInt32, changed_at DateTime64(6, 'UTC'), changed_by String, deleted Bool, body String",
      'ORDER BY (kind, id, version)',
    ),
    ...ownTable(
      topology,
      '_idempotency',
      "key String, at DateTime64(6, 'UTC'), answer String",
      'ORDER BY key TTL toDateTime(at) + INTERVAL 1 DAY DELETE',
    ),
  ]
}

/** The place of each change in the log, kept through merges, and a name for each change. */
export function orderCatalog(topology: Topology): string[] {
  const alter = `ALTER TABLE ${database}._catalog${onCluster(topology)}`
  return [
    `${alter} ADD COLUMN IF NOT EXISTS entry String`,
    `${alter} MODIFY SETTING enable_block_number_column = 1`,
  ]
}

/** When each token was used last, as far as it was written down. */
export function createTokenUses(topology: Topology): string[] {
  return ownTable(
    topology,
    '_token_uses',
    "id String, at DateTime64(3, 'UTC')",
    'ORDER BY id TTL toDateTime(at) + INTERVAL 400 DAY DELETE',
    'Replacing',
  )
}

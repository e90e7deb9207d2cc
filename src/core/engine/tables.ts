import { randomUUID } from 'node:crypto'
import { keysOf } from '../../shared/path-text.ts'
import { sqlText } from '../sql/names.ts'
import { restName, type SourceColumn } from '../sql/paths.ts'
import { searchedText } from '../sql/word.ts'
import { onCluster, type Topology } from './cluster/topology.ts'

/** Rows per granule. Small, so that a page of one project's newest entries reads little else. */
const granularity = 512

/** One filter per 8,192 rows; one per granule would take 15 MB more per million entries. */
const searchIndex = 'TYPE ngrambf_v1(4, 8192, 2, 0) GRANULARITY 16'

/** The entries of each token of a text: decision 25. Its parameters are those with which searches read the tokens fastest. */
const wordIndex =
  `_text ${searchedText()} TYPE text(tokenizer = splitByNonAlpha, posting_list_codec = 'bitpacking', ` +
  'dictionary_block_frontcoding_compression = 0, dictionary_block_size = 4096)'

/** Number of inserts per table that the engine remembers, so that a retried insert is stored once. */
const rememberedInserts = 10_000
const rememberedSeconds = 7 * 86_400

/** Few parts, because each one costs a query about as much as all of its rows. The reasons are in decision 19. */
const mergeSettings = [
  'merge_selector_base = 3',
  'min_age_to_force_merge_seconds = 600',
  'min_age_to_force_merge_on_partition_only = 1',
  'min_bytes_for_wide_part = 67108864',
]

/** The value at a path of a JSON text column, as text; null if there is none. */
export function textAtPath(keys: readonly string[], column = 'metadata', type = 'String'): string {
  return `JSONExtract(${column}, ${keys.map(sqlText).join(', ')}, 'Nullable(${type})')`
}

/** A text as a number; null if it is none. The engine reads "nan" and "inf" as numbers, which would spoil every average. */
export function finiteNumber(text: string): string {
  const number = `toFloat64OrNull(${text})`
  return `if(isFinite(${number}), ${number}, NULL)`
}

/** What a source's table depends on. */
export interface StoredSource {
  name: string
  retention_days: number
  /** Whether it has the index of words. */
  search_index: boolean
  columns: readonly (SourceColumn & { searched: boolean })[]
  /** Undefined while the source is not stored yet. */
  id?: string
}

/** A column of the engine. */
export interface StoredColumn {
  name: string
  type: string
  /** For any metadata: an unexpected type must not reject an entry. */
  value: string
  /** Describes the content; if it differs, the column is created again. */
  comment: string
  searched: boolean
}

/** The columns of the engine for all typed columns. With its second one, a typed column has the values of casts: decision 22. */
export function storedColumns({ columns }: Pick<StoredSource, 'columns'>): StoredColumn[] {
  return columns.flatMap(({ name, path, type, searched }) => {
    const keys = keysOf(path)
    const text = textAtPath(keys)
    const number = finiteNumber(text)
    const exact = textAtPath(keys, 'metadata', 'Float64')
    const [own, ownValue, rest, restValue] =
      type === 'text'
        ? ['String', `ifNull(${text}, '')`, 'UInt8', `isNotNull(${text})`]
        : ['Nullable(Float64)', number, 'Nullable(Float64)', `if(isNull(${number}), ${exact}, NULL)`]
    const comment = JSON.stringify({ path, type, searched })
    const restComment = JSON.stringify({ [type === 'text' ? 'present' : 'rest']: path, type })
    return [
      { name, type: own, value: ownValue, comment, searched },
      { name: restName(name), type: rest, value: restValue, comment: restComment, searched: false },
    ]
  })
}

function columnSql({ name, type, value, comment, searched }: StoredColumn): string {
  // Texts that are compared and grouped by are short, and read in two thirds of the time: decision 3.
  const codec = type === 'String' && !searched ? 'LZ4' : 'ZSTD(1)'
  return `\`${name}\` ${type} MATERIALIZED ${value} COMMENT ${sqlText(comment)} CODEC(${codec})`
}

function searchIndexOf({ name: column }: StoredColumn): string {
  return `INDEX \`${column}_ngrams\` \`${column}\` ${searchIndex}`
}

function retention(days: number): string {
  return `toDateTime(timestamp) + INTERVAL ${days} DAY DELETE`
}

/** On a cluster, rows are stored in a local table per shard; the table with the source's name is distributed. */
export function localName(table: string, topology: Topology): string {
  return topology.cluster === undefined ? table : `${table}_local`
}

/** Replicas are those with the same path in the keeper. */
function mergeTree({ replicated }: Topology, path: string, replica: string, kind = ''): string {
  return replicated ? `Replicated${kind}MergeTree('${path}', '${replica}')` : `${kind}MergeTree`
}

/** A retried insert is stored once. Replicated tables also forget tokens by age, by default after an hour or a week. */
export function rememberInserts({ replicated }: Topology): string[] {
  return replicated
    ? [
        `replicated_deduplication_window = ${rememberedInserts}`,
        `replicated_deduplication_window_seconds = ${rememberedSeconds}`,
      ]
    : [`non_replicated_deduplication_window = ${rememberedInserts}`]
}

function distributed(table: string, sharding: string, topology: Topology): string[] {
  if (topology.cluster === undefined) return []
  return [
    `CREATE TABLE IF NOT EXISTS ${topology.database}.\`${table}\`${onCluster(topology)} AS ${topology.database}.\`${table}_local\` ` +
      `ENGINE = Distributed('${topology.cluster}', '${topology.database}', '${table}_local', ${sharding})`,
  ]
}

const entryColumns = [
  'project String CODEC(ZSTD(1))',
  'id String CODEC(ZSTD(1))',
  "timestamp DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1))",
  'event_message String CODEC(ZSTD(1))',
  'metadata String CODEC(ZSTD(1))',
]

/** A table with the columns of a source, to check SQL with. It stays empty, so no node needs the rows of another. */
export function createScratchTable(name: string, source: StoredSource, topology: Topology): string {
  const columns = [...entryColumns, ...storedColumns(source).map(columnSql)]
  const table = `${topology.database}.\`${name}\`${onCluster(topology)}`
  return `CREATE TABLE ${table} (${columns.join(', ')}) ENGINE = MergeTree ORDER BY (project, timestamp, id)`
}

/** The key makes a time range of a project a short read. With the id in it, the newest entries have a stable order. */
export function createSourceTable(
  source: StoredSource,
  topology: Topology,
  stored = storedColumns(source),
): string[] {
  const { name, retention_days: days, id } = source
  const columns = [
    ...entryColumns,
    ...stored.map(columnSql),
    ...stored.filter(({ searched }) => searched).map(searchIndexOf),
    ...(source.search_index ? [`INDEX ${wordIndex}`] : []),
  ]
  const settings = [
    `index_granularity = ${granularity}`,
    'ttl_only_drop_parts = 1',
    ...mergeSettings,
    ...rememberInserts(topology),
  ]
  // With the id, because a node that was away may still have the table of a deleted source with the same name.
  const path = `/clickhouse/tables/{shard}/${topology.database}/${name}${id === undefined ? '' : `-${id}`}`
  return [
    `CREATE TABLE IF NOT EXISTS ${topology.database}.\`${localName(name, topology)}\`${onCluster(topology)} (${columns.join(', ')}) ` +
      `ENGINE = ${mergeTree(topology, path, '{replica}')} PARTITION BY toDate(timestamp) ORDER BY (project, timestamp, id) ` +
      `TTL ${retention(days)} SETTINGS ${settings.join(', ')}`,
    ...distributed(name, 'cityHash64(project)', topology),
  ]
}

/** The tables with rows of sources, and whether they have the index of words. */
export const readWordIndexes =
  "SELECT name, toBool(position(create_table_query, 'INDEX _text ')) AS indexed " +
  "FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'"

/** Adds the index of words and builds it for existing parts, or drops it. */
export function changeWordIndex(table: string, isWanted: boolean, topology: Topology): string[] {
  const actions = isWanted
    ? [`ADD INDEX IF NOT EXISTS ${wordIndex}`, 'MATERIALIZE INDEX _text']
    : ['DROP INDEX IF EXISTS _text']
  return actions.flatMap((action) => alter(table, [action], topology))
}

/** Whether the engine finds parts of words in an index: ClickHouse 26.6 or newer. */
export const readFindsWords =
  "SELECT toBool(count()) AS finds FROM system.settings WHERE name = 'text_index_posting_list_apply_mode'"

/** Selects how many days the engine keeps the entries of each source. Nodes of a cluster may differ while a change reaches them. */
export function readRetentions({ cluster, database, replicated }: Topology): string {
  const from = replicated ? `clusterAllReplicas('${cluster}', system.tables)` : 'system.tables'
  const days =
    "extract(create_table_query, 'TTL toDateTime\\\\(timestamp\\\\) [+] (?:toIntervalDay\\\\(|INTERVAL )(\\\\d+)')"
  return (
    `SELECT replaceRegexpOne(name, '_local$', '') AS source, max(toUInt32OrZero(${days})) AS days FROM ${from} ` +
    `WHERE database = ${sqlText(database)} AND name NOT LIKE '\\\\_%' AND engine LIKE '%MergeTree' ` +
    'GROUP BY source HAVING days > 0 SETTINGS skip_unavailable_shards = 1'
  )
}

export function changeRetention(name: string, days: number, topology: Topology): string[] {
  return alter(localName(name, topology), [`MODIFY TTL ${retention(days)}`], topology)
}

/** Selects the existing typed columns of each source in order, with their comments. */
export const readTypedColumns =
  'SELECT source, arrayMap(c -> (c.2, c.3), arraySort(groupArray((place, name, comment)))) AS columns FROM (' +
  "SELECT replaceRegexpOne(table, '_local$', '') AS source, name, comment, min(position) AS place FROM system.columns " +
  "WHERE database = currentDatabase() AND table NOT LIKE '\\\\_%' AND default_kind = 'MATERIALIZED' " +
  'GROUP BY source, name, comment) GROUP BY source'

function alter(table: string, actions: string[], topology: Topology): string[] {
  if (actions.length === 0) return []
  return [`ALTER TABLE ${topology.database}.\`${table}\`${onCluster(topology)} ${actions.join(', ')}`]
}

/** A column whose content changes is added and removed. The engine computes the values of a new one from the text until they are stored. */
export function changeTypedColumns(
  name: string,
  { added, removed }: { added: readonly StoredColumn[]; removed: readonly string[] },
  topology: Topology,
): string[] {
  const local = localName(name, topology)
  const indexes = added.filter((field) => field.searched)
  const inLocal = (actions: string[]) => alter(local, actions, topology)
  const inEach = (actions: string[]) =>
    [...new Set([local, name])].flatMap((table) => alter(table, actions, topology))
  return [
    ...inLocal(removed.map((column) => `DROP INDEX IF EXISTS \`${column}_ngrams\``)),
    // In separate statements: otherwise a column would be removed but not added again.
    ...inEach(removed.map((column) => `DROP COLUMN IF EXISTS \`${column}\``)),
    ...inEach(added.map((column) => `ADD COLUMN IF NOT EXISTS ${columnSql(column)}`)),
    ...inLocal(indexes.map((field) => `ADD ${searchIndexOf(field).replace('INDEX', 'INDEX IF NOT EXISTS')}`)),
  ]
}

/** Counts the nodes that respond but lack one of the columns. Undefined if there is nothing to count. */
export function countLackingColumns(
  name: string,
  stored: readonly StoredColumn[],
  { cluster, database }: Topology,
): string | undefined {
  if (cluster === undefined || stored.length === 0) return undefined
  const columns = stored.map((column) => `(${sqlText(column.name)}, ${sqlText(column.comment)})`)
  return (
    `SELECT countIf(found < ${stored.length}) AS lacking FROM (` +
    `SELECT hostName() AS node, countIf((name, comment) IN (${columns.join(', ')})) AS found ` +
    `FROM clusterAllReplicas(${sqlText(cluster)}, system.columns) ` +
    `WHERE database = ${sqlText(database)} AND table = ${sqlText(`${name}_local`)} GROUP BY node) SETTINGS skip_unavailable_shards = 1`
  )
}

export function fillTypedColumns(name: string, added: readonly StoredColumn[], topology: Topology): string[] {
  return alter(
    localName(name, topology),
    added.flatMap(({ name: column, searched }) => [
      `MATERIALIZE COLUMN \`${column}\``,
      ...(searched ? [`MATERIALIZE INDEX \`${column}_ngrams\``] : []),
    ]),
    topology,
  )
}

/** A copy has its name only when it is complete. */
export function copyTable(from: string, to: string, topology: Topology): string[] {
  const { database } = topology
  const [source, target, part] = [from, to, `${to}_${randomUUID().slice(0, 8)}`].map(
    (name) => `${database}.\`${name}\``,
  )
  const everywhere = onCluster(topology)
  return [
    `CREATE TABLE ${part}${everywhere} ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM ${source}`,
    `RENAME TABLE ${part} TO ${target}${everywhere}`,
  ]
}

export function dropTable(name: string, topology: Topology): string {
  return `DROP TABLE IF EXISTS ${topology.database}.\`${name}\`${onCluster(topology)}`
}

export function dropSourceTable(name: string, topology: Topology): string[] {
  return [...new Set([name, localName(name, topology)])].map((table) => dropTable(table, topology))
}

/** Selects the empty tables that may belong to no source. */
export const readEmptyTables =
  "SELECT name FROM system.tables WHERE database = currentDatabase() AND name NOT LIKE '\\\\_%' AND engine = 'MergeTree' AND total_rows = 0 " +
  "AND NOT startsWith(comment, 'table [')"

/** Internal tables; no source can have such a name. On a cluster, every node has all of their rows. */
export function ownTable(
  topology: Topology,
  table: string,
  columns: string,
  rest: string,
  kind: '' | 'Replacing' = '',
): string[] {
  const path = `/clickhouse/tables/${topology.database}/${table}`
  const engine = mergeTree(topology, path, '{shard}-{replica}', kind)
  return [
    `CREATE TABLE IF NOT EXISTS ${topology.database}.\`${table}\`${onCluster(topology)} (${columns}) ENGINE = ${engine} ${rest}`,
  ]
}

export function createMigrationsTable(topology: Topology): string[] {
  return ownTable(
    topology,
    '_migrations',
    "id UInt32, at DateTime64(6, 'UTC') DEFAULT now64(6), wellhead String",
    `ORDER BY id${topology.shards === undefined ? '' : ` COMMENT ${sqlText(topology.shards)}`}`,
  )
}

/** Makes a server keep one of several changes at the same position. On a cluster, the table was created so. */
export function rememberChanges(topology: Topology): string[] {
  if (topology.cluster !== undefined) return []
  return [`ALTER TABLE ${topology.database}._catalog MODIFY SETTING ${rememberInserts(topology).join(', ')}`]
}

export function createCopyTable(topology: Topology): string[] {
  return ownTable(
    topology,
    '_copy',
    "at DateTime64(6, 'UTC') DEFAULT now64(6), origin String, event String, sources String",
    'ORDER BY at',
  )
}

export interface OldVersions {
  kind: string
  id: string
  /** The newest version to remove. */
  last: number
}

/** Removes versions of records, but no deletion: its id must not be used again. The replicas on all nodes of a cluster follow. */
export function removeVersions({ database }: Topology, records: readonly OldVersions[]): string {
  const conditions = records.map(
    ({ kind, id, last }) => `(kind = ${sqlText(kind)} AND id = ${sqlText(id)} AND version <= ${last})`,
  )
  return `ALTER TABLE ${database}._catalog DELETE WHERE NOT deleted AND (${conditions.join(' OR ')})`
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What an embedded engine must not have is taken from it here: its user has no grant for files, network,
 * other databases or dictionaries, and there is no log table that grows on disk.
 */
const grants = [
  'SELECT',
  'INSERT',
  'ALTER',
  'CREATE DATABASE',
  'CREATE TABLE',
  'CREATE VIEW',
  'DROP',
  'TRUNCATE',
  'OPTIMIZE',
  'SHOW',
  'KILL QUERY',
  'SYSTEM',
]

/** Settings of each session; a session that does not report them back is not used. */
export const sessionSettings = {
  // Values are part of the statement, so the bound of a statement is the bound of a value.
  max_query_size: '67108864',
  // The sampling profilers interrupt every thread by signals and tell nobody anything here.
  query_profiler_cpu_time_period_ns: '0',
  query_profiler_real_time_period_ns: '0',
  log_queries: '0',
} as const

/** Without these a power cut loses acknowledged rows: the engine's defaults do not fsync. */
export const durabilitySettings = {
  fsync_after_insert: '1',
  fsync_part_directory: '1',
  min_rows_to_fsync_after_merge: '1',
} as const

/** Work that the engine would do at rest. */
const restingSettings = {
  // It corrects the count of memory in use 20 times a second; queries count what they allocate themselves.
  memory_worker_period_ms: '500',
  // Its samples would go to a log that is not kept.
  global_profiler_cpu_time_period_ns: '0',
  global_profiler_real_time_period_ns: '0',
} as const

/**
 * With these the engine merges nothing, expires nothing and drops no empty part. Only a mutation still runs: no setting
 * stops one, so whoever needs that keeps its file away from the engine.
 */
const restSettings = {
  max_bytes_to_merge_at_max_space_in_pool: '0',
  max_bytes_to_merge_at_min_space_in_pool: '0',
  remove_empty_parts: '0',
} as const

function elements(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')
}

/** Writes the engine's configuration beside its data and returns the arguments that make it read them. */
export function writeEngineConfig(directory: string, memoryBytes: number, atRest = false): string[] {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const usersPath = join(directory, 'users.xml')
  const configPath = join(directory, 'config.xml')
  writeFileSync(
    usersPath,
    `<clickhouse><profiles><default>${elements(sessionSettings)}</default></profiles><quotas><default/></quotas>` +
      '<users><default><password></password><networks><ip>127.0.0.1</ip><ip>::1</ip></networks>' +
      '<profile>default</profile><quota>default</quota>' +
      `<grants><query>GRANT ${grants.join(', ')} ON *.*</query></grants></default></users></clickhouse>`,
    { mode: 0o600 },
  )
  writeFileSync(
    configPath,
    `<clickhouse><users_config>${escapeXml(usersPath)}</users_config>` +
      `${elements({ max_server_memory_usage: String(memoryBytes), mark_cache_size: '67108864', ...restingSettings })}` +
      '<remote_url_allow_hosts></remote_url_allow_hosts>' +
      // Whoever deletes a source has said its name twice already.
      '<max_table_size_to_drop>0</max_table_size_to_drop>' +
      `<merge_tree>${elements({ ...durabilitySettings, ...(atRest && restSettings) })}</merge_tree></clickhouse>`,
    { mode: 0o600 },
  )
  return [`--config-file=${configPath}`]
}

function escapeXml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

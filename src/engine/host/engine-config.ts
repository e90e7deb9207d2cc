import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostOptions } from './protocol.ts'
import type { SqlSession } from './session.ts'

/** The engine's user has no grants for files, the network, other servers or dictionaries. */
export const defaultGrants: readonly string[] = [
  'SELECT, INSERT, ALTER, CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP, TRUNCATE, OPTIMIZE, SHOW, KILL QUERY, SYSTEM ON *.*',
]

const sessionSettings = {
  // Values are part of the statement, so this also limits the size of a value.
  max_query_size: '67108864',
  // The sampling profilers interrupt every thread by signals, and nobody reads their samples.
  query_profiler_cpu_time_period_ns: '0',
  query_profiler_real_time_period_ns: '0',
  log_queries: '0',
  // Reading them takes a fifth of the time of a small query.
  use_statistics: '0',
  // Compiling takes as long as many small queries, and by default the fourth one waits for it.
  min_count_to_compile_expression: '20',
  min_count_to_compile_aggregate_expression: '20',
  min_count_to_compile_sort_description: '20',
} as const

/** Without these, a power cut loses acknowledged rows: by default the engine does not fsync. */
const durabilitySettings = {
  fsync_after_insert: '1',
  fsync_part_directory: '1',
  min_rows_to_fsync_after_merge: '1',
} as const

const idleSettings = {
  // By default the engine corrects its count of used memory 20 times a second.
  memory_worker_period_ms: '500',
  global_profiler_cpu_time_period_ns: '0',
  global_profiler_real_time_period_ns: '0',
} as const

const storageSettings = {
  // By default each merge collects statistics of every column: 3 % of the bytes, 15 % of the time.
  auto_statistics_types: '',
  // By default lengths are stored beside the texts, which then take 4 % more.
  string_serialization_version: 'single_stream',
} as const

/** No merges, no expiry, no removal of empty parts. Mutations still run, because no setting stops them. */
const atRestSettings = {
  max_bytes_to_merge_at_max_space_in_pool: '0',
  max_bytes_to_merge_at_min_space_in_pool: '0',
  remove_empty_parts: '0',
} as const

function elements(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')
}

type EngineConfig = Pick<HostOptions, 'memoryBytes' | 'atRest' | 'extraConfig' | 'grants'>

/** Writes the engine's configuration files and returns the arguments of a session that reads them. */
export function writeEngineConfig(
  directory: string,
  { memoryBytes, atRest, extraConfig = '', grants = defaultGrants }: EngineConfig,
): string[] {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const usersPath = join(directory, 'users.xml')
  const configPath = join(directory, 'config.xml')
  writeFileSync(
    usersPath,
    `<clickhouse><profiles><default>${elements(sessionSettings)}</default></profiles><quotas><default/></quotas>` +
      '<users><default><password></password><networks><ip>127.0.0.1</ip><ip>::1</ip></networks>' +
      '<profile>default</profile><quota>default</quota>' +
      `<grants>${grants.map((grant) => `<query>GRANT ${grant}</query>`).join('')}</grants></default></users></clickhouse>`,
    { mode: 0o600 },
  )
  writeFileSync(
    configPath,
    `<clickhouse><users_config>${escapeXml(usersPath)}</users_config>` +
      `${elements({ max_server_memory_usage: String(memoryBytes), mark_cache_size: '67108864', ...idleSettings })}` +
      '<remote_url_allow_hosts></remote_url_allow_hosts>' +
      // The service asks for confirmation before it drops a table.
      '<max_table_size_to_drop>0</max_table_size_to_drop>' +
      extraConfig +
      `<merge_tree>${elements({ ...durabilitySettings, ...storageSettings, ...(atRest && atRestSettings) })}</merge_tree></clickhouse>`,
    { mode: 0o600 },
  )
  return [`--config-file=${configPath}`]
}

function escapeXml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Once, the binding ignored the settings of a connection, so each new session is checked. */
export async function checkSession(session: SqlSession): Promise<void> {
  await checkSettings(session, sessionSettings, (name) => `toString(toUInt64(getSetting('${name}')))`)
}

/** Must run before the first insert. */
export async function checkDurability(session: SqlSession): Promise<void> {
  await checkSettings(
    session,
    durabilitySettings,
    (name) => `(SELECT any(value) FROM system.merge_tree_settings WHERE name = '${name}')`,
  )
}

async function checkSettings(
  session: SqlSession,
  expected: Readonly<Record<string, string>>,
  expression: (name: string) => string,
): Promise<void> {
  const names = Object.keys(expected)
  const { bytes } = await session.run(`SELECT ${names.map(expression).join(', ')}`, 'TabSeparated')
  const reported = Buffer.from(bytes).toString().trimEnd().split('\t')
  const wrong = names.flatMap((name, i) =>
    reported[i] === expected[name] ? [] : [`${name} is ${reported[i] || 'unknown'}, not ${expected[name]}`],
  )
  if (wrong.length > 0) throw new Error(`The engine ignored its settings: ${wrong.join('; ')}.`)
}

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sqlText } from '../../sql/names.ts'
import { neededGrants } from '../grants.ts'
import type { HostOptions, User } from './host-protocol.ts'

/** Beyond those on a server of the operator: for backups, for tests of workspaces, and for stopping queries. */
export function embeddedGrants(database: string): string[] {
  return [
    ...neededGrants(database, undefined),
    `ALTER FREEZE PARTITION, TRUNCATE, OPTIMIZE, SYSTEM MERGES ON ${database}.*`,
    'KILL QUERY ON *.*',
    'SELECT ON system.processes',
    'SELECT ON system.merge_tree_settings',
  ]
}

/** The server writes its port into this file. */
const portFile = 'port'

/** Every statement needs this header, because the user that starts the server cannot have a password. */
export const keyHeader = 'X-Wellhead-Key'

const profile = {
  // Long filters are part of the statement.
  max_query_size: '67108864',
  // The sampling profilers interrupt every thread by signals, and nobody reads their samples.
  query_profiler_cpu_time_period_ns: '0',
  query_profiler_real_time_period_ns: '0',
  log_queries: '0',
  // By default, parts of words with less than four letters are not looked up in the index of words.
  text_index_like_min_pattern_length: '2',
  // Reading them takes a fifth of the time of a small query.
  use_statistics: '0',
  // Compiling takes as long as many small queries, and by default the fourth one waits for it.
  min_count_to_compile_expression: '20',
  min_count_to_compile_aggregate_expression: '20',
  min_count_to_compile_sort_description: '20',
} as const

/** Without these, a power cut loses acknowledged rows: by default the engine does not fsync. */
export const durabilitySettings = {
  fsync_after_insert: '1',
  fsync_part_directory: '1',
  min_rows_to_fsync_after_merge: '1',
  // The engine does not sync the index of words of a merged part. After a power cut it replaces such parts by those that they were
  // merged from, which it keeps for 8 minutes, but by default it opens no table with more than 100 of them, or 1 GiB.
  max_suspicious_broken_parts: '1000000',
  max_suspicious_broken_parts_bytes: '1000000000000000',
} as const

const serverSettings = {
  listen_host: '127.0.0.1',
  // The service closes idle connections before.
  keep_alive_timeout: '3600',
  mark_cache_size: '67108864',
  // By default the engine corrects its count of used memory 20 times a second.
  memory_worker_period_ms: '500',
  global_profiler_cpu_time_period_ns: '0',
  global_profiler_real_time_period_ns: '0',
  remote_url_allow_hosts: '',
  // The service asks for confirmation before it drops a table.
  max_table_size_to_drop: '0',
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

/** Writes the configuration of the server, which only the user of the service can read, and the statements that start it. */
export function writeServerConfig(options: HostOptions) {
  const { directory, runtimeDirectory, memoryBytes, credentials, atRest, protocols = ['HTTP'] } = options
  const write = (name: string, text: string) => {
    const path = join(runtimeDirectory, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const server = {
    ...serverSettings,
    path: `${storeOf(directory)}/`,
    http_port: String(options.port ?? 0),
    users_config: write('users.xml', xmlOf({ clickhouse: usersOf(options) })),
    max_server_memory_usage: String(memoryBytes),
    ...(credentials.key && { http_handlers: handlersOf(credentials.key) }),
    merge_tree: { ...durabilitySettings, ...storageSettings, ...(atRest && atRestSettings) },
  }
  const port = join(runtimeDirectory, portFile)
  const statements = [
    ...protocols.map((protocol) => `SYSTEM START LISTEN ${protocol}`),
    `SELECT getServerPort('http_port') INTO OUTFILE ${sqlText(port)} TRUNCATE FORMAT TabSeparated`,
    // The server runs as long as these statements do.
    'SELECT sleepEachRow(3) FROM numbers(1000000000) SETTINGS max_block_size = 1, max_threads = 1, interactive_delay = 60000000 FORMAT Null',
  ]
  return {
    config: write('config.xml', `<clickhouse>${xmlOf(server)}${options.extraConfig ?? ''}</clickhouse>`),
    statements: write('start.sql', `${statements.join(';\n')};\n`),
    port,
  }
}

export function storeOf(directory: string): string {
  return join(directory, 'store')
}

/**
 * Where the configuration of the server is, because the disk of the data may be full. Always the same for a data directory,
 * so that nothing is left after a crash.
 */
export function runtimeDirectoryOf(dataDir: string): string {
  const hash = createHash('sha256')
    .update(`${process.getuid?.()} ${resolve(dataDir)}`)
    .digest('hex')
  return join(tmpdir(), `wellhead-${hash.slice(0, 16)}`)
}

/** Statements need the key; anybody can see that the server runs. */
function handlersOf(key: string): Xml {
  const statements = { type: 'dynamic_query_handler', query_param_name: 'query' }
  return [
    { rule: { url: '/ping', handler: { type: 'ping' } } },
    { rule: { headers: { [keyHeader]: key }, handler: statements } },
  ]
}

function usersOf({ database, credentials, grants }: HostOptions): Xml {
  const name = `\`${database}\``
  const { service, reader } = credentials
  return {
    profiles: { default: profile, reader: { profile: 'default', readonly: '2' } },
    quotas: { default: '' },
    users: [
      // Starts the server, and can do nothing else. It must be allowed from the loopback address, without a password.
      userOf({ user: 'default', password: '' }, 'default', ['GRANT SYSTEM LISTEN ON *.*']),
      userOf(
        service,
        'default',
        grants.map((grant) => `GRANT ${grant}`),
      ),
      userOf(reader, 'reader', [`GRANT SELECT ON ${name}.*`, `REVOKE SELECT ON ${name}._*`]),
    ],
  }
}

function userOf({ user, password }: User, profileName: string, grants: readonly string[]): Xml {
  return {
    [user]: {
      password,
      profile: profileName,
      quota: 'default',
      networks: [{ ip: '127.0.0.1' }, { ip: '::1' }],
      grants: grants.map((query) => ({ query })),
    },
  }
}

/** A text, or elements by their names; a list has several of the same name. */
type Xml = string | readonly Xml[] | { readonly [name: string]: Xml }

function xmlOf(content: Xml): string {
  if (typeof content === 'string') {
    return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  }
  if (Array.isArray(content)) return content.map(xmlOf).join('')
  const elements = Object.entries(content).map(([name, inside]) => `<${name}>${xmlOf(inside)}</${name}>`)
  return elements.join('')
}

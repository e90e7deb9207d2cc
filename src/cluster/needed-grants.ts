/** What the service does in its database. */
const inDatabase = [
  'SELECT',
  'INSERT',
  'CREATE DATABASE',
  'CREATE TABLE',
  'DROP TABLE',
  'ALTER ADD COLUMN',
  'ALTER DROP COLUMN',
  'ALTER MATERIALIZE COLUMN',
  'ALTER ADD INDEX',
  'ALTER DROP INDEX',
  'ALTER MATERIALIZE INDEX',
  'ALTER TTL',
  'ALTER SETTINGS',
] as const

/** Tables that describe the server. Others, such as `system.columns`, need no grant. */
const systemTables = ['clusters', 'disks', 'mutations', 'parts'] as const
const systemTablesOfCluster = ['macros', 'replicas', 'zookeeper_connection'] as const

/** Required only by servers with `table_engines_require_grant`. */
const engines = ['MergeTree', 'ReplacingMergeTree'] as const
const enginesOfCluster = ['ReplicatedMergeTree', 'ReplicatedReplacingMergeTree', 'Distributed'] as const

/** The grants of the service's user, as in `SELECT ON system.parts`. docs/cluster.md and deploy/cluster have the same list. */
export function neededGrants(database: string, cluster: string | undefined, exists = false): string[] {
  const isCluster = cluster !== undefined
  const privileges = inDatabase.filter((privilege) => !exists || privilege !== 'CREATE DATABASE')
  return [
    `${privileges.join(', ')} ON ${quoteName(database)}.*`,
    ...[...systemTables, ...(isCluster ? systemTablesOfCluster : [])].map(
      (table) => `SELECT ON system.${table}`,
    ),
    ...[...engines, ...(isCluster ? enginesOfCluster : [])].map((engine) => `TABLE ENGINE ON ${engine}`),
    // For ON CLUSTER, and for tables that are distributed.
    ...(isCluster ? ['CLUSTER ON *.*', 'REMOTE ON *.*'] : []),
  ]
}

export function grantStatement(grant: string, user: string): string {
  return `GRANT ${grant} TO ${quoteName(user)}`
}

export function privilegesOf(grant: string): string[] {
  return (grant.split(' ON ')[0] as string).split(', ')
}

function quoteName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replace(/[\\`]/g, '\\$&')}\``
}

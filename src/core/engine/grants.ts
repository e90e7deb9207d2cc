/** The grants of the service's user, as in `SELECT ON system.parts`. docs/cluster.md and deploy/cluster have the same list. */
export function neededGrants(database: string, cluster: string | undefined): string[] {
  const of = (always: string, onCluster: string) =>
    `${always} ${cluster === undefined ? '' : onCluster}`.trim().split(' ')
  return [
    'SELECT, INSERT, CREATE DATABASE, CREATE TABLE, DROP TABLE, ALTER ADD COLUMN, ALTER DROP COLUMN, ' +
      'ALTER MATERIALIZE COLUMN, ALTER ADD INDEX, ALTER DROP INDEX, ALTER MATERIALIZE INDEX, ALTER TTL, ' +
      `ALTER SETTINGS, ALTER DELETE ON ${quoteName(database)}.*`,
    // Other tables that describe the server, such as `system.columns`, need no grant.
    ...of('clusters disks mutations parts', 'macros replicas zookeeper_connection').map(
      (table) => `SELECT ON system.${table}`,
    ),
    // Required only by servers with `table_engines_require_grant`.
    ...of('MergeTree ReplacingMergeTree', 'ReplicatedMergeTree ReplicatedReplacingMergeTree Distributed').map(
      (engine) => `TABLE ENGINE ON ${engine}`,
    ),
    // For ON CLUSTER, and for tables that are distributed.
    ...(cluster === undefined ? [] : ['CLUSTER ON *.*', 'REMOTE ON *.*']),
  ]
}

export function quoteName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replace(/[\\`]/g, '\\$&')}\``
}

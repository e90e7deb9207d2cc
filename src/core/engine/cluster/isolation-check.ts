import { randomBytes } from 'node:crypto'
import type { TableColumn } from '../../../shared/column-types.ts'
import { invalidQuery } from '../../base/errors.ts'
import { isolationSettings, rowFilterSettings } from '../../sql/isolation.ts'
import { sqlText } from '../../sql/names.ts'
import type { Statement } from '../engine.ts'
import { engineCodeOf } from '../engine-errors.ts'
import { createLookupTable } from '../lookup-tables.ts'
import { tableNames } from '../stored-tables.ts'
import { createSourceTable, dropSourceTable, type StoredSource } from '../tables.ts'
import { distributedReads } from './cluster-settings.ts'
import { foreign, own, type Probe, probesOf, type ReadProbe, readProbesOf } from './isolation-probes.ts'
import type { NodeConnection } from './remote-node.ts'

type Settings = NonNullable<Statement['settings']>

const limits = { deadlineMs: 30_000 }
const prefix = '_isolation_'
const leftAfterMs = 3_600_000
const accessDenied = 497
const maxQuotedLength = 200

/** Of a table that users fill, as the probes read them. */
const lookupColumns: TableColumn[] = [
  { name: 'timestamp', type: 'timestamp' },
  ...['project', 'id', 'event_message', 'secret'].map((name) => ({ name, type: 'text' as const })),
]
const stored = lookupColumns.map(({ name }) => name).join(', ')

/** As in requests, but other shards do not have the table. */
const onCluster = {
  ...distributedReads,
  skip_unavailable_shards: 1,
  optimize_skip_unused_shards: 0,
  // Other replicas of this shard do not have it either.
  prefer_localhost_replica: 1,
} as const

/** Codes of the errors that probes cause on a foreign row: an unreadable number, a division by zero, and `throwIf`. */
const causedByRows = new Set([6, 72, 153, 395])

/**
 * Stores a row of each of two tenants in a table like that of a source, and tries to see one as the other, with the settings
 * of requests of tenants. Returns a sentence that says what shows; undefined if nothing does. Without the filter everything
 * must show, or else the check would prove nothing.
 */
export async function checkIsolation(node: NodeConnection, cluster?: string): Promise<string | undefined> {
  // Not replicated: other nodes need not have the table, and are checked on their own.
  const topology = { database: node.database, cluster, replicated: false } as const
  const name = `${prefix}${Date.now()}_${randomBytes(8).toString('hex')}`
  const table = `${name}_rows`
  const drop = async (table: string) => {
    for (const sql of dropSourceTable(table, topology)) await node.command({ sql }, limits)
  }
  try {
    for (const sql of createSourceTable(scratchSource(name), topology)) await node.command({ sql }, limits)
    await store(node, cluster === undefined ? name : `${name}_local`)
    await node.command({ sql: createLookupTable(table, lookupColumns, table, topology) }, limits)
    await node.command({ sql: `INSERT INTO ${table} (${stored}) SELECT ${stored} FROM ${name}` }, limits)
    const always = cluster === undefined ? {} : onCluster
    const { database } = node
    const filters = {
      ...isolationSettings,
      ...rowFilterSettings(database, [name], { project: own, tables: [table] }),
    }
    return (await look(node, name, always, filters)) ?? (await look(node, table, always, filters))
  } finally {
    // What cannot be removed now is removed by a later check.
    for (const left of [name, table]) await drop(left).catch(() => {})
    await leftovers(node)
      .then((names) => Promise.all(names.map(drop)))
      .catch(() => {})
  }
}

function scratchSource(name: string): StoredSource {
  return {
    name,
    retention_days: 7,
    search_index: false,
    columns: [{ name: 'secret', path: 'secret', type: 'text', searched: true }],
  }
}

/** In one part, so that the engine knows both rows by the same index, and by the server's clock. */
async function store(node: NodeConnection, table: string): Promise<void> {
  const rows = [
    [own, 'own'],
    [foreign, 'needle'],
  ].map((row) => `(${row.map(sqlText).join(', ')})`)
  const sql =
    `INSERT INTO ${table} (project, id, timestamp, event_message, metadata) ` +
    `SELECT x.1, x.1, now64(6), x.2, toJSONString(map('secret', x.2)) FROM (SELECT arrayJoin([${rows.join(', ')}]) AS x)`
  await node.command({ sql }, limits)
}

async function look(
  node: NodeConnection,
  table: string,
  always: Settings,
  filters: Settings,
): Promise<string | undefined> {
  const asTenant = { ...always, ...filters }
  const unfiltered = always
  const see = (sql: string, settings: Settings) => seeRows(node, { sql, settings })
  /** Unfiltered first, because an engine may reuse for the tenant what it remembers of other queries. */
  const tryProbe = async ({ sql, expected, ...probe }: Probe) => {
    const proves = (await see(sql, unfiltered)).result !== expected
    return { ...probe, proves, leaks: (await see(sql, asTenant)).result !== expected }
  }
  const tryReads = async ({ present, absent, ...probe }: ReadProbe) => {
    const differ = async (settings: Settings) => {
      const [one, other] = [await see(present, settings), await see(absent, settings)]
      return { rows: one.result !== other.result, reads: one.readRows !== other.readRows }
    }
    const proves = (await differ(unfiltered)).rows
    const { rows, reads } = await differ(asTenant)
    return { ...probe, proves, leaks: rows || reads }
  }
  try {
    const tried = await Promise.all([...probesOf(table).map(tryProbe), ...readProbesOf(table).map(tryReads)])
    const useless = tried.filter(({ proves }) => !proves).map((probe) => probe.in)
    if (useless.length > 0) return `The check shows nothing even without a filter in ${useless.join(', ')}.`
    const shown = tried.filter(({ leaks }) => leaks).map((probe) => probe.in)
    return shown.length === 0 ? undefined : `Rows of other tenants show in ${shown.join(', ')}.`
  } catch (error) {
    // A server that refuses the settings would refuse the requests of tenants as well.
    if (!invalidQuery.is(error) || engineCodeOf(error) === accessDenied) throw error
    return `ClickHouse refuses queries of tenants: ${error.message.trim().slice(0, maxQuotedLength)}`
  }
}

async function seeRows(node: NodeConnection, statement: Omit<Statement, 'format'>) {
  try {
    const { body, readRows } = await node.query({ ...statement, format: 'JSONEachRow' }, limits)
    return { result: body.toString().trim(), readRows }
  } catch (error) {
    const code = engineCodeOf(error)
    if (code === undefined || !causedByRows.has(code)) throw error
    return { result: `error ${code}`, readRows: undefined }
  }
}

/** Tables of checks that ended without removing them, such as those of a service that was killed. */
async function leftovers(node: NodeConnection): Promise<string[]> {
  const names = (await tableNames(node, limits)).flatMap(
    (name) => /^_isolation_\d{1,20}_[^_]+/.exec(name) ?? [],
  )
  return names.filter((name) => Number(name.split('_')[2]) < Date.now() - leftAfterMs)
}

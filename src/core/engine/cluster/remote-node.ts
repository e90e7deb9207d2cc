import { withDeadline } from '../../base/clock.ts'
import { engineUnavailable } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { ServerAddress } from '../../base/server-addresses.ts'
import { isolationSettings } from '../../sql/isolation.ts'
import { sqlText } from '../../sql/names.ts'
import { ClickHouseClient } from '../clickhouse-client.ts'
import { ClickHouseError, type ClickHouseHttp, type HttpRequest } from '../clickhouse-http.ts'
import type { Engine, InsertInto, Limits, NodeState, QueryResult, Statement } from '../engine.ts'
import { isUnreachable } from '../engine-errors.ts'
import { neededGrants, quoteName } from '../grants.ts'
import { queryRows, queryText } from '../json-rows.ts'
import type { EngineNode } from '../server-engine.ts'
import {
  cannotConnect,
  explainServerError,
  type ServerIdentity,
  ServerProblem,
  serverFault,
} from './server-problem.ts'

export type NodeConnection = Pick<Engine, 'query' | 'insert' | 'command' | 'database'>

export interface NodeOptions {
  database: string
  cluster?: string | undefined
  /** A table that all nodes of a cluster have. */
  commonTable?: string | undefined
  /** Says which rows of one tenant another can see. Runs for several nodes at once, of which two may be one server. */
  checkIsolation?: ((node: NodeConnection, cluster?: string) => Promise<string | undefined>) | undefined
  log: Log
  maxResultBytes?: number
  checkEveryMs?: number
}

interface NodeOwner {
  onChange(node: RemoteNode): void
  /** Whether a node with this database stores what the other nodes store. */
  shares(databaseId: string): boolean
}

const defaults = {
  maxResultBytes: 128 * 2 ** 20,
  graceMs: 1_000,
  checkEveryMs: 1_000,
  /** A server may be replaced by a newer one between two pings. */
  inspectEveryMs: 60_000,
  maxConnections: 100,
  /** Servers keep an idle connection for 3 s or longer. */
  idleMs: 2_500,
} as const

export const unreached = 'ClickHouse was not reached yet.'

/** Why a request was ended: its node stopped responding, and another responds. */
const moved = Symbol('moved')

export class RemoteNode implements EngineNode, NodeConnection {
  readonly database: string
  readonly #options: NodeOptions
  readonly #owner: NodeOwner
  readonly #identity: ServerIdentity
  readonly #log: Log
  readonly #client: ClickHouseClient
  readonly #inspector: ClickHouseClient
  /** Requests under way, each with whether it can run on another node instead. */
  readonly #requests = new Map<AbortController, boolean>()
  #state: NodeState
  #closed = false
  #unknownSettings: ReadonlySet<string> = new Set()
  #inspectAt = 0
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<unknown> | undefined

  constructor(address: ServerAddress, options: NodeOptions, owner: NodeOwner) {
    this.#options = options
    this.#owner = owner
    this.database = options.database
    const { database, cluster } = options
    this.#identity = { url: address.url, user: address.user, database, cluster }
    const node = nameOf(address.url)
    this.#state = { node, ready: false, restarts: 0, reason: unreached }
    this.#log = options.log.child({ node })
    const { idleMs, maxConnections, graceMs } = defaults
    const maxResultBytes = options.maxResultBytes ?? defaults.maxResultBytes
    const limits = { maxResultBytes, graceMs, repeatQueries: true }
    const server = { ...address, idleMs, compress: true }
    this.#client = new ClickHouseClient({ ...server, database, maxConnections }, limits)
    // On a connection of its own, so that a check does not wait for running queries; without a default database, because
    // a server refuses requests that name a missing one.
    this.#inspector = new ClickHouseClient({ ...server, maxConnections: 1 }, limits)
  }

  /** Rejects if the node cannot be used now. It is checked until it can. */
  async start(): Promise<void> {
    const failure = await this.#check()
    if (failure !== undefined) throw failure
  }

  get state(): NodeState {
    return this.#state
  }

  get load(): number {
    return this.#requests.size
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#client.query(this.#withKnownSettings(statement), limits)
  }

  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<void> {
    return this.#client.insert(target, rows, limits)
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<void> {
    return this.#client.command(this.#withKnownSettings(statement), limits)
  }

  #withKnownSettings<S extends Pick<Statement, 'settings'>>(statement: S): S {
    if (this.#unknownSettings.size === 0 || !statement.settings) return statement
    const known = Object.entries(statement.settings).filter(([name]) => !this.#unknownSettings.has(name))
    return { ...statement, settings: Object.fromEntries(known) }
  }

  /** Counts the request, and notices what its failure says about the node. */
  async run<T>(limits: Limits, movable: boolean, send: (limits: Limits) => Promise<T>): Promise<T> {
    const own = new AbortController()
    const onAbort = () => own.abort()
    if (limits.signal?.aborted) onAbort()
    limits.signal?.addEventListener('abort', onAbort, { once: true })
    this.#requests.set(own, movable)
    try {
      return await send({ ...limits, signal: own.signal })
    } catch (error) {
      if (own.signal.reason === moved) throw engineUnavailable('ClickHouse stopped responding.')
      const fault = serverFault(error, this.#identity)
      // A single connection may break while the server is fine, but it may also have restarted with another version.
      if (fault || isUnreachable(error)) {
        this.#inspectAt = 0
        void this.#check()
      }
      throw fault ?? error
    } finally {
      this.#requests.delete(own)
      limits.signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Ends the requests that can run on another node. Nothing was received of their responses. */
  moveRequests(): void {
    for (const [request, movable] of this.#requests) if (movable) request.abort(moved)
  }

  /** Resolves with the reason why the node cannot be used. */
  #check(): Promise<unknown> {
    clearTimeout(this.#timer)
    this.#checking ??= this.#examine()
      .catch((error: unknown) => {
        const problem = explainServerError(error, this.#identity) ?? error
        this.#becomeDown(problem)
        return problem
      })
      .finally(() => {
        this.#checking = undefined
        if (this.#closed) return
        this.#timer = setTimeout(
          () => void this.#check(),
          this.#options.checkEveryMs ?? defaults.checkEveryMs,
        )
        this.#timer.unref()
      })
    return this.#checking
  }

  /** Mostly only pings a node that was ready. */
  async #examine(): Promise<void> {
    const { ready, version: before, leak: leakBefore } = this.#state
    const { http } = this.#inspector
    if (ready) {
      // Even a busy server responds to it.
      await ask(http, this.#identity, { path: '/ping' }, pingWithinMs)
      if (performance.now() < this.#inspectAt) return
    }
    const version = await checkServer(http, this.#identity).catch((error) => {
      if (ready && before !== undefined && error instanceof ServerProblem && error.isAway) return before
      throw error
    })
    this.#inspectAt = performance.now() + defaults.inspectEveryMs
    const isUnchecked = version !== before || leakBefore !== undefined
    if (ready && !isUnchecked) return
    // Serves nobody until it is known what the new version shows.
    if (ready && version !== before) {
      this.#become({ ready: false, reason: `ClickHouse ${version} is being checked.` })
    }
    const databaseId = await openDatabase(this.#inspector, this.#identity)
    // Without a cluster, each of several servers would store a part of the entries.
    if (!this.#owner.shares(databaseId)) {
      const reason = `This is not the server of the other addresses: its database ${this.database} is another one.`
      const advice = 'Name one server in WELLHEAD_CLICKHOUSE_URL, or set WELLHEAD_CLICKHOUSE_CLUSTER.'
      throw new ServerProblem(this.#identity, reason, advice)
    }
    const { commonTable } = this.#options
    if (commonTable !== undefined && (await lacksTable(this.#inspector, this.#identity, commonTable))) {
      const advice = 'See "Replacing a node" in docs/cluster.md.'
      throw new ServerProblem(this.#identity, 'The tables of Wellhead are missing on this node.', advice)
    }
    this.#unknownSettings = await findUnknownSettings(this.#inspector)
    // Serves all but tenants until it is known whether the leak is gone.
    if (version === before && leakBefore !== undefined)
      this.#become({ ready: true, version, leak: leakBefore })
    const leak = isUnchecked ? await this.#options.checkIsolation?.(this, this.#options.cluster) : undefined
    this.#become({ ready: true, version, ...(leak !== undefined && { leak }) })
  }

  #becomeDown(error: unknown): void {
    const { ready, reason: before } = this.#state
    // Anyone can read it, so it names no host, user or statement.
    const reason = error instanceof ServerProblem ? error.reason : 'ClickHouse cannot be used.'
    // At the start, the caller reports it.
    if (before !== unreached && (ready || before !== reason) && !this.#closed) {
      this.#log[ready ? 'error' : 'warn']({ err: error }, (error as Error).message)
    }
    this.#become({ ready: false, reason })
  }

  #become(next: Pick<NodeState, 'ready' | 'version' | 'reason' | 'leak'>): void {
    if (this.#closed) return
    const { node, ready, restarts, version, leak } = this.#state
    if (next.ready && !ready) this.#log.info({ engineVersion: next.version }, 'ClickHouse ready')
    if (next.leak !== undefined && next.leak !== leak) {
      this.#log.error({ leak: next.leak }, 'ClickHouse does not isolate tenants, so they are refused')
    }
    const earlier = { ...(version !== undefined && { version }), ...(leak !== undefined && { leak }) }
    this.#state = next.ready
      ? { node, restarts: restarts + (!ready && version !== undefined ? 1 : 0), ...next }
      : { node, restarts, ...earlier, ...next }
    this.#owner.onChange(this)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#client.close()
    this.#inspector.close()
  }
}

/** Host and port, and the path if there is one. */
function nameOf({ hostname, port, protocol, pathname }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}${pathname.replace(/\/$/, '')}`
}

const withinMs = 20_000
const pingWithinMs = 5_000
const maxResponseBytes = 2 ** 20

/** The oldest supported release, with long-term support. */
const oldestVersion = [25, 3] as const

/** With as few settings as possible, so that an old server or a strict profile does not refuse it. */
async function ask(
  http: ClickHouseHttp,
  server: ServerIdentity,
  request: Pick<HttpRequest, 'body' | 'path'>,
  ms = withinMs,
): Promise<string> {
  return withDeadline(ms, undefined, async (signal) => {
    try {
      const { body } = await http.send({ ...request, maxResponseBytes, repeatable: true, signal })
      return body.toString().trimEnd()
    } catch (error) {
      if (error instanceof ClickHouseError) throw error
      throw cannotConnect(server, signal.aborted ? 'It does not respond.' : (error as Error).message)
    }
  })
}

async function checkServer(http: ClickHouseHttp, server: ServerIdentity): Promise<string> {
  const version = await ask(http, server, { path: '/', body: Buffer.from('SELECT version()') })
  const [, major, minor] = /^(\d+)\.(\d+)\.[\w.-]+$/.exec(version)?.map(Number) ?? []
  if (major === undefined || minor === undefined)
    throw cannotConnect(server, 'HTTP status 200: what responds is not ClickHouse.')
  if (major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1])) {
    const advice = `Upgrade it to ${oldestVersion.join('.')} or newer.`
    throw new ServerProblem(server, `ClickHouse ${version} is too old.`, advice)
  }
  if ((await ask(http, server, { body: Buffer.from("SELECT getSetting('readonly')") })) !== '0') {
    throw new ServerProblem(server, 'The ClickHouse user is read-only.', 'Set readonly to 0 in its profile.')
  }
  const grants = neededGrants(server.database, server.cluster)
  if ((await ask(http, server, { body: Buffer.from(`CHECK GRANT ${grants.join(', ')}`) })) !== '1') {
    const statements = grants.map((grant) => `GRANT ${grant} TO ${quoteName(server.user)}`)
    throw new ServerProblem(server, 'The ClickHouse user lacks a grant.', `Run: ${statements.join('; ')}`)
  }
  return version
}

/** The node responded to its check, so it is busy at most. */
const limits = { deadlineMs: 30_000 }

/** Returns the id of the database, after creating it on this node if it is missing. */
async function openDatabase(client: ClickHouseClient, { database }: ServerIdentity): Promise<string> {
  const sql = 'SELECT uuid FROM system.databases WHERE name = {database:String}'
  const readId = () => queryText(client, { sql, parameters: { database } }, limits)
  const found = await readId()
  if (found !== '') return found
  await client.command({ sql: `CREATE DATABASE IF NOT EXISTS \`${database}\`` }, limits)
  return readId()
}

/** Whether the node lacks a table that another node of its cluster has: it is new, or it lost its data. */
async function lacksTable(
  client: ClickHouseClient,
  { database, cluster }: ServerIdentity,
  table: string,
): Promise<boolean> {
  if (cluster === undefined) return false
  const count = async (tables: string) => {
    const sql = `SELECT count() FROM ${tables} WHERE database = {database:String} AND name = {table:String}`
    const settings = { skip_unavailable_shards: 1 }
    return Number(await queryText(client, { sql, parameters: { database, table }, settings }, limits))
  }
  if ((await count('system.tables')) > 0) return false
  return (await count(`clusterAllReplicas(${sqlText(cluster)}, system.tables)`)) > 0
}

/** Settings of which some are newer than the oldest release. */
const newer = [
  ...Object.keys(isolationSettings),
  'json_type_escape_dots_in_keys',
  'query_plan_optimize_lazy_materialization',
]

/** Settings that the server does not have: it refuses requests with them. */
async function findUnknownSettings(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const sql = `SELECT name FROM system.settings WHERE name IN (${newer.map(sqlText).join(', ')})`
  const rows = await queryRows<{ name: string }>(client, { sql }, limits)
  const known = new Set(rows.map(({ name }) => name))
  return new Set(newer.filter((name) => !known.has(name)))
}

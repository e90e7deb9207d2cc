import type { Log } from '../../base/log.ts'
import { serverAddresses } from '../../base/server-addresses.ts'
import type { Settings } from '../../base/settings.ts'
import type { Engine, InsertInto, Limits, QueryResult, Statement } from '../engine.ts'
import { ServerEngine } from '../server-engine.ts'
import { insertSettings, quorumOf, readSettings, schemaSettings } from './cluster-settings.ts'
import { type NodeOptions, RemoteNode, unreached } from './remote-node.ts'
import { ServerProblem } from './server-problem.ts'
import { type ClusterLayout, findLayout, onCluster, singleServer, type Topology } from './topology.ts'

interface RemoteEngineOptions extends NodeOptions {
  url: string
  /** The user of all nodes; by default, the one in the URL. */
  user?: string | undefined
  password?: string | undefined
}

export class RemoteEngine extends ServerEngine<RemoteNode> {
  protected readonly nodes: readonly RemoteNode[]
  readonly #log: Log
  /** The database of the node that was ready first. */
  #databaseId: string | undefined

  constructor(options: RemoteEngineOptions) {
    super(options.database, unreached)
    this.#log = options.log
    const owner = {
      onChange: (node: RemoteNode) => this.onChange(node),
      shares: (databaseId: string) => this.#shares(databaseId, options.cluster),
    }
    this.nodes = serverAddresses(options.url, options).map(
      (address) => new RemoteNode(address, options, owner),
    )
  }

  /** Rejects if no node can be used, because at the start that is most likely a wrong setting. */
  async start(): Promise<void> {
    const outcomes = await Promise.allSettled(this.nodes.map((node) => node.start()))
    const failures = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : undefined))
    if (!failures.includes(undefined)) {
      // A server that responds says more than one that is away.
      throw failures.find((error) => !(error instanceof ServerProblem && error.isAway)) ?? failures[0]
    }
    for (const [at, error] of failures.entries()) {
      const { node, reason } = this.nodes[at]?.state ?? {}
      if (error !== undefined) this.#log.warn({ node, err: error }, `${reason} The other nodes are used.`)
    }
  }

  /** The nodes of a cluster have databases of their own; that of a single server may be created anew. */
  #shares(databaseId: string, cluster: string | undefined): boolean {
    if (cluster !== undefined || this.nodes.length === 1) return true
    this.#databaseId ??= databaseId
    return databaseId === this.#databaseId
  }
}

interface ClusterEngineOptions extends RemoteEngineOptions {
  cluster: string
  /** Default: 2, or 1 where a shard has one replica. */
  quorum: number | undefined
}

/** The nodes of a cluster. Adds to each statement the settings that it needs there. */
export class ClusterEngine extends RemoteEngine {
  readonly #options: ClusterEngineOptions
  #open: { layout: ClusterLayout; quorum: number } | undefined

  constructor(options: ClusterEngineOptions) {
    super(options)
    this.#options = options
  }

  /** Known once the engine has started. */
  get topology(): Topology {
    return this.#open?.layout ?? singleServer(this.database)
  }

  override async start(): Promise<void> {
    await super.start()
    const { cluster, log } = this.#options
    const layout = await findLayout(this, cluster)
    const quorum = quorumOf(layout, this.#options.quorum)
    this.#open = { layout, quorum }
    const { replicated, replicas, shards, shardsChanged } = layout
    if (!replicated) log.warn({ cluster }, 'the cluster has no keeper: tables are not replicated')
    if (shardsChanged) {
      log.warn(
        { cluster, shards },
        'the shards changed since the tables were created: queries ask every shard',
      )
    }
    log.info({ cluster, shards, replicas, quorum }, 'using a cluster')
    // The node that the service uses has it already.
    if (replicated) await this.command({ sql: createDatabase(layout) }, { deadlineMs: 60_000 })
  }

  override query(statement: Statement, limits: Limits): Promise<QueryResult> {
    const settings = this.#open && readSettings(this.#open.layout, this.#open.quorum)
    return super.query({ ...statement, settings: { ...settings, ...statement.settings } }, limits)
  }

  override insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<void> {
    const settings = this.#open && insertSettings(this.#open.layout, this.#open.quorum, target.table)
    return super.insert({ ...target, settings: { ...settings, ...target.settings } }, rows, limits)
  }

  override command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<void> {
    const settings = this.#open && schemaSettings(this.#open.layout)
    return super.command({ ...statement, settings: { ...settings, ...statement.settings } }, limits)
  }
}

export function createDatabase(topology: Topology): string {
  return `CREATE DATABASE IF NOT EXISTS ${topology.database}${onCluster(topology)}`
}

export function serverEngine(
  settings: Settings,
  url: string,
  { log, checkIsolation }: Pick<RemoteEngineOptions, 'log' | 'checkIsolation'>,
): RemoteEngine {
  const { clickhouseCluster: cluster, clickhouseQuorum: quorum } = settings
  const server = {
    url,
    user: settings.clickhouseUser,
    password: settings.clickhousePassword,
    database: settings.clickhouseDatabase,
    commonTable: '_catalog',
    log,
    checkIsolation,
  }
  return cluster === undefined ? new RemoteEngine(server) : new ClusterEngine({ ...server, cluster, quorum })
}

/** The engine must have started. */
export function topologyOf(engine: Engine): Topology {
  return engine instanceof ClusterEngine ? engine.topology : singleServer(engine.database)
}

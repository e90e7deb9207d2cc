import type { Log } from '../base/log.ts'
import { serverAddresses } from '../base/server-addresses.ts'
import { ServerEngine } from '../engine/server-engine.ts'
import { type NodeOptions, RemoteNode, unreached } from './remote-node.ts'
import { ServerProblem } from './server-problem.ts'

export interface RemoteEngineOptions extends NodeOptions {
  /** One or several, separated by commas. */
  url: string
  /** The user of all nodes; by default, the one in the URL. */
  user?: string | undefined
  password?: string | undefined
}

/** ClickHouse servers of the operator. */
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

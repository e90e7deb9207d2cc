import type { Log } from '../base/log.ts'
import { serverAddresses } from '../base/server-addresses.ts'
import type { Engine, EngineState, InsertInto, Limits, QueryResult, Statement } from '../engine/engine.ts'
import { isNodeTrouble, isUnreachable } from '../engine/engine-errors.ts'
import { ReadyWaiters, requireIsolation, whenReady } from '../engine/readiness.ts'
import { type NodeOptions, RemoteNode, unreached } from './remote-node.ts'
import { ServerProblem } from './server-problem.ts'

export interface RemoteEngineOptions extends NodeOptions {
  /** One or several, separated by commas. */
  url: string
  /** The user of all nodes; by default, the one in the URL. */
  user?: string | undefined
  password?: string | undefined
}

/** A statement that crashes servers must not reach all of them. */
const maxUnanswered = 2

export class RemoteEngine implements Engine {
  readonly database: string
  readonly #nodes: readonly RemoteNode[]
  readonly #log: Log
  readonly #waiters = new ReadyWaiters()
  #state: EngineState
  /** The database of the node that was ready first. */
  #databaseId: string | undefined
  /** Counts requests, so that equally busy nodes take turns. */
  #turn = 0

  constructor(options: RemoteEngineOptions) {
    this.database = options.database
    this.#log = options.log
    const owner = {
      onChange: (node: RemoteNode) => this.#onChange(node),
      shares: (databaseId: string) => this.#shares(databaseId, options.cluster),
    }
    this.#nodes = serverAddresses(options.url, options).map(
      (address) => new RemoteNode(address, options, owner),
    )
    const nodes = this.#nodes.map(({ state }) => state)
    this.#state = { kind: 'starting', reason: unreached, restarts: 0, nodes }
  }

  /** Rejects if no node can be used, because at the start that is most likely a wrong setting. */
  async start(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#nodes.map((node) => node.start()))
    const failures = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : undefined))
    if (!failures.includes(undefined)) {
      // A server that responds says more than one that is away.
      throw failures.find((error) => !(error instanceof ServerProblem && error.isAway)) ?? failures[0]
    }
    for (const [at, error] of failures.entries()) {
      const { node, reason } = this.#nodes[at]?.state ?? {}
      if (error !== undefined) this.#log.warn({ node, err: error }, `${reason} The other nodes are used.`)
    }
  }

  #onChange(changed: RemoteNode): void {
    const nodes = this.#nodes.map(({ state }) => state)
    const restarts = nodes.reduce((sum, node) => sum + node.restarts, 0)
    const ready = nodes.filter((node) => node.ready)
    const [{ version: engineVersion = '' } = {}] = ready
    // Also while all are away: cached results may come from a node that leaks.
    const leak = (ready.length > 0 ? ready : nodes).find((node) => node.leak !== undefined)?.leak
    const down = { kind: 'down', reason: changed.state.reason ?? '' } as const
    this.#state = {
      ...(ready.length > 0 ? { kind: 'ready', engineVersion } : down),
      ...(leak !== undefined && { leak }),
      restarts,
      nodes,
    }
    if (ready.length > 0) this.#waiters.resolve()
    if (ready.length > 0 && !changed.state.ready) changed.moveRequests()
  }

  /** The nodes of a cluster have databases of their own; that of a single server may be created anew. */
  #shares(databaseId: string, cluster: string | undefined): boolean {
    if (cluster !== undefined || this.#nodes.length === 1) return true
    this.#databaseId ??= databaseId
    return databaseId === this.#databaseId
  }

  state(): EngineState {
    return this.#state
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#run(limits, true, (node, rest) => node.query(statement, rest))
  }

  /** With a token, the cluster stores the rows once, whichever nodes receive them. */
  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<void> {
    const isOnce = target.settings?.insert_deduplication_token !== undefined
    return this.#run(limits, isOnce, (node, rest) => node.insert(target, rows, rest))
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<void> {
    return this.#run(limits, false, (node, rest) => node.command(statement, rest))
  }

  /** Tries a repeatable request on the next node if one could not serve it. */
  async #run<T>(
    limits: Limits,
    repeatable: boolean,
    send: (node: RemoteNode, limits: Limits) => Promise<T>,
  ): Promise<T> {
    const since = performance.now()
    const tried = new Set<RemoteNode>()
    let rest = limits
    let unanswered = 0
    let failure: unknown
    for (;;) {
      const node = this.#choose(tried)
      if (!node && failure !== undefined) throw failure
      if (!node) {
        // Clients should not retry in a tight loop while all nodes are away.
        rest = await whenReady(rest, (withinMs, signal) => this.#waiters.wait(withinMs, signal))
        continue
      }
      // Here, because a statement may have waited until a node with a new version was ready.
      if (limits.isolated) requireIsolation(this)
      try {
        return await node.run(rest, repeatable, (own) => send(node, own))
      } catch (error) {
        if (isUnreachable(error)) unanswered++
        if (!repeatable || !isNodeTrouble(error) || unanswered >= maxUnanswered) throw error
        const deadlineMs = limits.deadlineMs - Math.ceil(performance.now() - since)
        if (deadlineMs <= 0) throw error
        rest = { ...limits, deadlineMs }
        tried.add(node)
        failure ??= error
      }
    }
  }

  /** The ready node with the fewest requests; a slow one gets fewer, and one that returns gets no more than the others have. */
  #choose(tried: ReadonlySet<RemoteNode>): RemoteNode | undefined {
    const start = this.#turn++ % this.#nodes.length
    const inTurn = [...this.#nodes.slice(start), ...this.#nodes.slice(0, start)]
    const usable = inTurn.filter((node) => node.state.ready && !tried.has(node))
    return usable.reduce<RemoteNode | undefined>(
      (best, node) => (best && best.load <= node.load ? best : node),
      undefined,
    )
  }

  async close(): Promise<void> {
    this.#state = { kind: 'closed', reason: 'Closed.', restarts: this.#state.restarts }
    this.#waiters.reject(new Error('The engine is closed.'))
    for (const node of this.#nodes) node.close()
  }
}

import { EventEmitter, once } from 'node:events'
import { timeLimit, withDeadline } from '../base/clock.ts'
import { engineUnavailable, isolationUnverified, queryCancelled } from '../base/errors.ts'
import type {
  Engine,
  EngineState,
  InsertInto,
  InsertLimits,
  Limits,
  NodeState,
  QueryResult,
  Statement,
} from './engine.ts'
import { isNodeTrouble, isUnreachable } from './engine-errors.ts'

/** A ClickHouse server, and how it is reached. */
export interface EngineNode extends Pick<Engine, 'query' | 'insert' | 'command'> {
  readonly state: NodeState
  readonly load: number
  /** Throws if the statement, or others of its origin, crashed the node before. */
  refuse?(limits: Limits, statement: Statement | undefined): void
  /** Runs a request that can run on another node instead, or not. Notices what its failure says about the node. */
  run?<T>(limits: Limits, movable: boolean, send: (limits: Limits) => Promise<T>): Promise<T>
  /** Ends the requests that can run on another node. */
  moveRequests?(): void
  close(): Promise<void> | void
}

/** A statement that crashes servers must not reach all of them. */
const maxUnanswered = 2

/** How long a statement waits for an engine that restarts. */
const waitForReadyMs = 2_000

/** One or several ClickHouse servers with the same data: chooses one for each statement. */
export abstract class ServerEngine<Node extends EngineNode = EngineNode> implements Engine {
  readonly database: string
  protected abstract readonly nodes: readonly Node[]
  readonly #waiters = new ReadyWaiters()
  #state: EngineState
  #isClosed = false
  /** Counts requests, so that equally busy nodes take turns. */
  #turn = 0

  constructor(database: string, reason: string) {
    this.database = database
    this.#state = { ready: false, reason, restarts: 0 }
  }

  abstract start(): Promise<void>

  state(): EngineState {
    return this.#state
  }

  protected whenReady(withinMs: number, signal?: AbortSignal): Promise<void> {
    return this.#waiters.wait(withinMs, signal)
  }

  protected onChange(changed: Node): void {
    if (this.#isClosed) return
    const nodes = this.nodes.map(({ state }) => state)
    const restarts = nodes.reduce((sum, node) => sum + node.restarts, 0)
    const ready = nodes.filter((node) => node.ready)
    const [{ version = '' } = {}] = ready
    // Also while all are away: cached results may come from a node that leaks.
    const leak = (ready.length > 0 ? ready : nodes).find((node) => node.leak !== undefined)?.leak
    this.#state = {
      ...(ready.length > 0 ? { ready: true, version } : { ready: false, reason: changed.state.reason ?? '' }),
      ...(leak !== undefined && { leak }),
      restarts,
      nodes,
    }
    if (ready.length > 0) this.#waiters.resolve()
    if (ready.length > 0 && !changed.state.ready) changed.moveRequests?.()
  }

  /** Ends the wait of statements for a node that cannot start. */
  protected refuseWaiting(error: Error): void {
    this.#waiters.reject(error)
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#run(limits, true, (node, rest) => node.query(statement, rest), statement)
  }

  /** With a token, the cluster stores the rows once, whichever nodes receive them. */
  insert(target: InsertInto, rows: Buffer, { onSend, ...limits }: InsertLimits): Promise<void> {
    const isOnce = target.settings?.insert_deduplication_token !== undefined
    return this.#run(limits, isOnce, (node, rest) =>
      node.insert(target, rows, { ...rest, ...(onSend && { onSend }) }),
    )
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<void> {
    return this.#run(limits, false, (node, rest) => node.command(statement, rest))
  }

  /** Tries a repeatable request on the next node if one could not serve it. */
  async #run<T>(
    limits: Limits,
    repeatable: boolean,
    send: (node: Node, limits: Limits) => Promise<T>,
    query?: Statement,
  ): Promise<T> {
    const time = timeLimit(limits.deadlineMs)
    const tried = new Set<Node>()
    let unanswered = 0
    let failure: unknown
    for (let rest = limits; ; rest = { ...limits, deadlineMs: time.leftMs() }) {
      // Again after a wait, because a statement that ended the engine meanwhile may be of the same origin.
      for (const node of this.nodes) node.refuse?.(limits, query)
      const node = this.#choose(tried)
      if (!node && failure !== undefined) throw failure
      if (!node) {
        await this.#whenReadyWithin(rest)
        continue
      }
      // Here, because a statement may have waited until a node with a new version was ready.
      if (limits.isolated) requireIsolation(this)
      try {
        const sendTo = (own: Limits) => send(node, own)
        return await (node.run ? node.run(rest, repeatable, sendTo) : sendTo(rest))
      } catch (error) {
        if (isUnreachable(error)) unanswered++
        if (!repeatable || !isNodeTrouble(error) || unanswered >= maxUnanswered) throw error
        if (time.isOver()) throw error
        tried.add(node)
        failure ??= error
      }
    }
  }

  /** Waits while no node is ready: clients should not retry in a tight loop. */
  async #whenReadyWithin(limits: Limits): Promise<void> {
    try {
      await this.whenReady(Math.min(limits.deadlineMs, waitForReadyMs), limits.signal)
    } catch (error) {
      if (limits.signal?.aborted) throw queryCancelled()
      throw engineUnavailable('The engine is not available at the moment.', error)
    }
  }

  /** The ready node with the fewest requests; a slow one gets fewer, and one that returns gets no more than the others have. */
  #choose(tried: ReadonlySet<Node>): Node | undefined {
    const start = this.#turn++ % this.nodes.length
    const inTurn = [...this.nodes.slice(start), ...this.nodes.slice(0, start)]
    const usable = inTurn.filter((node) => node.state.ready && !tried.has(node))
    return usable.reduce<Node | undefined>(
      (best, node) => (best && best.load <= node.load ? best : node),
      undefined,
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#state = { ready: false, reason: 'The engine is closed.', restarts: this.#state.restarts }
    this.#waiters.reject(new Error('The engine is closed.'))
    await Promise.all(this.nodes.map((node) => node.close()))
  }
}

/** Callers that wait until the engine is ready. Each has its own timeout and signal. */
export class ReadyWaiters {
  readonly #events = new EventEmitter().setMaxListeners(0)

  async wait(withinMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    await withDeadline(withinMs, signal, (limited) =>
      once(this.#events, 'ready', { signal: limited }).catch((error) => {
        signal?.throwIfAborted()
        throw limited.aborted ? new Error('The engine did not become ready in time.') : error
      }),
    )
  }

  resolve(): void {
    this.#events.emit('ready')
  }

  reject(error: Error): void {
    // Without a listener, the emitter would throw.
    if (this.#events.listenerCount('error') > 0) this.#events.emit('error', error)
  }
}

/** Throws while a server shows tenants the rows of others. */
export function requireIsolation(engine: Pick<Engine, 'state'>): void {
  const { leak } = engine.state()
  if (leak !== undefined) throw isolationUnverified(leak)
}

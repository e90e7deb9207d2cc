import { exceptions, fromNative } from './exceptions.ts'
import type { EngineRequest } from './request.ts'
import type { EngineSession, SessionResult } from './session.ts'
import { PoolFull, SessionPool } from './session-pool.ts'
import { inspectStatement, parseInsert, quote } from './statement.ts'

/** How often a stop is repeated until it holds: the query may not have been registered at the first. */
const repeatKillMs = 50

export interface QueryRunnerOptions {
  open: () => Promise<EngineSession>
  sessions: number
  maxWaiting: number
  graceMs: number
  /** Called when a query ignored its limit; the process cannot be trusted after that. */
  giveUp: (queryId: string) => void
}

/** Runs requests on the pool; stops those that nobody waits for any more or that outlive their limit. */
export class QueryRunner {
  readonly #options: QueryRunnerOptions
  readonly #pool: SessionPool
  #control: Promise<EngineSession> | undefined
  #lastTag = 0
  readonly #running = new Set<AbortController>()

  constructor(options: QueryRunnerOptions) {
    this.#options = options
    this.#pool = new SessionPool({
      open: options.open,
      size: options.sessions,
      maxWaiting: options.maxWaiting,
    })
  }

  async run(request: EngineRequest, gone: AbortSignal): Promise<SessionResult> {
    const statement = inspectStatement(request.sql)
    if (statement.several) throw exceptions.severalStatements()
    if (statement.touchesFile) throw exceptions.notImplemented('Reading or writing a file')
    if (request.readOnly && statement.writes) throw exceptions.readOnly(statement.verb)
    for (const name of statement.placeholders) {
      if (!request.parameters.has(name)) throw exceptions.parameterMissing(name)
    }
    const target = request.rows && parseInsert(request.sql)
    if (request.rows && !target) throw exceptions.notImplemented('This form of INSERT with a body')
    const tag = `wh-${++this.#lastTag}`
    try {
      return await this.#pool.use(async (session) => {
        gone.throwIfAborted()
        await session.prepare({ tag, settings: request.settings, parameters: request.parameters })
        return await this.#watch(request, tag, gone, () =>
          target && request.rows
            ? session.insert(target, request.rows)
            : session.run(request.sql, request.format),
        )
      })
    } catch (error) {
      if (error instanceof PoolFull) throw exceptions.tooMany()
      throw fromNative(error)
    }
  }

  async #watch<T>(
    request: EngineRequest,
    tag: string,
    gone: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const limitSeconds = Number(request.settings.get('max_execution_time') ?? 0)
    const stop = new AbortController()
    let late = false
    let killing: NodeJS.Timeout | undefined
    const kill = () => {
      killing ??= setInterval(() => this.#kill(tag), repeatKillMs)
      this.#kill(tag)
    }
    stop.signal.addEventListener('abort', kill, { once: true })
    const onGone = () => stop.abort()
    gone.addEventListener('abort', onGone, { once: true })
    const deadlines =
      limitSeconds > 0
        ? [
            setTimeout(() => {
              late = true
              stop.abort()
            }, limitSeconds * 1000),
            setTimeout(
              () => this.#options.giveUp(request.queryId),
              limitSeconds * 1000 + this.#options.graceMs,
            ),
          ]
        : []
    this.#running.add(stop)
    try {
      return await work()
    } catch (error) {
      throw late ? exceptions.timeout(limitSeconds) : error
    } finally {
      this.#running.delete(stop)
      gone.removeEventListener('abort', onGone)
      clearInterval(killing)
      for (const timer of deadlines) clearTimeout(timer)
    }
  }

  /** SYNC never returns in the embedded engine; ASYNC marks the query, which then stops by itself. */
  async #kill(tag: string): Promise<void> {
    this.#control ??= this.#options.open()
    const control = await this.#control
    if (control.spoiled) {
      this.#control = undefined
      return
    }
    await control.run(`KILL QUERY WHERE Settings['log_comment'] = ${quote(tag)} ASYNC`, 'Null').catch(() => {
      control.close()
      this.#control = undefined
    })
  }

  /** Lets what runs finish, stops what does not within the given time, then closes the engine. */
  async stop(withinMs: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const query of this.#running) query.abort()
    }, withinMs)
    while (this.#running.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    clearTimeout(timer)
    this.#pool.close()
    const control = await this.#control
    control?.close()
  }
}

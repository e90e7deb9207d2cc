import { EmptyParts } from './empty-parts.ts'
import { exceptions, fromNative } from './exceptions.ts'
import { isHalfMade } from './half-made-inserts.ts'
import { InsertLogSync, type LogMark } from './insert-log-sync.ts'
import { QueryKiller } from './query-killer.ts'
import type { EngineRequest } from './request.ts'
import type { EngineSession, SessionResult } from './session.ts'
import { PoolFull, SessionPool } from './session-pool.ts'
import { type InsertTarget, inspectStatement, parseInsert } from './statement.ts'

export interface QueryRunnerOptions {
  /** A session for stopping the queries of the others. */
  control: EngineSession
  open: () => Promise<EngineSession>
  sessions: number
  maxWaiting: number
  graceMs: number
  /** Called when a query ignored its limit; the process cannot be trusted after that. */
  giveUp: (queryId: string) => void
  /** Called when what the engine has in memory is not what it has on disk. */
  startOver: (reason: string) => void
}

/** Each takes a fifth of a megabyte. */
const maxClosing = 256
const maxTables = 10_000

/** Runs requests on the pool; stops those that nobody waits for any more or that outlive their limit. */
export class QueryRunner {
  readonly #options: QueryRunnerOptions
  readonly #pool: SessionPool<EngineSession>
  readonly #killer: QueryKiller
  readonly #running = new Set<AbortController>()
  readonly #insertLogs = new InsertLogSync(maxTables)
  readonly #emptyParts = new EmptyParts(maxTables)
  #lastTag = 0

  constructor(options: QueryRunnerOptions) {
    this.#options = options
    this.#killer = new QueryKiller(options.control, options.open)
    this.#pool = new SessionPool({
      open: options.open,
      size: options.sessions,
      maxWaiting: options.maxWaiting,
      maxClosing,
    })
  }

  async run(request: EngineRequest, gone: AbortSignal): Promise<SessionResult> {
    const target = checkStatement(request)
    const limitSeconds = Number(request.settings.get('max_execution_time') ?? 0)
    const stop = new AbortController()
    const onGone = () => stop.abort()
    gone.addEventListener('abort', onGone, { once: true })
    if (gone.aborted) stop.abort()
    const limit = limitSeconds > 0 ? setTimeout(() => stop.abort('late'), limitSeconds * 1000) : undefined
    const limitAt = limitSeconds > 0 ? performance.now() + limitSeconds * 1000 : undefined
    this.#running.add(stop)
    try {
      return await this.#pool.use(stop.signal, (session) =>
        this.#onSession(session, request, target, stop.signal, limitAt),
      )
    } catch (error) {
      if (error instanceof PoolFull) throw exceptions.tooMany()
      const told = stop.signal.reason === 'late' ? exceptions.timeout(limitSeconds) : fromNative(error)
      // Opened anew, the engine puts such parts aside, and takes what they were made from in their place.
      if (told.isOfBrokenPart) this.#options.startOver('a part on disk is not what was written')
      throw told
    } finally {
      this.#running.delete(stop)
      clearTimeout(limit)
      gone.removeEventListener('abort', onGone)
    }
  }

  async #onSession(
    session: EngineSession,
    request: EngineRequest,
    target: InsertTarget | undefined,
    stop: AbortSignal,
    limitAt: number | undefined,
  ): Promise<SessionResult> {
    const tag = `wh-${++this.#lastTag}`
    let givingUp: NodeJS.Timeout | undefined
    const onStop = () => {
      // What is sent for this tag may arrive after its query ended, and must not meet the next one.
      session.spoil()
      this.#killer.kill(tag)
      if (limitAt === undefined) return
      // A query whose caller left has until its limit, and would hold its session for good if it ignored that, too.
      const leftMs = Math.max(0, limitAt - performance.now())
      givingUp = setTimeout(() => this.#options.giveUp(request.queryId), leftMs + this.#options.graceMs)
    }
    stop.addEventListener('abort', onStop, { once: true })
    try {
      await session.prepare({ tag, settings: request.settings, parameters: request.parameters })
      stop.throwIfAborted()
      if (!target || !request.rows) return await session.run(request.sql, request.format)
      const directory = await this.#insertLogs.directoryOf(target.table, session)
      if (directory !== undefined) await this.#emptyParts.know(directory)
      const mark = await this.#insertLogs.mark(target.table, session)
      const inserted = await session.insert(target, request.rows).catch(async (error) => {
        await this.#startOverIfHalfMade(target.table, mark)
        throw error
      })
      await this.#checkStored(target.table, mark, session)
      await this.#insertLogs.sync(target.table, session)
      return inserted
    } finally {
      clearTimeout(givingUp)
      stop.removeEventListener('abort', onStop)
      this.#killer.ended(tag)
    }
  }

  /** Throws where an insert that the engine calls made is not on disk, or not in the log of them. */
  async #checkStored(table: string, mark: LogMark | undefined, session: EngineSession): Promise<void> {
    const directory = await this.#insertLogs.directoryOf(table, session)
    if (directory === undefined) return
    const { inserted, isEmpty } = await this.#emptyParts.look(directory)
    const named = new Set(
      mark === undefined ? inserted : await this.#insertLogs.partsSince(mark, table, session),
    )
    const unnamed = inserted.filter((part) => !named.has(part))
    // Others may insert at the same time, so that a line can be older than the part that it names.
    const isUnnamed = unnamed.length > 0 && !(await this.#insertLogs.names(unnamed, table, session))
    if (!isEmpty && !isUnnamed) return
    this.#options.startOver('an insert was not written as a whole')
    throw exceptions.notWritten()
  }

  /** An engine that opens its directory forgets inserts whose rows are not there; one that runs does not. */
  async #startOverIfHalfMade(table: string, mark: LogMark | undefined): Promise<void> {
    let other: EngineSession | undefined
    try {
      other = await this.#options.open()
      const named = await this.#insertLogs.partsSince(mark, table, other)
      if (await isHalfMade(named, table, other)) this.#options.startOver('an insert was made in part')
    } catch {
      this.#options.startOver('nobody knows whether an insert was made in part')
    } finally {
      void other?.close()
    }
  }

  /** Lets what runs or waits finish, stops what does not within the given time, then closes the sessions. */
  async stop(withinMs: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const query of this.#running) query.abort()
    }, withinMs)
    while (this.#running.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    clearTimeout(timer)
    this.#pool.close()
    this.#killer.close()
  }
}

/** What this interface does not take. Gives the target of rows that came as a body. */
function checkStatement(request: EngineRequest): InsertTarget | undefined {
  const statement = inspectStatement(request.sql)
  if (statement.several) throw exceptions.severalStatements()
  if (statement.touchesFile) throw exceptions.notImplemented('Reading or writing a file')
  if (request.readOnly && statement.writes) throw exceptions.readOnly(statement.verb)
  for (const name of statement.placeholders) {
    if (!request.parameters.has(name)) throw exceptions.parameterMissing(name)
  }
  if (request.rows === undefined) return undefined
  const target = parseInsert(request.sql)
  if (!target) throw exceptions.notImplemented('This form of INSERT with a body')
  return target
}

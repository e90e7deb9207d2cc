import { assignments, type ComposedStatement, composeStatement } from './composed-statement.ts'
import { InsertVerifier } from './durability/insert-verifier.ts'
import { EngineException, exceptions, fromNative } from './exceptions.ts'
import { measuredFormat, rowFormOf } from './measured-rows.ts'
import type { HostOptions } from './protocol.ts'
import type { EngineRequest } from './request.ts'
import type { EngineSession, SessionResult } from './session.ts'
import { SessionPool } from './session-pool.ts'
import { type InsertTarget, inspectStatement, parseInsert, quote, type Statement } from './statement.ts'

interface QueryRunnerOptions extends Pick<HostOptions, 'database' | 'sessions' | 'maxWaiting' | 'graceMs'> {
  /** Session that stops the queries of the others. */
  control: EngineSession
  open: () => Promise<EngineSession>
  /** Called when a query ignores its time limit; must end the process. */
  giveUp: (queryId: string) => void
  /** Called when the engine's memory and disk differ; must end the process. */
  restart: (reason: string) => void
}

/** A closing session takes 0.2 MB. */
const maxClosing = 256
const maxTables = 10_000

/** Runs requests in the pool's sessions. Stops those whose client left or whose time limit is over. */
export class QueryRunner {
  readonly #options: QueryRunnerOptions
  readonly #pool: SessionPool<EngineSession>
  readonly #killer: QueryKiller
  readonly #running = new Set<AbortController>()
  readonly #verifier = new InsertVerifier(maxTables)
  #lastTag = 0

  constructor(options: QueryRunnerOptions) {
    this.#options = options
    this.#killer = new QueryKiller(options.control, options.open)
    const { open, sessions, maxWaiting } = options
    this.#pool = new SessionPool({ open, size: sessions, maxWaiting, maxClosing })
  }

  async run(request: EngineRequest, gone: AbortSignal): Promise<SessionResult> {
    const statement = inspectStatement(request.sql)
    const target = checkStatement(request, statement)
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
        this.#runIn(session, request, target ?? statement, stop.signal, limitAt),
      )
    } catch (error) {
      const exception = stop.signal.reason === 'late' ? exceptions.timeout(limitSeconds) : fromNative(error)
      // When the engine opens its store, it detaches damaged parts and uses those they were merged from.
      if (exception.isOfBrokenPart) this.#options.restart('a part on disk is damaged')
      throw exception
    } finally {
      this.#running.delete(stop)
      clearTimeout(limit)
      gone.removeEventListener('abort', onGone)
    }
  }

  async #runIn(
    session: EngineSession,
    request: EngineRequest,
    work: InsertTarget | Statement,
    stop: AbortSignal,
    limitAt: number | undefined,
  ): Promise<SessionResult> {
    const tag = `wh-${++this.#lastTag}`
    let timer: NodeJS.Timeout | undefined
    const onStop = () => {
      // A late KILL must not stop the next query of the session.
      session.spoiled = true
      this.#killer.kill(tag)
      if (limitAt === undefined) return
      // A query that ignores even its time limit would keep its session forever.
      const leftMs = Math.max(0, limitAt - performance.now())
      timer = setTimeout(() => this.#options.giveUp(request.queryId), leftMs + this.#options.graceMs)
    }
    stop.addEventListener('abort', onStop, { once: true })
    try {
      await session.use(request.database ?? this.#options.database)
      if ('table' in work) return await this.#insert(session, request, work, tag)
      return await runStatement(session, request, work, tag)
    } finally {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
      this.#killer.ended(tag)
    }
  }

  async #insert(
    session: EngineSession,
    { rows, settings, database = this.#options.database }: EngineRequest,
    target: InsertTarget,
    tag: string,
  ): Promise<SessionResult> {
    const table = target.table.includes('.') ? target.table : `${database}.${target.table}`
    const pending = await this.#verifier.begin(table, session)
    const tagged = { ...Object.fromEntries(settings), log_comment: tag }
    const inserted = await session.insert(target, rows as Buffer, tagged).catch(async (error) => {
      const isGone =
        !pending || (await this.#verifier.confirmFailed(pending, this.#options.open).catch(() => false))
      // Only an engine that opens its store forgets the log entry of an insert whose rows are missing.
      if (!isGone) this.#options.restart('a failed insert may be in the insert log without its rows')
      throw error
    })
    if (pending && !(await this.#verifier.confirm(pending, session))) {
      this.#options.restart('an insert is incomplete on disk')
      throw exceptions.notWritten()
    }
    return inserted
  }

  /** Lets requests finish within the given time, stops the rest, then closes the sessions. */
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

/** Throws for statements that this interface refuses. Returns the target if the body holds rows. */
function checkStatement(request: EngineRequest, statement: Statement): InsertTarget | undefined {
  if (statement.several) throw exceptions.severalStatements()
  if (statement.touchesFile) throw exceptions.notImplemented('Reading or writing a file')
  if (request.readOnly && statement.writes) throw exceptions.readOnly(statement.verb)
  for (const { name } of statement.placeholders) {
    if (!request.parameters.has(name)) throw exceptions.parameterMissing(name)
  }
  if (request.rows === undefined) return undefined
  const target = parseInsert(request.sql)
  if (!target) throw exceptions.notImplemented('This form of INSERT with a body')
  return target
}

async function runStatement(
  session: EngineSession,
  request: EngineRequest,
  statement: Statement,
  tag: string,
): Promise<SessionResult> {
  const { sql, format, settings, parameters } = request
  const hasRows = statement.tail === 'format' && statement.verb !== 'EXPLAIN'
  const form = hasRows ? rowFormOf(sql, settings) : undefined
  // The format adds names and escapes to what the engine counts.
  const maxBytes = 2 * Number(settings.get('max_result_bytes') ?? Number.POSITIVE_INFINITY)
  const composed = composeStatement(request, statement, tag, form && measuredFormat)
  if (composed === undefined) {
    // The settings stay in the session, so it must not be used again.
    session.spoiled = true
    const bound = [...parameters].map(([name, value]) => `param_${name} = ${quote(value)}, `)
    await session.set(`${bound.join('')}${assignments(settings, tag)}`)
    return session.run(sql, format)
  }
  try {
    if (form) return await session.queryRows(composed.sql, form, maxBytes)
    return await session.query(composed.sql, format, maxBytes)
  } catch (error) {
    throw await withoutTail(fromNative(error), composed, session)
  }
}

const syntaxError = 62

/** Reports a syntax error at its position in the client's statement, without the values and settings of the host. */
async function withoutTail(
  error: EngineException,
  { unbound, tail }: ComposedStatement,
  session: EngineSession,
): Promise<EngineException> {
  if (error.engineCode !== syntaxError) return error
  const reparsed =
    unbound === undefined ? error : await session.run(unbound, 'Null').then(() => error, fromNative)
  // If only a value breaks the syntax, the unbound form parses and fails for lack of values.
  const { engineCode, engineType, message } = reparsed.engineCode === syntaxError ? reparsed : error
  return new EngineException(engineCode, engineType, message.replaceAll(tail, '').replaceAll(tail.trim(), ''))
}

/** The first KILL may come before its query is registered, so it is repeated. */
const repeatMs = 50

/** Stops queries by their tags from a session of its own. Repeats the KILL until each query has ended. */
class QueryKiller {
  readonly #open: () => Promise<EngineSession>
  readonly #tags = new Set<string>()
  #session: EngineSession
  #running = false

  constructor(session: EngineSession, open: () => Promise<EngineSession>) {
    this.#session = session
    this.#open = open
  }

  kill(tag: string): void {
    this.#tags.add(tag)
    if (!this.#running) void this.#run()
  }

  ended(tag: string): void {
    this.#tags.delete(tag)
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#tags.size > 0) {
      try {
        const tags = [...this.#tags].map(quote).join(', ')
        // SYNC never returns in the embedded engine.
        await this.#session.run(`KILL QUERY WHERE Settings['log_comment'] IN (${tags}) ASYNC`, 'Null')
      } catch {
        const failed = this.#session
        // Even a spoiled session can stop queries, because nobody reads its output.
        this.#session = await this.#open().catch(() => failed)
        if (this.#session !== failed) void failed.close()
      }
      await new Promise((resolve) => setTimeout(resolve, repeatMs))
    }
    this.#running = false
  }

  close(): void {
    this.#tags.clear()
    void this.#session.close()
  }
}

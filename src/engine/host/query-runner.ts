import { assignments, type ComposedStatement, composeStatement } from './composed-statement.ts'
import { isHalfMade } from './durability/half-made-inserts.ts'
import { type BegunInsert, InsertWitness } from './durability/insert-witness.ts'
import { EngineException, exceptions, fromNative } from './exceptions.ts'
import { measuredFormat, rowFormOf } from './measured-rows.ts'
import { QueryKiller } from './query-killer.ts'
import type { EngineRequest } from './request.ts'
import type { EngineSession, SessionResult } from './session.ts'
import { PoolFull, SessionPool } from './session-pool.ts'
import { type InsertTarget, inspectStatement, parseInsert, quote, type Statement } from './statement.ts'

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
  readonly #witness = new InsertWitness(maxTables)
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
        this.#onSession(session, request, target ?? statement, stop.signal, limitAt),
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
    work: InsertTarget | Statement,
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
      if ('table' in work) return await this.#insert(session, request, work, tag)
      return await runStatement(session, request, work, tag)
    } finally {
      clearTimeout(givingUp)
      stop.removeEventListener('abort', onStop)
      this.#killer.ended(tag)
    }
  }

  async #insert(
    session: EngineSession,
    { rows, settings }: EngineRequest,
    target: InsertTarget,
    tag: string,
  ): Promise<SessionResult> {
    const begun = await this.#witness.begin(target.table, session)
    const tagged = { ...Object.fromEntries(settings), log_comment: tag }
    const inserted = await session.insert(target, rows as Buffer, tagged).catch(async (error) => {
      if (begun) await this.#startOverIfHalfMade(target.table, begun)
      throw error
    })
    if (begun && !(await this.#witness.confirm(begun, session))) {
      this.#options.startOver('an insert was not written as a whole')
      throw exceptions.notWritten()
    }
    return inserted
  }

  /** An engine that opens its directory forgets inserts whose rows are not there; one that runs does not. */
  async #startOverIfHalfMade(table: string, begun: BegunInsert): Promise<void> {
    let other: EngineSession | undefined
    try {
      const named = await this.#witness.partsSince(begun)
      if (named.length === 0) return
      other = await this.#options.open()
      if (await isHalfMade(named, table, other)) this.#options.startOver('an insert was made in part')
    } catch {
      this.#options.startOver('it is unknown whether part of an insert was written')
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
  const composed = composeStatement(request, statement, tag, form && measuredFormat)
  if (composed === undefined) {
    // What is set stays in the session, so it serves nobody else.
    session.spoil()
    const bound = [...parameters].map(([name, value]) => `param_${name} = ${quote(value)}, `)
    await session.set(`${bound.join('')}${assignments(settings, tag)}`)
    return session.run(sql, format)
  }
  try {
    if (form) return await session.answerRows(composed.sql, form)
    return await session.answer(composed.sql, format)
  } catch (error) {
    throw await ownWords(fromNative(error), composed, session)
  }
}

const syntaxError = 62

/** A syntax error is reported at its place in what was sent here, without the values and settings that were put in. */
async function ownWords(
  error: EngineException,
  { unbound, tail }: ComposedStatement,
  session: EngineSession,
): Promise<EngineException> {
  if (error.engineCode !== syntaxError) return error
  const again =
    unbound === undefined ? error : await session.run(unbound, 'Null').then(() => error, fromNative)
  // Where only the values break the syntax, the other form parses, and then lacks its values.
  const { engineCode, engineType, message } = again.engineCode === syntaxError ? again : error
  return new EngineException(engineCode, engineType, message.replaceAll(tail, '').replaceAll(tail.trim(), ''))
}

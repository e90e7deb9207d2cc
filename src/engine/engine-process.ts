import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Log } from '../base/log.ts'
import type { EngineState } from './engine.ts'
import type { FromHost, HostOptions, StartFailure, ToHost } from './host/protocol.ts'
import { Waiters } from './waiters.ts'

export interface EngineProcessOptions {
  /** Node executable that runs the engine process. */
  node: string
  environment: Readonly<Record<string, string | undefined>>
  host: HostOptions
  log: Log
  heartbeatMs: number
  /** No answer for so long: the process hangs and is ended. */
  hangsAfterMs: number
  startWithinMs: number
  /** Waits before the first restart in a row, the second, and so on. */
  backoffMs: readonly number[]
  /** Ready for so long, the engine counts as recovered. */
  steadyAfterMs: number
  /** Told of each end that nobody asked for. */
  onCrash: (overdueQueryId: string | undefined) => void
}

/** The engine could not start, and trying again would not help. */
export class EngineStartError extends Error {
  readonly reason: StartFailure
  constructor(reason: StartFailure, message: string) {
    super(message)
    this.reason = reason
  }
}

/** What is known of a process when it ends. */
interface EngineLife {
  failed: EngineStartError | undefined
  overdue: string | undefined
  /** It ended itself, and for no query that ran. */
  blameless: boolean
}

const hostMain = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/engine/host/main.js' : './host/main.js',
  import.meta.url,
)

/** So many sessions plus the control session plus room for what Node itself runs on these threads. */
const spareThreads = 6

/** Keeps one engine process alive: starts it, listens for its heartbeat, starts it again when it ends. */
export class EngineProcess {
  readonly #options: EngineProcessOptions
  #child: ChildProcess | undefined
  #state: EngineState = { kind: 'starting', reason: 'The engine is starting.', restarts: 0 }
  #failuresInARow = 0
  #everReady = false
  #readySince = 0
  readonly #waiters = new Waiters()
  #stopping = false
  #restartTimer: NodeJS.Timeout | undefined
  #port: number | undefined
  #exited: Promise<void> = Promise.resolve()

  constructor(options: EngineProcessOptions) {
    this.#options = options
  }

  state(): EngineState {
    return this.#state
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Port of a host that listens on one. */
  get port(): number | undefined {
    return this.#port
  }

  /** Resolves at the first ready; rejects when the engine says that it cannot work here. */
  start(): Promise<void> {
    this.#spawn()
    // Long enough for a second one, where the first one hangs and is ended.
    return this.whenReady(2 * this.#options.startWithinMs)
  }

  whenReady(withinMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#state.kind === 'ready') return Promise.resolve()
    if (this.#stopping) return Promise.reject(new Error('The engine is closed.'))
    return this.#waiters.wait(withinMs, signal)
  }

  /** Resolves when the process that runs now has ended and everything that it said was heard. */
  ended(): Promise<void> {
    return this.#exited
  }

  #spawn(): void {
    const { node, environment, host } = this.#options
    const child = spawn(node, [fileURLToPath(hostMain)], {
      // An INSERT may read the host's standard input, so there is none.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...harmless(environment), UV_THREADPOOL_SIZE: String(host.sessions + spareThreads) },
    })
    this.#child = child
    const life: EngineLife = { failed: undefined, overdue: undefined, blameless: false }
    const heartbeat = this.#watch(child)
    let lastWords = ''
    child.stderr?.on('data', (text: Buffer) => {
      lastWords = (lastWords + text.toString()).slice(-8000)
    })
    child.on('message', (message: FromHost) => {
      heartbeat.heard(message)
      if (message.type === 'ready') this.#becomeReady(message.engineVersion, message.port)
      else if (message.type === 'failed') life.failed = new EngineStartError(message.reason, message.message)
      else if (message.type === 'giving-up') {
        life.overdue = message.queryId
        this.#options.log.error(
          { queryId: message.queryId },
          'a query ignored its time limit; the engine ends itself',
        )
      } else if (message.type === 'starting-over') {
        life.blameless = true
        this.#options.log.warn({ reason: message.reason }, 'the engine ends itself to start over')
      } else if (message.type === 'repairs-skipped') {
        this.#options.log.warn(
          { directory: host.directory },
          'another process seems to use the data directory; skipping the repairs before the start',
        )
      }
    })
    const exited = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`))
      child.once('error', (error) => {
        life.failed ??= new EngineStartError('no-engine', error.message)
        if (child.pid === undefined) resolve('it could not be started')
      })
    })
    // The last words may be read after the end is known.
    const silent = new Promise<void>((resolve) => {
      child.once('disconnect', resolve)
      child.once('error', () => resolve())
    })
    this.#exited = Promise.all([exited, silent]).then(([how]) => {
      heartbeat.stop()
      this.#ended(life, how, lastWords)
    })
    send(child, { type: 'start', options: host })
  }

  /** Counts what stays unanswered, not time: after a pause of this process the answers are still unread. */
  #watch(child: ChildProcess): { heard(message: FromHost): void; stop(): void } {
    const { heartbeatMs, hangsAfterMs, startWithinMs, log } = this.#options
    let unanswered = 0
    let started = false
    const timer = setInterval(() => {
      const allowed = Math.ceil((started ? hangsAfterMs : startWithinMs) / heartbeatMs)
      if (unanswered >= allowed) {
        log.error({ unanswered }, 'the engine process does not answer; ending it')
        child.kill('SIGKILL')
      } else {
        unanswered++
        if (started) send(child, { type: 'ping', id: unanswered })
      }
    }, heartbeatMs)
    timer.unref()
    return {
      heard: (message) => {
        unanswered = 0
        if (message.type === 'ready') started = true
      },
      stop: () => clearInterval(timer),
    }
  }

  #becomeReady(engineVersion: string, port: number | undefined): void {
    this.#everReady = true
    this.#port = port
    this.#readySince = performance.now()
    this.#state = { kind: 'ready', engineVersion, restarts: this.#state.restarts }
    this.#options.log.info({ engineVersion, pid: this.#child?.pid }, 'engine ready')
    this.#waiters.resolve()
  }

  #ended({ failed, overdue, blameless }: EngineLife, how: string, lastWords: string): void {
    const wasReady = this.#state.kind === 'ready'
    const { restarts } = this.#state
    if (this.#stopping) {
      this.#close()
      return
    }
    const reason = failed?.message ?? `The engine process ended (${how}).`
    this.#state = { kind: 'down', reason, restarts: restarts + 1 }
    this.#options.log.error(
      { how, reason: failed?.message, lastWords: withoutStatements(lastWords) },
      'the engine process ended',
    )
    if (wasReady && !blameless) this.#options.onCrash(overdue)
    // What never worked will not work by itself; what did, is worth another try.
    if (failed && !this.#everReady) {
      this.#waiters.reject(failed)
      return
    }
    const { backoffMs, steadyAfterMs } = this.#options
    if (wasReady && performance.now() - this.#readySince > steadyAfterMs) this.#failuresInARow = 0
    const delayMs = backoffMs[Math.min(this.#failuresInARow++, backoffMs.length - 1)] ?? 0
    this.#restartTimer = setTimeout(() => this.#spawn(), delayMs)
  }

  #close(): void {
    this.#state = { kind: 'closed', reason: 'The engine is closed.', restarts: this.#state.restarts }
    this.#waiters.reject(new Error('The engine is closed.'))
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restartTimer)
    const child = this.#child
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      send(child, { type: 'stop', withinMs })
      const killer = setTimeout(() => child.kill('SIGKILL'), withinMs + this.#options.hangsAfterMs)
      await this.#exited
      clearTimeout(killer)
    }
    this.#close()
  }
}

function send(child: ChildProcess, message: ToHost): void {
  if (child.connected) child.send(message, () => {})
}

/** What the engine says when it crashes names the query that ran, whose text and values are not for the log. */
export function withoutStatements(words: string): string {
  return words
    .replace(/\(query: [\s\S]*?(?=\) Received signal|\n\d{4}\.\d\d\.\d\d |$)/g, '(query: …')
    .replace(/'(?:[^'\\]|\\.)*'?/g, "'…'")
    .slice(-2000)
}

/** The engine needs nothing of the service's environment, least of all its secrets. */
function harmless(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR, LD_LIBRARY_PATH } = environment
  return { PATH, HOME, TMPDIR, LD_LIBRARY_PATH, TZ: 'UTC' }
}

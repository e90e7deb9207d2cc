import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Log } from '../base/log.ts'
import type { EngineState } from './engine.ts'
import { EngineStartError, type FromHost, type HostOptions, type ToHost } from './host/protocol.ts'
import { ReadyWaiters } from './readiness.ts'

interface EngineProcessOptions {
  /** Node executable that runs the engine process. */
  node: string
  environment: Readonly<Record<string, string | undefined>>
  host: HostOptions
  log: Log
  /** Factor for all timeouts of the process. */
  patience: number
  /** Delays before the first restart in a row, the second, and so on. */
  backoffMs?: readonly number[]
  /** Called for each unexpected end, with the query that ignored its time limit, if any. */
  onCrash: (overdueQueryId: string | undefined) => void
}

/** Why a process ended, as far as it reported that. */
interface EndReport {
  failure: EngineStartError | undefined
  overdueQueryId: string | undefined
  /** It restarts for a reason other than a query. */
  isRestarting: boolean
}

const hostMain = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/engine/host/main.js' : './host/main.js',
  import.meta.url,
)

const heartbeatMs = 500
/** A process that does not respond for this time is killed. */
const hangsAfterMs = 2_000
const startWithinMs = 30_000
const defaultBackoffMs = [0, 100, 500, 1_000, 5_000, 10_000]
/** After this time the engine counts as recovered, and the delays start over. */
const steadyAfterMs = 10_000
const stopWithinMs = 5_000

/** For the control session and for Node's own work, besides one thread for each session. */
const spareThreads = 6

/** Keeps one engine process alive: starts it, checks its heartbeat and restarts it when it ends. */
export class EngineProcess {
  readonly #options: EngineProcessOptions
  #child: ChildProcess | undefined
  #state: EngineState = { kind: 'starting', reason: 'The engine is starting.', restarts: 0 }
  #failuresInARow = 0
  #readySince: number | undefined
  readonly #waiters = new ReadyWaiters()
  #stopping = false
  #restartTimer: NodeJS.Timeout | undefined
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

  /** Resolves when the engine is ready; rejects with an EngineStartError if it cannot start. */
  start(): Promise<void> {
    this.#spawn()
    // Twice, so that a second process has time if the first one hangs.
    return this.whenReady(2 * startWithinMs * this.#options.patience)
  }

  whenReady(withinMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#state.kind === 'ready') return Promise.resolve()
    if (this.#stopping) return Promise.reject(new Error('The engine is closed.'))
    return this.#waiters.wait(withinMs, signal)
  }

  /** Resolves when the current process has ended and all its messages were received. */
  ended(): Promise<void> {
    return this.#exited
  }

  #spawn(): void {
    const { node, environment, host, log } = this.#options
    const child = spawn(node, [fileURLToPath(hostMain)], {
      // An INSERT could read the standard input.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...safeEnvironment(environment), UV_THREADPOOL_SIZE: String(host.sessions + spareThreads) },
    })
    this.#child = child
    const end: EndReport = { failure: undefined, overdueQueryId: undefined, isRestarting: false }
    const heartbeat = this.#watch(child)
    let errorOutput = ''
    child.stderr?.on('data', (text: Buffer) => {
      errorOutput = (errorOutput + text.toString()).slice(-8000)
    })
    child.on('message', (message: FromHost) => {
      heartbeat.received(message)
      if (message.type === 'ready') this.#becomeReady(message.engineVersion)
      else if (message.type === 'failed') end.failure = new EngineStartError(message.reason, message.message)
      else if (message.type === 'giving-up') {
        end.overdueQueryId = message.queryId
        log.error({ queryId: message.queryId }, 'a query ignored its time limit; restarting the engine')
      } else if (message.type === 'restarting') {
        end.isRestarting = true
        log.warn({ reason: message.reason }, 'restarting the engine')
      } else if (message.type === 'repairs-skipped') {
        const { directory } = host
        log.warn({ directory }, 'another process seems to use the data directory; skipping the repairs')
      }
    })
    const exited = new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`))
      child.once('error', (error) => {
        end.failure ??= new EngineStartError('no-engine', error.message)
        if (child.pid === undefined) resolve('it could not be started')
      })
    })
    // The last messages may arrive after the exit.
    const disconnected = new Promise<void>((resolve) => {
      child.once('disconnect', resolve)
      child.once('error', () => resolve())
    })
    this.#exited = Promise.all([exited, disconnected]).then(([how]) => {
      heartbeat.stop()
      this.#onExit(end, how, errorOutput)
    })
    send(child, { type: 'start', options: host })
  }

  /** Counts pings without a response instead of time: after a pause of this process, responses are still unread. */
  #watch(child: ChildProcess): { received(message: FromHost): void; stop(): void } {
    const { patience, log } = this.#options
    let unanswered = 0
    let started = false
    const timer = setInterval(() => {
      const allowed = Math.ceil(((started ? hangsAfterMs : startWithinMs) * patience) / heartbeatMs)
      if (unanswered >= allowed) {
        log.error({ unanswered }, 'the engine process does not respond; killing it')
        child.kill('SIGKILL')
      } else {
        unanswered++
        if (started) send(child, { type: 'ping', id: unanswered })
      }
    }, heartbeatMs)
    timer.unref()
    return {
      received: (message) => {
        unanswered = 0
        if (message.type === 'ready') started = true
      },
      stop: () => clearInterval(timer),
    }
  }

  #becomeReady(engineVersion: string): void {
    this.#readySince = performance.now()
    this.#state = { kind: 'ready', engineVersion, restarts: this.#state.restarts }
    this.#options.log.info({ engineVersion, pid: this.#child?.pid }, 'engine ready')
    this.#waiters.resolve()
  }

  #onExit({ failure, overdueQueryId, isRestarting }: EndReport, how: string, errorOutput: string): void {
    const wasReady = this.#state.kind === 'ready'
    const { restarts } = this.#state
    if (this.#stopping) return void this.#close()
    const reason = failure?.message ?? `The engine process ended (${how}).`
    this.#state = { kind: 'down', reason, restarts: restarts + 1 }
    this.#options.log.error(
      { how, reason: failure?.message, errorOutput: withoutStatements(errorOutput) },
      'the engine process ended',
    )
    if (wasReady && !isRestarting) this.#options.onCrash(overdueQueryId)
    // An engine that was ready before may start again; one that never was cannot start here.
    if (failure && this.#readySince === undefined) return void this.#waiters.reject(failure)
    const { backoffMs = defaultBackoffMs } = this.#options
    const isSteady = wasReady && performance.now() - (this.#readySince ?? 0) > steadyAfterMs
    if (isSteady) this.#failuresInARow = 0
    const delayMs = backoffMs[Math.min(this.#failuresInARow++, backoffMs.length - 1)] ?? 0
    this.#restartTimer = setTimeout(() => this.#spawn(), delayMs)
  }

  #close(): void {
    this.#state = { kind: 'closed', reason: 'The engine is closed.', restarts: this.#state.restarts }
    this.#waiters.reject(new Error('The engine is closed.'))
  }

  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restartTimer)
    const child = this.#child
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      send(child, { type: 'stop', withinMs: stopWithinMs })
      const killAfterMs = stopWithinMs + hangsAfterMs * this.#options.patience
      const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs)
      await this.#exited
      clearTimeout(timer)
    }
    this.#close()
  }
}

function send(child: ChildProcess, message: ToHost): void {
  if (child.connected) child.send(message, () => {})
}

/** Removes SQL and values from the output of a crash, because they must not be logged. */
export function withoutStatements(output: string): string {
  const [before, ...queries] = output.split('(query: ')
  const after = queries.map((text) => {
    const end = text.search(/\) Received signal|\n\d{4}\.\d\d\.\d\d /)
    return `(query: …${end < 0 ? '' : text.slice(end)}`
  })
  return [before, ...after]
    .join('')
    .replace(/'(?:[^'\\]|\\.)*'?/g, "'…'")
    .slice(-2000)
}

/** Keeps the service's secrets from the engine. */
function safeEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR, LD_LIBRARY_PATH } = environment
  return { PATH, HOME, TMPDIR, LD_LIBRARY_PATH, TZ: 'UTC' }
}

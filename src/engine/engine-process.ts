import type { ChildProcess } from 'node:child_process'
import type { Log } from '../base/log.ts'
import type { EngineState } from './engine.ts'
import { EngineStartError, type FromHost, type HostOptions, type ToHost } from './host/protocol.ts'
import { launchHost } from './launch-host.ts'
import { ReadyWaiters } from './readiness.ts'

interface EngineProcessOptions {
  /** Node executable that runs the engine process. */
  node: string
  environment: Readonly<Record<string, string | undefined>>
  host: HostOptions
  launched?: ChildProcess | undefined
  log: Log
  /** Factor for all timeouts of the process. */
  patience: number
  /** Called for each unexpected end, with the query that ignored its time limit, if any. */
  onCrash: (overdueQueryId: string | undefined) => void
}

interface EndReport {
  failure: EngineStartError | undefined
  overdueQueryId: string | undefined
  /** It restarts for a reason other than a query. */
  isRestarting: boolean
}

const heartbeatMs = 500
const hangsAfterMs = 2_000
const startWithinMs = 30_000
/** Delays before the first restart in a row, the second, and so on. */
const backoffMs = [0, 100, 500, 1_000, 5_000, 10_000]
/** After this time the engine counts as recovered, and the delays start over. */
const steadyAfterMs = 10_000
const stopWithinMs = 5_000

/** Keeps one engine process alive: starts it, checks its heartbeat and restarts it when it ends. */
export class EngineProcess {
  readonly #options: EngineProcessOptions
  #child: ChildProcess | undefined
  #launched: ChildProcess | undefined
  #state: EngineState = { kind: 'starting', reason: 'The engine is starting.', restarts: 0 }
  #failuresInARow = 0
  #readySince: number | undefined
  readonly #waiters = new ReadyWaiters()
  #stopping = false
  #restartTimer: NodeJS.Timeout | undefined
  #exited: Promise<void> = Promise.resolve()

  constructor(options: EngineProcessOptions) {
    this.#options = options
    this.#launched = options.launched
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
    const launched = this.#launched
    this.#launched = undefined
    const { sessions } = host
    const child = launched && isRunning(launched) ? launched : launchHost({ node, environment, sessions })
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
    this.#launched?.kill('SIGKILL')
    const child = this.#child
    if (child && isRunning(child)) {
      send(child, { type: 'stop', withinMs: stopWithinMs })
      const killAfterMs = stopWithinMs + hangsAfterMs * this.#options.patience
      const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs)
      await this.#exited
      clearTimeout(timer)
    }
    this.#close()
  }
}

function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
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

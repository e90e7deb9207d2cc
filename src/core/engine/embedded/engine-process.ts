import type { ChildProcess } from 'node:child_process'
import type { Log } from '../../base/log.ts'
import type { NodeState } from '../engine.ts'
import { EngineStartError, type FromHost, type HostOptions } from './host-protocol.ts'
import { launchHost } from './launch-host.ts'

interface EngineProcessOptions {
  node: string
  environment: Readonly<Record<string, string | undefined>>
  host: HostOptions
  launched?: ChildProcess | undefined
  log: Log
  patience: number
  /** Connects to a server that listens, and resolves with its version once statements can be sent. */
  connect: (port: number) => Promise<string>
  ping: () => Promise<unknown>
  isBusy: () => boolean
  /** With a failure, it cannot start here. */
  onChange: (state: NodeState, failure?: EngineStartError) => void
  /** Called for each unexpected end of a server that was ready. */
  onCrash: () => void
}

const heartbeatMs = 500
const hangsAfterMs = 2_000
/** Without statements, every fourth check sends a ping. */
const idleChecks = 4
const startWithinMs = 30_000
/** Delays before the first restart in a row, the second, and so on. */
const backoffMs = [0, 100, 500, 1_000, 5_000, 10_000]
/** After this time the engine counts as recovered, and the delays start over. */
const steadyAfterMs = 10_000

/** Keeps one engine process alive: starts it, pings its server and restarts it when it ends. */
export class EngineProcess {
  readonly #options: EngineProcessOptions
  #child: ChildProcess | undefined
  #launched: ChildProcess | undefined
  #ready = false
  #restarts = 0
  #failuresInARow = 0
  #readySince: number | undefined
  #isCrash = true
  #unanswered = 0
  #failure: EngineStartError | undefined
  #stopping = false
  #restartTimer: NodeJS.Timeout | undefined
  #exited: Promise<void> = Promise.resolve()

  constructor(options: EngineProcessOptions) {
    this.#options = options
    this.#launched = options.launched
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** How long a start may take: twice as long as one process, so that a second one has time if the first one hangs. */
  get startWithinMs(): number {
    return 2 * startWithinMs * this.#options.patience
  }

  start(): void {
    const { node, environment, host, log } = this.#options
    const launched = this.#launched
    this.#launched = undefined
    const child = launched && isRunning(launched) ? launched : launchHost(node, environment)
    this.#child = child
    this.#isCrash = true
    this.#failure = undefined
    const heartbeat = this.#watch(child)
    let errorOutput = ''
    child.stderr?.on('data', (text: Buffer) => {
      errorOutput = (errorOutput + text.toString()).slice(-8000)
    })
    child.on('message', (message: FromHost) => {
      if (message.type === 'listening') void this.#connect(child, message.port)
      else if (message.type === 'failed')
        this.#failure = new EngineStartError(message.reason, message.message)
      else {
        const { directory } = host
        log.warn({ directory }, 'another process seems to use the data directory; skipping the repairs')
      }
    })
    const exited = new Promise<string>((resolve) => {
      // After its last words.
      child.once('close', (code, signal) => resolve(signal ?? `code ${code}`))
      child.once('error', (error) => {
        this.#failure ??= new EngineStartError('no-engine', error.message)
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
      this.#onExit(how, errorOutput)
    })
    if (child.connected) child.send(host, () => {})
  }

  async #connect(child: ChildProcess, port: number): Promise<void> {
    const { connect, log } = this.#options
    try {
      const version = await connect(port)
      if (child !== this.#child || !isRunning(child)) return
      this.#ready = true
      this.#unanswered = 0
      this.#readySince = performance.now()
      log.info({ engineVersion: version, pid: child.pid }, 'engine ready')
      this.#become({ ready: true, version })
    } catch (error) {
      // What ended the process meanwhile is reported by itself.
      this.#failure ??= new EngineStartError('other', (error as Error).message)
      log.error({ err: error }, 'the engine cannot be used')
      child.kill('SIGKILL')
    }
  }

  /** Ends the process, which then starts again. */
  restart(cause: 'query' | 'data', reason: string, fields: object = {}): void {
    if (!this.#ready) return
    this.#isCrash = cause === 'query'
    this.#options.log.warn({ reason, ...fields }, 'restarting the engine')
    this.#child?.kill('SIGKILL')
    // Statements wait for the next process from now on.
    this.#become({ ready: false, reason: 'The engine is restarting.' })
  }

  #become(state: Pick<NodeState, 'ready' | 'version' | 'reason'>, failure?: EngineStartError): void {
    this.#options.onChange({ node: 'embedded', restarts: this.#restarts, ...state }, failure)
  }

  /** Counts checks without a response instead of time: after a pause of this process, responses are still unread. */
  #watch(child: ChildProcess): { stop(): void } {
    const { patience, log, ping, isBusy } = this.#options
    let checks = 0
    let isWaiting = false
    this.#unanswered = 0
    const timer = setInterval(() => {
      const allowed = Math.ceil(((this.#ready ? hangsAfterMs : startWithinMs) * patience) / heartbeatMs)
      if (!this.#ready || isWaiting) this.#unanswered++
      if (this.#unanswered >= allowed) {
        log.error({ unanswered: this.#unanswered }, 'the engine process does not respond; killing it')
        child.kill('SIGKILL')
        return
      }
      checks++
      if (!this.#ready || isWaiting || !(isBusy() || checks % idleChecks === 0)) return
      isWaiting = true
      ping().then(
        () => {
          isWaiting = false
          this.#unanswered = 0
        },
        // The next check is one without a response.
        () => {
          isWaiting = false
          this.#unanswered++
        },
      )
    }, heartbeatMs)
    timer.unref()
    return { stop: () => clearInterval(timer) }
  }

  #onExit(how: string, errorOutput: string): void {
    const wasReady = this.#ready
    const said = errorOutput.trim().slice(0, 1000)
    const failure = this.#failure?.reason === 'ended' ? new EngineStartError('other', said) : this.#failure
    this.#ready = false
    if (this.#stopping) return
    this.#restarts++
    const { log, onCrash } = this.#options
    log.error(
      { how, reason: failure?.message, errorOutput: withoutStatements(errorOutput) },
      'the engine process ended',
    )
    if (wasReady && this.#isCrash) onCrash()
    const reason = failure?.message ?? `The engine process ended (${how}).`
    // An engine that was ready before may start again; one that never was cannot start here.
    const isFinal = failure !== undefined && this.#readySince === undefined
    this.#become({ ready: false, reason }, isFinal ? failure : undefined)
    if (isFinal) return
    const isSteady = wasReady && performance.now() - (this.#readySince ?? 0) > steadyAfterMs
    if (isSteady) this.#failuresInARow = 0
    const delayMs = backoffMs[Math.min(this.#failuresInARow++, backoffMs.length - 1)] ?? 0
    this.#restartTimer = setTimeout(() => this.start(), delayMs)
  }

  /** Resolves when the current process has ended and all its messages were received. */
  ended(): Promise<void> {
    return this.#exited
  }

  /** Acknowledged rows are on disk, so nothing is lost. The engine's own end would take up to two seconds. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restartTimer)
    this.#launched?.kill('SIGKILL')
    const child = this.#child
    if (child && isRunning(child)) child.kill('SIGKILL')
    await this.#exited
  }
}

function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
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

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Log } from '../base/log.ts'
import type { EngineState } from './engine.ts'
import type { FromHost, HostOptions, StartFailure, ToHost } from './host/protocol.ts'

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
  backoffMs: readonly number[]
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
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  #stopping = false
  #overdue: string | undefined
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
    return this.whenReady(this.#options.startWithinMs)
  }

  whenReady(withinMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#state.kind === 'ready') return Promise.resolve()
    if (this.#stopping) return Promise.reject(new Error('The engine is closed.'))
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        this.#waiting = this.#waiting.filter((entry) => entry !== waiter)
        act()
      }
      const onAbort = () => settle(() => reject(new Error('The caller went away.')))
      const timer = setTimeout(
        () => settle(() => reject(new Error('The engine did not become ready in time.'))),
        withinMs,
      )
      const waiter = {
        resolve: () => settle(resolve),
        reject: (error: Error) => settle(() => reject(error)),
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(waiter)
    })
  }

  #spawn(): void {
    const { node, environment, host, log } = this.#options
    const child = spawn(node, [fileURLToPath(hostMain)], {
      // An INSERT may read the host's standard input, so there is none.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...harmless(environment), UV_THREADPOOL_SIZE: String(host.sessions + spareThreads) },
    })
    this.#child = child
    this.#overdue = undefined
    let heardAt = Date.now()
    let ready = false
    const startedAt = Date.now()
    const heartbeat = setInterval(() => {
      const silentMs = Date.now() - heardAt
      const allowedMs = ready ? this.#options.hangsAfterMs : this.#options.startWithinMs
      if (silentMs > allowedMs) {
        log.error({ silentMs }, 'the engine process does not answer; ending it')
        child.kill('SIGKILL')
      } else if (ready) send(child, { type: 'ping', id: Date.now() })
    }, this.#options.heartbeatMs)
    heartbeat.unref()
    child.stderr?.on('data', (text: Buffer) =>
      log.debug({ engine: text.toString().slice(0, 2000) }, 'engine'),
    )
    let failed: EngineStartError | undefined
    child.on('message', (message: FromHost) => {
      heardAt = Date.now()
      switch (message.type) {
        case 'ready':
          ready = true
          this.#port = message.port
          this.#becomeReady(message.engineVersion, Date.now() - startedAt)
          break
        case 'failed':
          failed = new EngineStartError(message.reason, message.message)
          break
        case 'giving-up':
          this.#overdue = message.queryId
          log.error({ queryId: message.queryId }, 'a query ignored its time limit; the engine ends itself')
          break
        case 'pong':
          break
      }
    })
    child.on('error', (error) => {
      failed = new EngineStartError('no-engine', error.message)
      if (child.pid === undefined) this.#ended(failed, 'spawn failed')
    })
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        clearInterval(heartbeat)
        this.#ended(failed, signal ?? `code ${code}`)
        resolve()
      })
    })
    send(child, { type: 'start', options: host })
  }

  #becomeReady(engineVersion: string, tookMs: number): void {
    this.#everReady = true
    this.#state = { kind: 'ready', engineVersion, restarts: this.#state.restarts }
    this.#options.log.info({ engineVersion, tookMs, pid: this.#child?.pid }, 'engine ready')
    for (const waiter of [...this.#waiting]) waiter.resolve()
  }

  #ended(failed: EngineStartError | undefined, how: string): void {
    const wasReady = this.#state.kind === 'ready'
    if (this.#stopping) {
      this.#state = { kind: 'closed', reason: 'The engine is closed.', restarts: this.#state.restarts }
      return
    }
    this.#failuresInARow = wasReady ? 0 : this.#failuresInARow + 1
    const restarts = this.#state.restarts + 1
    this.#state = { kind: 'down', reason: failed?.message ?? `The engine process ended (${how}).`, restarts }
    this.#options.log.error({ how, reason: failed?.message }, 'the engine process ended')
    if (wasReady) this.#options.onCrash(this.#overdue)
    // What never worked will not work by itself; what did, is worth another try.
    if (failed && !this.#everReady) {
      for (const waiter of [...this.#waiting]) waiter.reject(failed)
      return
    }
    const { backoffMs } = this.#options
    const delayMs = wasReady ? 0 : (backoffMs[Math.min(this.#failuresInARow, backoffMs.length) - 1] ?? 0)
    this.#restartTimer = setTimeout(() => this.#spawn(), delayMs)
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restartTimer)
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    send(child, { type: 'stop', withinMs })
    const killer = setTimeout(() => child.kill('SIGKILL'), withinMs + this.#options.hangsAfterMs)
    await this.#exited
    clearTimeout(killer)
  }
}

function send(child: ChildProcess, message: ToHost): void {
  if (child.connected) child.send(message, () => {})
}

/** The engine needs nothing of the service's environment, least of all its secrets. */
function harmless(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR, LD_LIBRARY_PATH } = environment
  return { PATH, HOME, TMPDIR, LD_LIBRARY_PATH, TZ: 'UTC' }
}

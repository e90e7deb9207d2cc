import { queryCancelled } from '../base/errors.ts'
import type { CacheRequest, ComputeRun } from './cache-request.ts'
import type { CachedResult } from './cached-result.ts'

export interface Landing {
  result: CachedResult
  /** When the run began: later than that nothing is known. */
  asOfMs: number
  stored: boolean
}

/** One run and everybody who waits for it. */
export class Flight {
  readonly request: CacheRequest
  readonly purpose: ComputeRun['purpose']
  /** Undefined until it runs. */
  beganAtMs: number | undefined
  lastAskedMs: number
  /** How many asked for it. */
  heat: number
  /** Its result is good for those who wait for it, and for nobody after them. */
  dropped = false
  readonly #stop = new AbortController()
  readonly #landed: Promise<Landing>
  #resolve: (landing: Landing) => void = () => {}
  #reject: (error: unknown) => void = () => {}
  readonly #onAbandoned: () => void
  #waiting = 0
  #over = false

  constructor(
    request: CacheRequest,
    purpose: ComputeRun['purpose'],
    asked: { lastMs: number; heat: number },
    onAbandoned: (flight: Flight) => void = () => {},
  ) {
    this.request = request
    this.purpose = purpose
    this.lastAskedMs = asked.lastMs
    this.heat = asked.heat
    this.#onAbandoned = () => onAbandoned(this)
    this.#landed = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // The failure of a run that nobody waits for is told elsewhere.
    this.#landed.catch(() => {})
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get over(): boolean {
    return this.#over
  }

  get awaited(): boolean {
    return this.#waiting > 0
  }

  /** A caller that leaves stops the run when it was the last, unless the run is a refresh. */
  wait(signal: AbortSignal | undefined, nowMs: number): Promise<Landing> {
    this.#waiting++
    this.heat++
    this.lastAskedMs = Math.max(this.lastAskedMs, nowMs)
    if (signal === undefined) return this.#landed
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting--
        reject(signal.reason)
        if (this.#waiting === 0 && this.purpose === 'call' && !this.#over) {
          this.stop()
          this.#onAbandoned()
        }
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#landed.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }

  stop(): void {
    this.#over = true
    const reason = queryCancelled()
    this.#stop.abort(reason)
    this.#reject(reason)
  }

  land(landing: Landing): void {
    this.#over = true
    this.#resolve(landing)
  }

  fail(error: unknown): void {
    this.#over = true
    this.#reject(error)
  }
}

import { queryCancelled } from '../base/errors.ts'
import type { Cacheable, RunFor } from './cacheable.ts'
import type { Result } from './result.ts'

export interface RunOutcome {
  result: Result
  asOfMs: number
  stored: boolean
}

export class Flight<Call extends Cacheable = Cacheable> {
  readonly call: Call
  readonly purpose: RunFor
  startedAtMs: number | undefined
  lastUsedMs: number
  uses: number
  /** The endpoint or a source has changed: waiting requests still get the result, but it is not stored. */
  dropped = false
  over = false
  readonly #stop = new AbortController()
  readonly #landed: Promise<RunOutcome>
  #resolve: (outcome: RunOutcome) => void = () => {}
  #reject: (error: unknown) => void = () => {}
  readonly #onAbandoned: (flight: Flight<Call>) => void
  #waiting = 0

  constructor(
    call: Call,
    purpose: RunFor,
    { lastUsedMs, uses }: Pick<Flight, 'lastUsedMs' | 'uses'>,
    onAbandoned: (flight: Flight<Call>) => void = () => {},
  ) {
    this.call = call
    this.purpose = purpose
    this.lastUsedMs = lastUsedMs
    this.uses = uses
    this.#onAbandoned = onAbandoned
    this.#landed = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // The cache reports the failure of a run that nobody waits for.
    this.#landed.catch(() => {})
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get awaited(): boolean {
    return this.#waiting > 0
  }

  /** The last request to leave stops the run, unless it is a refresh. */
  wait(signal: AbortSignal | undefined, nowMs: number): Promise<RunOutcome> {
    this.#waiting++
    this.uses++
    this.lastUsedMs = Math.max(this.lastUsedMs, nowMs)
    if (signal === undefined) return this.#landed
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting--
        reject(signal.reason)
        if (this.#waiting === 0 && this.purpose === 'call' && !this.over) {
          this.stop()
          this.#onAbandoned(this)
        }
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#landed.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }

  stop(): void {
    const reason = queryCancelled()
    this.fail(reason)
    this.#stop.abort(reason)
  }

  land(outcome: RunOutcome): void {
    this.over = true
    this.#resolve(outcome)
  }

  fail(error: unknown): void {
    this.over = true
    this.#reject(error)
  }
}

interface Slot<Call extends Cacheable> {
  running: Flight<Call> | undefined
  /** Starts after the running flight, for requests that need a run that starts later. */
  next: Flight<Call> | undefined
}

/** At most one running and one waiting flight for each key. */
export class Flights<Call extends Cacheable> {
  readonly #slots = new Map<string, Slot<Call>>()
  readonly #run: (flight: Flight<Call>) => Promise<void>

  /** The run never rejects; it fails the flight instead. */
  constructor(run: (flight: Flight<Call>) => Promise<void>) {
    this.#run = run
  }

  has(key: string): boolean {
    return this.#slots.has(key)
  }

  /** The flight to join; not one that was stopped and has not ended yet. */
  running(key: string): Flight<Call> | undefined {
    const running = this.#slots.get(key)?.running
    return running?.over ? undefined : running
  }

  next(key: string): Flight<Call> | undefined {
    return this.#slots.get(key)?.next
  }

  /** Starts the flight once no other of its key runs. Otherwise `later` decides when it starts. */
  enqueue(flight: Flight<Call>, later: (start: () => void) => void): void {
    const slot = this.#slotOf(flight)
    slot.next = flight
    if (slot.running === undefined) later(() => this.#startNext(slot))
  }

  /** Resolves when the flight is over, or at once if its key is already being computed. */
  async refresh(flight: Flight<Call>): Promise<void> {
    if (this.has(flight.call.key)) return
    await this.#start(this.#slotOf(flight), flight)
  }

  remove(flight: Flight<Call>): void {
    const slot = this.#slots.get(flight.call.key)
    if (slot === undefined) return
    if (slot.next === flight) slot.next = undefined
    this.#end(slot, flight)
  }

  /** Later requests start runs of their own. Requests that already wait keep theirs. */
  drop(isDropped: (call: Call) => boolean): void {
    for (const [key, { running, next }] of this.#slots) {
      for (const flight of [running, next]) {
        if (!flight || !isDropped(flight.call)) continue
        this.#slots.delete(key)
        flight.dropped = true
        if (!flight.awaited) flight.stop()
      }
    }
  }

  stopRefreshes(): void {
    for (const { running } of this.#slots.values()) {
      if (running?.purpose === 'refresh' && !running.awaited) running.stop()
    }
  }

  #slotOf({ call: { key } }: Flight<Call>): Slot<Call> {
    const slot = this.#slots.get(key) ?? { running: undefined, next: undefined }
    this.#slots.set(key, slot)
    return slot
  }

  #startNext(slot: Slot<Call>): void {
    const { running, next } = slot
    if (running !== undefined || next === undefined) return
    slot.next = undefined
    if (!next.over) void this.#start(slot, next)
  }

  async #start(slot: Slot<Call>, flight: Flight<Call>): Promise<void> {
    slot.running = flight
    await this.#run(flight)
    this.#end(slot, flight)
  }

  #end(slot: Slot<Call>, flight: Flight<Call>): void {
    if (slot.running === flight) slot.running = undefined
    this.#startNext(slot)
    const { key } = flight.call
    if (slot.running === undefined && slot.next === undefined && this.#slots.get(key) === slot) {
      this.#slots.delete(key)
    }
  }
}

import type { Flight } from './flight.ts'

interface Slot {
  running: Flight | undefined
  /** Begins when the running one is over, for callers whom that one began too early for. */
  next: Flight | undefined
}

/** At most one run of a key at a time, and at most one that waits for it. */
export class Flights {
  readonly #slots = new Map<string, Slot>()
  readonly #run: (flight: Flight) => Promise<void>

  /** The run never rejects: its failure is the flight's. */
  constructor(run: (flight: Flight) => Promise<void>) {
    this.#run = run
  }

  has(key: string): boolean {
    return this.#slots.has(key)
  }

  /** The one that can be joined; not one that was stopped and has not ended yet. */
  running(key: string): Flight | undefined {
    const running = this.#slots.get(key)?.running
    return running?.over ? undefined : running
  }

  next(key: string): Flight | undefined {
    return this.#slots.get(key)?.next
  }

  /** Begins as soon as nothing of its key runs, and not before it is told to where that is given. */
  line(flight: Flight, later: (begin: () => void) => void = (begin) => begin()): void {
    const slot = this.#slotOf(flight)
    slot.next = flight
    if (slot.running === undefined) later(() => this.#beginNext(slot))
  }

  /** Resolves when it is over. Where somebody has its key computed already it is not needed. */
  async refresh(flight: Flight): Promise<void> {
    if (this.has(flight.request.key)) return
    await this.#begin(this.#slotOf(flight), flight)
  }

  /** Nobody waits for it any more. */
  leave(flight: Flight): void {
    const slot = this.#slots.get(flight.request.key)
    if (slot === undefined) return
    if (slot.next === flight) slot.next = undefined
    this.#end(slot, flight)
  }

  /** Callers from now on have their own runs; those who wait already are not left alone. */
  drop(group: string): void {
    for (const [key, { running, next }] of this.#slots) {
      for (const flight of [running, next]) {
        if (flight?.request.group !== group) continue
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

  #slotOf({ request: { key } }: Flight): Slot {
    let slot = this.#slots.get(key)
    if (slot === undefined) {
      slot = { running: undefined, next: undefined }
      this.#slots.set(key, slot)
    }
    return slot
  }

  #beginNext(slot: Slot): void {
    const { running, next } = slot
    if (running !== undefined || next === undefined) return
    slot.next = undefined
    if (!next.over) void this.#begin(slot, next)
  }

  async #begin(slot: Slot, flight: Flight): Promise<void> {
    slot.running = flight
    await this.#run(flight)
    this.#end(slot, flight)
  }

  #end(slot: Slot, flight: Flight): void {
    if (slot.running === flight) slot.running = undefined
    this.#beginNext(slot)
    const { key } = flight.request
    if (slot.running === undefined && slot.next === undefined && this.#slots.get(key) === slot) {
      this.#slots.delete(key)
    }
  }
}

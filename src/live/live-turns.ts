import type { Timers } from '../base/clock.ts'

interface TurnTaker {
  readonly caller: string
  readonly hasWork: boolean
  step(): void
  flush(): void
}

interface Lane {
  spentMs: number
  takers: Set<TurnTaker>
}

/** So long the event loop serves nothing else, unless one step takes longer. It then rests for the same time. */
const sliceMs = 5
/** Limits how much is written at once. */
const maxSteps = 2_000

/** Gives each token the same share of the time that live streams take, in slices of the event loop. */
export class LiveTurns {
  readonly #time: Timers
  readonly #lanes = new Map<string, Lane>()
  #isWaiting = false

  constructor(time: Timers) {
    this.#time = time
  }

  add(taker: TurnTaker): void {
    const lane = this.#lanes.get(taker.caller) ?? {
      spentMs: this.#leastSpent()?.[1].spentMs ?? 0,
      takers: new Set(),
    }
    this.#lanes.set(taker.caller, lane)
    lane.takers.add(taker)
    this.#wait(0)
  }

  #wait(ms: number): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#time.after(ms, () => {
      this.#isWaiting = false
      this.#run()
    })
  }

  #run(): void {
    const startMs = this.#time.now()
    const touched = new Set<TurnTaker>()
    let nowMs = startMs
    for (let steps = 0; steps < maxSteps && nowMs - startMs < sliceMs; steps++) {
      const [caller, lane] = this.#leastSpent() ?? []
      if (caller === undefined || lane === undefined) break
      const [taker] = lane.takers as Set<TurnTaker>
      if (taker?.hasWork) {
        taker.step()
        touched.add(taker)
      }
      const before = nowMs
      nowMs = this.#time.now()
      lane.spentMs += nowMs - before
      this.#moveBack(caller, lane, taker as TurnTaker)
    }
    for (const taker of touched) taker.flush()
    if (this.#lanes.size > 0) this.#wait(nowMs - startMs)
  }

  /** Streams of one token take turns, so that all of them read an entry before the next one. */
  #moveBack(caller: string, lane: Lane, taker: TurnTaker): void {
    lane.takers.delete(taker)
    if (taker.hasWork) lane.takers.add(taker)
    this.#lanes.delete(caller)
    if (lane.takers.size > 0) this.#lanes.set(caller, lane)
  }

  #leastSpent(): [string, Lane] | undefined {
    let least: [string, Lane] | undefined
    for (const one of this.#lanes) if (least === undefined || one[1].spentMs < least[1].spentMs) least = one
    return least
  }
}

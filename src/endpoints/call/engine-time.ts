export class EngineTime {
  readonly #monotonicMs: () => number
  #sinceMs: number | undefined
  #beforeMs = 0

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  get ms(): number {
    return this.#beforeMs + (this.#sinceMs === undefined ? 0 : this.#monotonicMs() - this.#sinceMs)
  }

  begin(): void {
    this.#sinceMs = this.#monotonicMs()
  }

  end(): void {
    this.#beforeMs = this.ms
    this.#sinceMs = undefined
  }
}

/** How many requests of all kinds were answered, by the first digit of their status. */
export class RequestCounts {
  readonly #byClass = new Float64Array(6)

  add(status: number): void {
    const place = Math.floor(status / 100)
    this.#byClass[place] = (this.#byClass[place] ?? 0) + 1
  }

  entries(): [status: string, count: number][] {
    return [1, 2, 3, 4, 5].map((digit) => [`${digit}xx`, this.#byClass[digit] as number])
  }
}

export interface Sized {
  readonly key: string
  bytes: number
}

/** Entries within a bound of bytes; the one that was used least recently goes first. */
export class BoundedEntries<E extends Sized> {
  readonly #maxBytes: number
  readonly #onOut: (entry: E) => void
  /** A map keeps the order of insertion: from the least to the most recently used. */
  readonly #entries = new Map<string, E>()
  #bytes = 0

  constructor(maxBytes: number, onOut: (entry: E) => void) {
    this.#maxBytes = maxBytes
    this.#onOut = onOut
  }

  get bytes(): number {
    return this.#bytes
  }

  get size(): number {
    return this.#entries.size
  }

  /** Without counting as use. */
  get(key: string): E | undefined {
    return this.#entries.get(key)
  }

  values(): Iterable<E> {
    return this.#entries.values()
  }

  touch(entry: E): void {
    this.#entries.delete(entry.key)
    this.#entries.set(entry.key, entry)
  }

  set(entry: E): void {
    this.delete(entry.key)
    this.#entries.set(entry.key, entry)
    this.#bytes += entry.bytes
    this.#shrink()
  }

  resize(entry: E, bytes: number): void {
    this.#bytes += bytes - entry.bytes
    entry.bytes = bytes
    this.#shrink()
  }

  delete(key: string): E | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
    return entry
  }

  #shrink(): void {
    for (const entry of this.#entries.values()) {
      if (this.#bytes <= this.#maxBytes) return
      this.delete(entry.key)
      this.#onOut(entry)
    }
  }
}

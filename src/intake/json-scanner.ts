export const quote = 0x22
export const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
export const openObject = 0x7b
const closeObject = 0x7d
export const openArray = 0x5b
export const closeArray = 0x5d

const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text))

/** Whether a byte inside of a string stands for nothing but itself. */
const plain = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === quote || byte === backslash ? 0 : 1,
)

/** Characters that may follow a backslash, besides u. */
const escapable = new Set(Buffer.from('"\\/bfnrt'))

/** Why the engine cannot read a text that is valid JSON. */
export type JsonProblem = 'number' | 'surrogate' | 'depth'

/** The longest number that is certain to fit into 64 bits. */
const surelyFits = 18
/** One more digit than the largest integer of 64 bits, or its digits and a sign. */
const neverFits = 20
/** A number with more digits may be beyond a double, even without an exponent. */
const surelyFinite = 300

/**
 * Walks over the bytes of JSON without making anything of them. It accepts exactly what JSON.parse accepts and does
 * not recurse, so its time is bounded by the number of bytes, whatever they are. Each method starts at `at`, moves it behind
 * what it has read, and returns false where the text is not valid.
 */
export class JsonScanner {
  readonly bytes: Buffer
  at: number
  /** Nothing is read from here on. */
  end: number
  /** Whether there was whitespace between tokens. */
  hasSpace = false
  /** Whether the last string has a backslash in it. */
  hasEscape = false
  /** Where the last key is, with its quotes. */
  keyStart = 0
  keyEnd = 0
  /** Members of objects and elements of arrays. */
  values = 0
  /** Containers inside of each other may be this many; more are a problem. */
  maxDepth = Number.POSITIVE_INFINITY
  /** The first one that was met. */
  problem: JsonProblem | undefined
  #closers = new Uint8Array(64)

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = start
    this.end = end
  }

  /** The next byte; 0, which no token starts with, at the end. */
  peek(): number {
    return this.at < this.end ? (this.bytes[this.at] as number) : 0
  }

  space(): void {
    const { bytes, end } = this
    let at = this.at
    while (at < end) {
      const byte = bytes[at] as number
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
      at++
    }
    if (at === this.at) return
    this.hasSpace = true
    this.at = at
  }

  /** One value of any kind, and everything inside of it; it lies inside of `depth` containers. */
  value(depth = 0): boolean {
    let open = 0
    for (;;) {
      const byte = this.peek()
      if (byte === openObject || byte === openArray) {
        const closer = byte === openObject ? closeObject : closeArray
        this.at++
        this.space()
        if (depth + open >= this.maxDepth) this.problem ??= 'depth'
        if (this.peek() !== closer) {
          if (open === this.#closers.length) this.#grow()
          this.#closers[open++] = closer
          this.values++
          if (closer === closeObject && !this.key()) return false
          continue
        }
        this.at++
      } else if (byte === quote) {
        if (!this.string()) return false
      } else if (!(byte === 0x2d || (byte >= 0x30 && byte <= 0x39) ? this.#number() : this.#literal())) {
        return false
      }
      // A value has ended, and perhaps what it is in.
      for (;;) {
        if (open === 0) return true
        this.space()
        const closer = this.#closers[open - 1]
        const next = this.peek()
        this.at++
        if (next === comma) {
          this.values++
          this.space()
          if (closer === closeObject && !this.key()) return false
          break
        }
        if (next !== closer) return false
        open--
      }
    }
  }

  /** The members of an object; `member` is called behind each key and has to move past its value. */
  object(member: () => boolean): boolean {
    this.at++
    this.space()
    if (this.peek() === closeObject) {
      this.at++
      return true
    }
    for (;;) {
      this.values++
      if (!this.key() || !member()) return false
      this.space()
      const next = this.peek()
      this.at++
      if (next === closeObject) return true
      if (next !== comma) return false
      this.space()
    }
  }

  /** A key, the colon behind it and the whitespace around that. */
  key(): boolean {
    this.keyStart = this.at
    if (this.peek() !== quote || !this.string()) return false
    this.keyEnd = this.at
    this.space()
    if (this.peek() !== colon) return false
    this.at++
    this.space()
    return true
  }

  string(): boolean {
    const { bytes, end } = this
    let at = this.at + 1
    this.hasEscape = false
    for (;;) {
      while (at < end && plain[bytes[at] as number] === 1) at++
      if (at >= end) return false
      const byte = bytes[at++] as number
      if (byte === quote) {
        this.at = at
        return true
      }
      if (byte !== backslash) return false
      this.hasEscape = true
      if (at >= end) return false
      const escaped = bytes[at++] as number
      if (escaped !== 0x75) {
        if (!escapable.has(escaped)) return false
        continue
      }
      const unit = this.#hex(at)
      if (unit < 0) return false
      at += 4
      if (unit < 0xd800 || unit > 0xdfff) continue
      // The other half has to follow, as an escape of its own: bytes of UTF-8 cannot be one.
      const follows = at + 6 <= end && bytes[at] === backslash && bytes[at + 1] === 0x75
      const low = unit < 0xdc00 && follows ? this.#hex(at + 2) : -1
      if (low >= 0xdc00 && low <= 0xdfff) at += 6
      else this.problem ??= 'surrogate'
    }
  }

  /** The code unit that four digits stand for; -1 where they are not there. */
  #hex(at: number): number {
    if (at + 4 > this.end) return -1
    let unit = 0
    for (let i = at; i < at + 4; i++) {
      const byte = this.bytes[i] as number
      const letter = byte | 0x20
      if (byte >= 0x30 && byte <= 0x39) unit = unit * 16 + byte - 0x30
      else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + letter - 0x57
      else return -1
    }
    return unit
  }

  #number(): boolean {
    const start = this.at
    if (this.peek() === 0x2d) this.at++
    if (this.peek() === 0x30) this.at++
    else if (!this.#digits()) return false
    const integerEnd = this.at
    if (this.peek() === 0x2e) {
      this.at++
      if (!this.#digits()) return false
    }
    const exponentAt = this.at
    if ((this.peek() | 0x20) === 0x65) {
      this.at++
      if (this.peek() === 0x2b || this.peek() === 0x2d) this.at++
      if (!this.#digits()) return false
    }
    const isInteger = this.at === integerEnd
    const length = this.at - start
    if (isInteger ? length <= surelyFits : exponentAt === this.at && length <= surelyFinite) return true
    if (isInteger ? !this.#fits(start) : !Number.isFinite(Number(this.text(start, this.at)))) {
      this.problem ??= 'number'
    }
    return true
  }

  #fits(start: number): boolean {
    if (this.at - start > neverFits) return false
    const integer = BigInt(this.text(start, this.at))
    return integer >= -(2n ** 63n) && integer < 2n ** 64n
  }

  #digits(): boolean {
    const { bytes, end } = this
    const start = this.at
    let at = start
    while (at < end && (bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) at++
    this.at = at
    return at > start
  }

  #literal(): boolean {
    for (const literal of literals) {
      if (this.bytes[this.at] !== literal[0]) continue
      const end = this.at + literal.length
      if (end > this.end || literal.compare(this.bytes, this.at, end) !== 0) return false
      this.at = end
      return true
    }
    return false
  }

  /** Bytes as characters, one each; for numbers, and for what is written back the same way. */
  text(start: number, end: number): string {
    return this.bytes.toString('latin1', start, end)
  }

  #grow(): void {
    const larger = new Uint8Array(this.#closers.length * 2)
    larger.set(this.#closers)
    this.#closers = larger
  }
}

export const quote = 0x22
export const backslash = 0x5c
export const comma = 0x2c
const colon = 0x3a
export const openObject = 0x7b
export const closeObject = 0x7d
export const openArray = 0x5b
export const closeArray = 0x5d

const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text))

/** 1 for bytes that stand for themselves in a string. */
const plain = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === quote || byte === backslash ? 0 : 1,
)

const escapable = new Set(Buffer.from('"\\/bfnrt'))

/** Why the engine cannot read valid JSON. */
export type JsonProblem = 'number' | 'surrogate' | 'depth'

/** An integer of this length may exceed what a double holds exactly. */
const longIntegerLength = 16
/** The longest integer that always fits into 64 bits. */
const surelyFits = 18
/** The longest integer that may fit into 64 bits. */
const mayFit = 20
/** The longest fraction without an exponent that always fits into a double. */
const surelyFinite = 300

/**
 * Walks over JSON without creating values. It accepts exactly what JSON.parse accepts and does not recurse, so its time
 * is linear in the number of bytes. Each method reads from `at`, moves it forward, and returns false for invalid JSON.
 */
export class JsonScanner {
  readonly bytes: Buffer
  at: number
  end: number
  hasSpace = false
  hasEscape = false
  /** The last key, with its quotes. */
  keyStart = 0
  keyEnd = 0
  /** Number of members and elements. */
  values = 0
  emptyContainers = 0
  maxDepth = Number.POSITIVE_INFINITY
  problem: JsonProblem | undefined
  /** If set, collects start and end of integers that a double may not hold exactly. */
  longIntegers: number[] | undefined
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

  /** Moves past whitespace and this byte; false if another byte follows. */
  accept(byte: number): boolean {
    this.space()
    if (this.peek() !== byte) return false
    this.at++
    return true
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

  /** A value of any kind, which lies inside of `depth` containers. */
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
        this.emptyContainers++
        this.at++
      } else if (byte === quote) {
        if (!this.string()) return false
      } else if (!(byte === 0x2d || (byte >= 0x30 && byte <= 0x39) ? this.#number() : this.#literal())) {
        return false
      }
      // After a value, its containers may end too.
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

  /** The elements of an array, whose bracket comes next. */
  array(element: () => boolean): boolean {
    this.at++
    if (this.accept(closeArray)) return true
    for (;;) {
      this.space()
      if (!element()) return false
      if (this.accept(closeArray)) return true
      if (!this.accept(comma)) return false
    }
  }

  /** The members of an object; `member` is called after each key and has to move past the value. */
  object(member: () => boolean): boolean {
    this.at++
    if (this.accept(closeObject)) return true
    for (;;) {
      this.values++
      this.space()
      if (!this.key() || !member()) return false
      if (this.accept(closeObject)) return true
      if (!this.accept(comma)) return false
    }
  }

  key(): boolean {
    this.keyStart = this.at
    if (this.peek() !== quote || !this.string()) return false
    this.keyEnd = this.at
    if (!this.accept(colon)) return false
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
      // The other half must follow as an escape: UTF-8 cannot encode it.
      const follows = at + 6 <= end && bytes[at] === backslash && bytes[at + 1] === 0x75
      const low = unit < 0xdc00 && follows ? this.#hex(at + 2) : -1
      if (low >= 0xdc00 && low <= 0xdfff) at += 6
      else this.problem ??= 'surrogate'
    }
  }

  /** The code unit of four hex digits; -1 if they are not all there. */
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
    const digits = this.bytes[start] === 0x2d ? length - 1 : length
    if (isInteger && digits >= longIntegerLength) this.longIntegers?.push(start, this.at)
    if (isInteger ? length <= surelyFits : exponentAt === this.at && length <= surelyFinite) return true
    if (isInteger ? !this.#fits(start) : !Number.isFinite(Number(this.text(start, this.at)))) {
      this.problem ??= 'number'
    }
    return true
  }

  #fits(start: number): boolean {
    if (this.at - start > mayFit) return false
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

  /** Latin-1: for numbers, and for keys that are compared with ASCII. */
  text(start: number, end: number): string {
    return this.bytes.toString('latin1', start, end)
  }

  #grow(): void {
    const larger = new Uint8Array(this.#closers.length * 2)
    larger.set(this.#closers)
    this.#closers = larger
  }
}

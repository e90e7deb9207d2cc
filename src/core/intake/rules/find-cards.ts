import { isDigit } from './character-sets.ts'

/** Number of digits of a card, and of a group of them if it is written in several. UUIDs have others. */
const cardDigits = { min: 13, max: 19 }
const groupDigits = { min: 3, max: 7 }
/** With dots between them, two groups are a decimal number. */
const minDottedGroups = 3

const [space, hyphen, dot, caret, percent] = [0x20, 0x2d, 0x2e, 0x5e, 0x25]

/** A power of two, so that the groups of a number find their places fast; more than groups fit into a number. */
const keptGroups = 8

/** Spaces of any width, also those that do not break, hyphens and dashes. */
function isSeparator(code: number): boolean {
  if (code < 0x80) return code === space || code === hyphen || code === dot
  return (
    code === 0xa0 ||
    (code >= 0x2000 && code <= 0x2015) ||
    code === 0x202f ||
    code === 0x2060 ||
    code === 0x3000
  )
}

/** Occurs in every text with the number of a card, also in the bytes of its UTF-8. */
export const cardSign = /(?:\d[ .\x80-\xff-]{0,6}){13}/

/** A digit that the checksum counts twice. */
const doubled = Uint8Array.from({ length: 10 }, (_, digit) => (digit < 5 ? digit * 2 : digit * 2 - 9))

/** The last groups of digits. Arrays that all texts share, because most texts are short. */
const starts = new Int32Array(keptGroups)
const separators = new Int32Array(keptGroups)
const counts = new Int32Array(keptGroups)
/** Checksums of the digits before a group, if those at even or at odd places count twice. */
const evenSums = new Int32Array(keptGroups)
const oddSums = new Int32Array(keptGroups)

/**
 * Finds numbers of cards in one pass: digits in one group, or in several of the usual lengths with one or two separators
 * between them. Sums of all digits before each group tell the checksum of any of them.
 */
export function findCards(text: string, found: (start: number, end: number) => void): void {
  const words = new HexadecimalWords(text)
  let [groups, count, even, odd, separator] = [0, 0, 0, 0, 0]
  for (let at = 0; at < text.length; ) {
    if (!isDigit(text.charCodeAt(at))) {
      at++
      continue
    }
    const start = at
    const place = groups % keptGroups
    starts[place] = start
    separators[place] = separator
    counts[place] = count
    evenSums[place] = even
    oddSums[place] = odd
    for (; at < text.length; at++, count++) {
      const digit = text.charCodeAt(at) - 0x30
      if (digit < 0 || digit > 9) break
      const twice = doubled[digit] as number
      even += count % 2 === 0 ? twice : digit
      odd += count % 2 === 0 ? digit : twice
    }
    const length = at - start
    const isWhole = length >= cardDigits.min && length <= cardDigits.max
    if (isWhole && isCard(place) && standsAlone(start, at, false)) found(start, at)
    const isGroup = length >= groupDigits.min && length <= groupDigits.max
    if (isGroup) findGroups(at)
    groups++
    separator = text.charCodeAt(at)
    // Only a short separator, and groups of usual length, continue a number.
    const width = isGroup ? separatorWidth(at) : 0
    if (width > 0) at += width
    else groups = count = even = odd = separator = 0
  }

  /** Characters between two groups: one separator, or two of which none is a dot. 0: no group follows. */
  function separatorWidth(at: number): number {
    if (!isSeparator(text.charCodeAt(at))) return 0
    const next = text.charCodeAt(at + 1)
    if (isDigit(next)) return 1
    const isPair = text.charCodeAt(at) !== dot && next !== dot && isSeparator(next)
    return isPair && isDigit(text.charCodeAt(at + 2)) ? 2 : 0
  }

  /** Tries all numbers of several groups that end here. */
  function findGroups(end: number): void {
    let [hasDot, hasOther] = [false, false]
    for (let first = groups - 1; first >= 0; first--) {
      const place = first % keptGroups
      const total = count - (counts[place] as number)
      if (total > cardDigits.max) return
      if (separators[(first + 1) % keptGroups] === dot) hasDot = true
      else hasOther = true
      if (hasDot && hasOther) return
      const isPrinted = total >= cardDigits.min && (!hasDot || groups - first + 1 >= minDottedGroups)
      const start = starts[place] as number
      if (isPrinted && isCard(place) && standsAlone(start, end, hasDot)) found(start, end)
    }
  }

  /** No card begins with another digit, and timestamps begin with 1. */
  function isCard(place: number): boolean {
    const digit = text.charCodeAt(starts[place] as number) - 0x30
    if (digit < 2 || digit > 6) return false
    // The last digit does not count twice.
    const sum = count % 2 === 0 ? even - (evenSums[place] as number) : odd - (oddSums[place] as number)
    return sum % 10 === 0
  }

  /** Whether digits are not a part of a decimal number or of a hexadecimal id. Letters of other words may stand beside. */
  function standsAlone(start: number, end: number, isDotted: boolean): boolean {
    if (!isDotted && isFraction(text, start)) return false
    return isOnTrack(text, start, end) || !words.surround(start, end)
  }
}

/** The first track of a magnetic stripe is %B, the number, ^, and the name of the holder. */
function isOnTrack(text: string, start: number, end: number): boolean {
  const next = text.charCodeAt(end)
  const isEnd = next === caret || (next === percent && text.slice(end + 1, end + 3).toUpperCase() === '5E')
  return isEnd || text.charCodeAt(start - 2) === percent
}

/** Whether an integer and a dot precede, which are not themselves a part of a longer name. */
function isFraction(text: string, start: number): boolean {
  if (text.charCodeAt(start - 1) !== dot || !isDigit(text.charCodeAt(start - 2))) return false
  let at = start - 2
  while (at >= 0 && isDigit(text.charCodeAt(at))) at--
  return text.charCodeAt(at) !== dot && !isLetter(text.charCodeAt(at))
}

/** Tells which words of a text, read from its start to its end, are hexadecimal. Reads each word once. */
class HexadecimalWords {
  readonly #text: string
  #start = 0
  #end = 0
  #isHexadecimal = false

  constructor(text: string) {
    this.#text = text
  }

  /** Whether digits are the end or the beginning of words with letters from A to F alone. */
  surround(start: number, end: number): boolean {
    const isAfterLetter = isLetter(this.#text.charCodeAt(start - 1))
    const isBeforeLetter = isLetter(this.#text.charCodeAt(end))
    if (!isAfterLetter && !isBeforeLetter) return false
    return (!isAfterLetter || this.#isAt(start - 1)) && (!isBeforeLetter || this.#isAt(end))
  }

  #isAt(at: number): boolean {
    if (at >= this.#start && at < this.#end) return this.#isHexadecimal
    const text = this.#text
    let [start, end] = [at, at]
    while (isInWord(text.charCodeAt(start - 1))) start--
    this.#isHexadecimal = true
    for (end = start; isInWord(text.charCodeAt(end)); end++) {
      const code = text.charCodeAt(end)
      if (isLetter(code) && (code | 0x20) > 0x66) this.#isHexadecimal = false
    }
    this.#start = start
    this.#end = end
    return this.#isHexadecimal
  }
}

const isInWord = (code: number) => isDigit(code) || isLetter(code)

/** NaN, before and after a text, is none. */
function isLetter(code: number): boolean {
  const lower = code | 0x20
  return code < 0x80 && lower >= 0x61 && lower <= 0x7a
}

import { isDigit, setOf } from './character-sets.ts'

const inRun = setOf(/[\da-f.:]/i)
const inWord = setOf(/\w/)
const isHexDigit = setOf(/[\da-f]/i)

const [dot, colon] = [0x2e, 0x3a]

/** The longest IPv6 address has 45 characters. A port or a name may stand beside it. */
const maxAddressLength = 64
const minAddressLength = 3
const minV4Length = 7
const maxByte = 255
const v6Groups = 8

/** Finds IP addresses, of version 4 also among letters. */
export function findAddresses(text: string, found: (start: number, end: number) => void): void {
  for (let at = 0; at < text.length; at++) {
    if (inRun[text.charCodeAt(at)] !== 1) continue
    const start = at
    let [colons, digits, isShortened] = [0, 0, false]
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (inRun[code] !== 1) break
      if (code === colon) {
        colons++
        isShortened ||= at > start && text.charCodeAt(at - 1) === colon
      } else if (isDigit(code)) digits++
    }
    const length = at - start
    // Without a digit it is rather the name of something in a program.
    if (length < minAddressLength || digits === 0) continue
    const isV6 = length <= maxAddressLength && (isShortened || colons >= v6Groups - 2)
    if (!isV6 || !findV6(text, start, at, found)) findV4(text, start, at, found)
  }
}

/** The first address that begins and ends with the run, or beside its first and last colon. */
function findV6(
  text: string,
  runStart: number,
  runEnd: number,
  found: (start: number, end: number) => void,
): boolean {
  const isBeside = inWord[text.charCodeAt(runStart - 1)] === 1
  const isBefore = inWord[text.charCodeAt(runEnd)] === 1
  const lastColon = text.lastIndexOf(':', runEnd - 1)
  let trimmed = runEnd
  while (trimmed > runStart && isColonOrDot(text.charCodeAt(trimmed - 1))) trimmed--
  for (let pass = isBeside ? 1 : 0; pass < 2; pass++) {
    const start = pass === 0 ? runStart : text.indexOf(':', runStart) + 1
    if (!isBefore && isV6(text, start, runEnd)) return report(start, runEnd, found)
    if (!isBefore && trimmed < runEnd && isV6(text, start, trimmed)) return report(start, trimmed, found)
    if (isV6(text, start, lastColon)) return report(start, lastColon, found)
  }
  return false
}

function report(start: number, end: number, found: (start: number, end: number) => void): true {
  found(start, end)
  return true
}

const isColonOrDot = (code: number) => code === colon || code === dot

/** Whether a part of a text is an IPv6 address with a digit. */
export function isV6(text: string, start: number, end: number): boolean {
  let groups = 0
  let [isShortened, hasDigit] = [false, false]
  let at = start
  if (text.charCodeAt(at) === colon) {
    if (end - at < 2 || text.charCodeAt(at + 1) !== colon) return false
    isShortened = true
    at += 2
  }
  while (at < end) {
    const groupStart = at
    for (; at < end && isHexDigit[text.charCodeAt(at)] === 1; at++) hasDigit ||= isDigit(text.charCodeAt(at))
    if (at < end && text.charCodeAt(at) === dot) {
      if (v4End(text, groupStart, end) !== end || hasLeadingZero(text, groupStart, end)) return false
      groups += 2
      at = end
      break
    }
    if (at === groupStart || at - groupStart > 4) return false
    groups++
    if (at === end) break
    // A colon, and no end after it.
    at++
    if (at === end) return false
    if (text.charCodeAt(at) !== colon) continue
    if (isShortened) return false
    isShortened = true
    at++
  }
  return hasDigit && (isShortened ? groups < v6Groups : groups === v6Groups)
}

/** Within an address of version 6 the numbers of version 4 have no zeros before them. */
function hasLeadingZero(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const isFirst = at === start || text.charCodeAt(at - 1) === dot
    if (isFirst && text.charCodeAt(at) === 0x30 && at + 1 < end && isDigit(text.charCodeAt(at + 1)))
      return true
  }
  return false
}

function findV4(text: string, start: number, end: number, found: (start: number, end: number) => void): void {
  for (let at = start; at < end; ) {
    const code = text.charCodeAt(at)
    if (code !== dot && !isDigit(code)) {
      at++
      continue
    }
    const partStart = at
    while (at < end && (text.charCodeAt(at) === dot || isDigit(text.charCodeAt(at)))) at++
    if (at - partStart < minV4Length) continue
    let [first, last] = [partStart, at]
    while (first < last && text.charCodeAt(first) === dot) first++
    while (last > first && text.charCodeAt(last - 1) === dot) last--
    if (v4End(text, first, last) === last) found(first, last)
  }
}

/** The end of four small numbers with dots between them, if nothing follows; otherwise -1. */
function v4End(text: string, start: number, end: number): number {
  let at = start
  for (let number = 1; ; number++) {
    let value = 0
    const numberStart = at
    for (; at < end && isDigit(text.charCodeAt(at)); at++) {
      value = value * 10 + text.charCodeAt(at) - 0x30
      if (at - numberStart >= 3) return -1
    }
    if (at === numberStart || value > maxByte) return -1
    if (number === 4) return at === end ? end : -1
    if (at >= end || text.charCodeAt(at) !== dot) return -1
    at++
  }
}

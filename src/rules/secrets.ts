import { isIPv6 } from 'node:net'
import type { MaskName } from '../catalog/source-rules.ts'

/** Where a text has a secret, and what to write instead. */
export interface Secret {
  start: number
  end: number
  name: MaskName
}

type Found = (start: number, end: number) => void

interface Finder {
  /** Occurs in every text with such a secret. */
  sign: RegExp
  /** In linear time. */
  find(text: string, found: Found): void
}

const finders: Record<MaskName, Finder> = {
  email: { sign: /@|%40/, find: findEmails },
  ip: { sign: /\d\.\d|:[\da-f]{0,4}:/i, find: findAddresses },
  card: { sign: /[\d -]{13,}/, find: findCards },
  jwt: { sign: /eyJ/, find: findJwts },
  bearer: { sign: /bearer/i, find: findBearers },
}

/** Whether a text may have such a secret. Takes much less time than finding it. */
export function maySecretBeIn(text: string, names: readonly MaskName[]): boolean {
  return names.some((name) => finders[name].sign.test(text))
}

/** In order. Those that overlap are one. */
export function secretsIn(text: string, names: readonly MaskName[]): Secret[] {
  const all: Secret[] = []
  for (const name of names) {
    const { sign, find } = finders[name]
    if (sign.test(text)) find(text, (start, end) => all.push({ start, end, name }))
  }
  all.sort((one, other) => one.start - other.start || other.end - one.end)
  const apart: Secret[] = []
  for (const secret of all) {
    const last = apart.at(-1)
    if (last && secret.start < last.end) last.end = Math.max(last.end, secret.end)
    else apart.push(secret)
  }
  return apart
}

const setOf = (characters: RegExp) =>
  Uint8Array.from({ length: 128 }, (_, code) => Number(characters.test(String.fromCharCode(code))))

const inLocalPart = setOf(/[\w.%+'-]/)
const inDomain = setOf(/[a-z\d.-]/i)
const inToken = setOf(/[\w.~+/=-]/)
const inBase64 = setOf(/[\w-]/)

/** Also letters of other alphabets, but no punctuation, and no scripts that write words without spaces. */
function isLetter(code: number): boolean {
  return code >= 0xc0 && code < 0x2000
}

function endOf(set: Uint8Array, text: string, start: number, others = false): number {
  let end = start
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code < 128 ? set[code] === 0 : !others || !isLetter(code)) break
  }
  return end
}

/** Where a text ends without these characters. */
function endWithout(characters: string, text: string): number {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] as string)) end--
  return end
}

function findEmails(text: string, found: Found): void {
  let floor = 0
  for (const { 0: at, index } of text.matchAll(/@|%40/g)) {
    let start = index
    for (; start > floor; start--) {
      const code = text.charCodeAt(start - 1)
      if (code < 128 ? inLocalPart[code] === 0 : !isLetter(code)) break
    }
    while (start < index && /['.]/.test(text[start] as string)) start++
    floor = index + at.length
    const domain = text.slice(floor, endOf(inDomain, text, floor, true))
    if (start < index && /\.[^\d.-]{2}/.test(domain)) found(start, floor + endWithout('.-', domain))
  }
}

/** The longest IPv6 address has 45 characters. A port or a name may stand beside it. */
const maxAddressLength = 64

function findAddresses(text: string, found: Found): void {
  for (const { 0: run, index } of text.matchAll(/[\da-f.:]{3,}/gi)) {
    const isV6 = run.length <= maxAddressLength && (run.includes('::') || run.split(':').length > 6)
    const v6 = isV6 ? addressIn(run, text[index - 1], text[index + run.length]) : undefined
    if (v6) found(index + v6.start, index + v6.end)
    else for (const part of run.matchAll(/[\d.]{7,}/g)) findV4(part[0], index + part.index, found)
  }
}

const isWordPart = (character: string | undefined) => character !== undefined && /\w/.test(character)

function addressIn(run: string, before: string | undefined, after: string | undefined) {
  const starts = [0, run.indexOf(':') + 1]
  const ends = [run.length, endWithout(':.', run), run.lastIndexOf(':')]
  for (const start of isWordPart(before) ? starts.slice(1) : starts) {
    for (const end of isWordPart(after) ? ends.slice(2) : ends) {
      const address = run.slice(start, end)
      // Without a digit it is rather the name of something in a program.
      if (/\d/.test(address) && isIPv6(address)) return { start, end }
    }
  }
  return undefined
}

function findV4(part: string, index: number, found: Found): void {
  const start = part.search(/\d/)
  const end = endWithout('.', part)
  const numbers = part.slice(start, end).split('.')
  const isByte = (number: string) => number !== '' && number.length <= 3 && Number(number) <= 255
  if (numbers.length === 4 && numbers.every(isByte)) found(index + start, index + end)
}

const cardDigits = { min: 13, max: 19 }

function findCards(text: string, found: Found): void {
  for (const { 0: run, index } of text.matchAll(/[\d -]{13,}/g)) {
    const groups = [...run.matchAll(/\d+/g)].map((group) => ({
      digits: group[0],
      start: index + group.index,
      end: index + group.index + group[0].length,
    }))
    for (const [first, { start }] of groups.entries()) {
      let digits = ''
      for (let at = first; at < groups.length; at++) {
        const group = groups[at] as (typeof groups)[number]
        digits += group.digits
        const previous = groups[at - 1]
        const isApart = at > first && previous !== undefined && group.start - previous.end > 1
        if (isApart || digits.length > cardDigits.max) break
        if (at > first && !isPrinted(groups.slice(first, at + 1))) break
        if (isCard(digits) && standsAlone(text, start, group.end)) found(start, group.end)
      }
    }
  }
}

/** Whether groups of digits are as long as on a card, unlike those of a UUID. */
function isPrinted(groups: readonly { digits: string }[]): boolean {
  return groups.every(({ digits }) => digits.length >= 3 && digits.length <= 7)
}

function standsAlone(text: string, start: number, end: number): boolean {
  const isDecimal = /\d\./.test(text.slice(Math.max(0, start - 2), start))
  return !isDecimal && !/[a-z]/i.test(`${text[start - 1] ?? ''}${text[end] ?? ''}`)
}

/** No card begins with another digit, and timestamps begin with 1. */
function isCard(digits: string): boolean {
  if (digits.length < cardDigits.min || !/^[2-6]/.test(digits)) return false
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 0x30
    const doubled = at % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

const shortestHeader = 10

/** All parts that follow, so that encrypted ones are masked as well. */
function findJwts(text: string, found: Found): void {
  for (let start = text.indexOf('eyJ'); start >= 0; ) {
    let end = endOf(inBase64, text, start)
    const headerEnd = end
    while (text[end] === '.') end = endOf(inBase64, text, end + 1)
    if (headerEnd - start >= shortestHeader && end > headerEnd + 1) found(start, end)
    start = text.indexOf('eyJ', end)
  }
}

const shortestToken = 8

function findBearers(text: string, found: Found): void {
  for (const { 0: before, index } of text.matchAll(/bearer(?:%20|[\s:="'])+/gi)) {
    const start = index + before.length
    const end = endOf(inToken, text, start)
    if (end - start >= shortestToken) found(start, end)
  }
}

import type { MaskName } from '../../catalog/source-rules.ts'
import { setOf } from './character-sets.ts'
import { findAddresses } from './find-addresses.ts'
import { cardSign, findCards } from './find-cards.ts'

/** Where a text has a secret, and what to write instead. */
export interface Secret {
  start: number
  end: number
  name: MaskName
}

/** Receives the place of a secret. */
export type Found = (start: number, end: number) => void

interface Finder {
  /** Occurs in every text with such a secret, also in the bytes of its UTF-8. */
  sign: RegExp
  /** Finds all in linear time, without objects for what is no secret: senders choose the text. */
  find(text: string, found: Found): void
}

const finders: Record<MaskName, Finder> = {
  email: { sign: /@|%40/, find: findEmails },
  ip: { sign: /\d\.\d|:[\da-f]{0,4}:/i, find: findAddresses },
  card: { sign: cardSign, find: findCards },
  jwt: { sign: /eyJ/, find: findJwts },
  bearer: { sign: /bearer/i, find: findBearers },
}

/** The kinds of secrets that a text may have. Takes much less time than finding them. */
export function possibleSecrets(text: string, names: readonly MaskName[]): readonly MaskName[] {
  return names.filter((name) => finders[name].sign.test(text))
}

/** In order. Those that overlap are one. */
export function secretsIn(text: string, names: readonly MaskName[]): Secret[] {
  const all: Secret[] = []
  for (const name of names) finders[name].find(text, (start, end) => all.push({ start, end, name }))
  if (all.length < 2) return all
  all.sort((one, other) => one.start - other.start || other.end - one.end)
  const apart: Secret[] = []
  for (const secret of all) {
    const last = apart.at(-1)
    if (last && secret.start < last.end) last.end = Math.max(last.end, secret.end)
    else apart.push(secret)
  }
  return apart
}

const inLocalPart = setOf(/[\w.%+'-]/)
const inDomain = setOf(/[a-z\d.-]/i)
const inTopLevel = setOf(/[^\d.-]/)
const inToken = setOf(/[\w.~+/=-]/)
const inBase64 = setOf(/[\w-]/)

const [dot, hyphen, apostrophe, percent] = [0x2e, 0x2d, 0x27, 0x25]

/** Also letters of other alphabets, but no punctuation, and no scripts that write words without spaces. */
const isLetter = (code: number) => code >= 0xc0 && code < 0x2000

const isInWord = (set: Uint8Array, code: number) => (code < 128 ? set[code] === 1 : isLetter(code))

function endOf(set: Uint8Array, text: string, start: number): number {
  let end = start
  while (end < text.length && set[text.charCodeAt(end)] === 1) end++
  return end
}

function findEmails(text: string, found: Found): void {
  let floor = 0
  let at = text.indexOf('@')
  let encoded = text.indexOf('%40')
  while (at >= 0 || encoded >= 0) {
    const isEncoded = at < 0 || (encoded >= 0 && encoded < at)
    const index = isEncoded ? encoded : at
    let start = index
    while (start > floor && isInWord(inLocalPart, text.charCodeAt(start - 1))) start--
    for (; start < index; start++) {
      const code = text.charCodeAt(start)
      if (code !== apostrophe && code !== dot) break
    }
    floor = index + (isEncoded ? 3 : 1)
    const end = start < index ? domainEnd(text, floor) : 0
    if (end > 0) found(start, end)
    if (isEncoded) encoded = text.indexOf('%40', floor)
    else at = text.indexOf('@', floor)
  }
}

/** Where a domain with a top level ends; 0 if there is none. */
function domainEnd(text: string, start: number): number {
  let hasTopLevel = false
  let end = start
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (!isInWord(inDomain, code)) break
    hasTopLevel ||=
      end - start > 1 && text.charCodeAt(end - 2) === dot && isTop(text, end - 1) && isTop(text, end)
  }
  if (!hasTopLevel) return 0
  while (isDotOrHyphen(text.charCodeAt(end - 1))) end--
  return end
}

function isTop(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 128 || inTopLevel[code] === 1
}

const isDotOrHyphen = (code: number) => code === dot || code === hyphen

const shortestHeader = 10

/** All parts that follow, so that encrypted ones are masked as well. */
function findJwts(text: string, found: Found): void {
  for (let start = text.indexOf('eyJ'); start >= 0; ) {
    let end = endOf(inBase64, text, start)
    const headerEnd = end
    while (text.charCodeAt(end) === dot) end = endOf(inBase64, text, end + 1)
    if (headerEnd - start >= shortestHeader && end > headerEnd + 1) found(start, end)
    start = text.indexOf('eyJ', end)
  }
}

const shortestToken = 8
const bearer = /bearer/gi
const isBeforeToken = setOf(/[\s:="']/)
const otherSpace = /\s/

function findBearers(text: string, found: Found): void {
  bearer.lastIndex = 0
  while (bearer.test(text)) {
    const word = bearer.lastIndex
    const start = tokenStart(text, word)
    const end = start > word ? endOf(inToken, text, start) : start
    if (end - start >= shortestToken) found(start, end)
    bearer.lastIndex = start
  }
}

function tokenStart(text: string, from: number): number {
  for (let at = from; ; ) {
    const code = text.charCodeAt(at)
    if (code === percent && text.startsWith('%20', at)) at += 3
    else if (code < 128 ? isBeforeToken[code] === 1 : otherSpace.test(text.charAt(at))) at++
    else return at
  }
}

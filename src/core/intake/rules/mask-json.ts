import type { MaskName } from '../../catalog/source-rules.ts'
import { isDigit, setOf } from './character-sets.ts'
import { possibleSecrets, type Secret, secretsIn } from './secrets.ts'

const [quote, backslash, colon, hyphen] = [0x22, 0x5c, 0x3a, 0x2d]
const inNumber = setOf(/[\d.eE+-]/)

/** With its quotes, as ::1 has no other characters. */
const shortestSecret = 5

/**
 * A value of compact JSON without these secrets in its texts and numbers; all other bytes stay. Keys are not masked.
 * Undefined if it has none. The text has a character for each byte.
 */
export function maskJson(json: string, names: readonly MaskName[]): string | undefined {
  // An escape can stand for any character.
  const wanted = json.includes('\\u') ? names : possibleSecrets(json, names)
  if (wanted.length === 0) return undefined
  let [masked, copied] = ['', 0]
  for (let at = 0; at < json.length; ) {
    const start = at
    const code = json.charCodeAt(at++)
    let isPlain = true
    if (code === quote) {
      for (; at < json.length; at++) {
        const inside = json.charCodeAt(at)
        if (inside === quote) break
        if (inside === backslash) at++
        isPlain &&= inside < 0x80 && inside !== backslash
      }
      at++
      if (json.charCodeAt(at) === colon) continue
    } else if (code === hyphen || isDigit(code)) while (inNumber[json.charCodeAt(at)] === 1) at++
    else continue
    if (at - start < shortestSecret) continue
    const scalar = json.slice(start, at)
    const secrets = isPlain ? secretsIn(scalar, wanted) : secretsInEscaped(scalar, wanted)
    if (secrets.length === 0) continue
    const text = replaced(scalar, secrets)
    masked += json.slice(copied, start) + (code === quote ? text : `"${text}"`)
    copied = at
  }
  return copied === 0 ? undefined : masked + json.slice(copied)
}

/** The places are those of bytes in JSON. */
function secretsInEscaped(scalar: string, names: readonly MaskName[]): Secret[] {
  const wanted = scalar.includes('\\u') ? names : possibleSecrets(scalar, names)
  return wanted.length === 0 ? [] : placed(scalar, secretsIn(textOf(scalar), wanted))
}

function replaced(text: string, secrets: readonly Secret[]): string {
  let [result, at] = ['', 0]
  for (const { start, end, name } of secrets) {
    result += `${text.slice(at, start)}[${name}]`
    at = end
  }
  return result + text.slice(at)
}

const notAscii = /[\x80-\xff]/

/** With a quote before it, as in JSON. */
function textOf(json: string): string {
  return `"${JSON.parse(notAscii.test(json) ? Buffer.from(json, 'latin1').toString() : json)}`
}

/** The same secrets by their bytes in JSON instead of the characters of its text. */
function placed(json: string, secrets: readonly Secret[]): Secret[] {
  let [at, character] = [0, 0]
  const byteOf = (wanted: number) => {
    for (; character < wanted; character++) {
      const code = json.charCodeAt(at)
      if (code === 0x5c) at += json[at + 1] === 'u' ? 6 : 2
      else if (code < 0x80) at++
      else if (code < 0xe0) at += 2
      else if (code < 0xf0) at += 3
      // Four bytes are two characters.
      else [at, character] = [at + 4, character + 1]
    }
    return at
  }
  return secrets.map(({ start, end, name }) => ({ start: byteOf(start), end: byteOf(end), name }))
}

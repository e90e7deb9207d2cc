import type { MaskName } from '../catalog/source-rules.ts'
import { maySecretBeIn, type Secret, secretsIn } from './secrets.ts'

/** Texts, keys with their colon, and numbers of compact JSON. A text without its end cannot occur, but takes no longer. */
const scalars = /"[^"\\]*(?:\\.[^"\\]*)*"?:?|-?\d[\d.eE+-]*/g

/**
 * A value of compact JSON without these secrets in its texts and numbers; all other bytes stay. Keys are not masked.
 * Undefined if it has none. The text has a character for each byte.
 */
export function maskJson(json: string, names: readonly MaskName[]): string | undefined {
  // An escape can stand for any character.
  if (!maySecretBeIn(json, names) && !json.includes('\\u')) return undefined
  let found = false
  const masked = json.replace(scalars, (scalar) => {
    const isKey = scalar.endsWith(':')
    const isPlain = !/[\\\x80-\xff]/.test(scalar)
    if (isKey || (isPlain && !maySecretBeIn(scalar, names))) return scalar
    const secrets = secretsIn(isPlain ? scalar : textOf(scalar), names)
    if (secrets.length === 0) return scalar
    found = true
    const text = replaced(scalar, isPlain ? secrets : placed(scalar, secrets))
    return text.startsWith('"') ? text : `"${text}"`
  })
  return found ? masked : undefined
}

function replaced(text: string, secrets: readonly Secret[]): string {
  let [result, at] = ['', 0]
  for (const { start, end, name } of secrets) {
    result += `${text.slice(at, start)}[${name}]`
    at = end
  }
  return result + text.slice(at)
}

/** With a quote before it, as in JSON. */
function textOf(json: string): string {
  return `"${JSON.parse(Buffer.from(json, 'latin1').toString())}`
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

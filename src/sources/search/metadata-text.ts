const quote = 0x22
const openArray = 0x5b
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d
const scalarEnd = /[\s,}\]]/g
const between = /[\s,:]*/y
/** Texts, spaces, and numbers that the engine writes in another way. */
const rewritable = /"[^"\\]*(?:\\.[^"\\]*)*"|\s+|(?<![\d.eE+-])-?\d+[.eE][\d.eE+-]*|-0(?![\d.eE])/g
/** Escapes that the engine writes in another way. */
const escaped = /\\[u/]|[\u2028\u2029]/

/**
 * The value at a path of valid JSON as text, exactly as the engine reads it: the first of several members with the same
 * key, integers of 64 bits, containers as compact JSON. Undefined if there is none, or null.
 */
export function metadataText(json: string, keys: readonly string[]): string | undefined {
  let at = skipBetween(json, 0)
  for (const key of keys) {
    const found = memberAt(json, at, key)
    if (found === undefined) return undefined
    at = found
  }
  const value = json.slice(at, valueEnd(json, at))
  if (value.startsWith('"')) return JSON.parse(value) as string
  if (value.startsWith('{') || value.startsWith('[')) return compact(value)
  return value === 'null' ? undefined : scalarText(value)
}

/** Where the value of a member begins. */
function memberAt(json: string, start: number, key: string): number | undefined {
  if (json[start] !== '{') return undefined
  let at = skipBetween(json, start + 1)
  while (json[at] === '"') {
    const end = stringEnd(json, at)
    const found = json.slice(at, end)
    const valueAt = skipBetween(json, end)
    if ((found.includes('\\') ? JSON.parse(found) : found.slice(1, -1)) === key) return valueAt
    at = skipBetween(json, valueEnd(json, valueAt))
  }
  return undefined
}

function valueEnd(json: string, start: number): number {
  let at = start
  let depth = 0
  do {
    const code = json.charCodeAt(at)
    if (code === quote) at = stringEnd(json, at) - 1
    else if (code === openObject || code === openArray) depth++
    else if (code === closeObject || code === closeArray) depth--
    else if (depth === 0) return scalarEndOf(json, at)
    at++
  } while (depth > 0 && at < json.length)
  return at
}

function stringEnd(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = json.indexOf('"', at)
    if (at === -1) return json.length
    let backslashes = 0
    while (json[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
}

function scalarEndOf(json: string, start: number): number {
  scalarEnd.lastIndex = start
  return scalarEnd.exec(json)?.index ?? json.length
}

function skipBetween(json: string, start: number): number {
  between.lastIndex = start
  between.exec(json)
  return between.lastIndex
}

function scalarText(value: string): string {
  if (/^-?\d+$/.test(value)) return value === '-0' ? '0' : value
  if (!/^[-\d]/.test(value)) return value
  const number = Number(value)
  return Object.is(number, -0) ? '-0' : String(number).replace('e+', 'e')
}

/** Everything else is copied in long pieces, since metadata can be long. */
function compact(json: string): string {
  return json.replace(rewritable, (token) => {
    if (token.startsWith('"')) return escaped.test(token) ? stringText(JSON.parse(token) as string) : token
    return token.trim() === '' ? '' : scalarText(token)
  })
}

/** The engine escapes line separators too, and writes hex digits in upper case. */
function stringText(value: string): string {
  const written = (character: string) => {
    if (character === '"' || character === '\\') return `\\${character}`
    const short = JSON.stringify(character).slice(1, -1)
    if (short.length === 2) return short
    return `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
  }
  return `"${value.replace(/["\\\0-\x1f\u2028\u2029]/g, written)}"`
}

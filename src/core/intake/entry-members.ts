import { backslash, JsonScanner, openObject } from '../base/json/json-scanner.ts'

/** The position of a value in a body. */
export interface Span {
  start: number
  end: number
  /** Whether it contains whitespace outside of strings. */
  spaced: boolean
  escaped: boolean
}

export interface Member {
  key: Span
  value: Span
}

/** Keys of an entry that are known here. */
export const entryKeys = {
  eventMessage: Buffer.from('"event_message"'),
  message: Buffer.from('"message"'),
  msg: Buffer.from('"msg"'),
  timestamp: Buffer.from('"timestamp"'),
  time: Buffer.from('"time"'),
  id: Buffer.from('"id"'),
  project: Buffer.from('"project"'),
  metadata: Buffer.from('"metadata"'),
  projectRef: Buffer.from('"project_ref"'),
} as const

/** A quoted string without needless escapes. */
export function canonical(bytes: Buffer, start: number, end: number): Buffer {
  const text = bytes.subarray(start, end)
  return text.includes(backslash) ? Buffer.from(JSON.stringify(JSON.parse(text.toString()))) : text
}

export function keysOf(bytes: Buffer, { start, end }: Span): Set<string> {
  const keys = new Set<string>()
  const scanner = new JsonScanner(bytes, start, end)
  scanner.object(() => {
    keys.add(JSON.parse(bytes.toString('utf8', scanner.keyStart, scanner.keyEnd)))
    return scanner.value()
  })
  return keys
}

/** The value of the first member with this key, as the engine reads it. Undefined if there is none, or no object. */
export function memberOf(bytes: Buffer, { start, end }: Span, key: string): Span | undefined {
  if (bytes[start] !== openObject) return undefined
  const name = Buffer.from(JSON.stringify(key))
  const scanner = new JsonScanner(bytes, start, end)
  let found: Span | undefined
  scanner.object(() => {
    const isKey = !found && canonical(bytes, scanner.keyStart, scanner.keyEnd).equals(name)
    const at = scanner.at
    const isValid = scanner.value()
    if (isKey) found = { start: at, end: scanner.at, spaced: false, escaped: scanner.hasEscape }
    return isValid
  })
  return found
}

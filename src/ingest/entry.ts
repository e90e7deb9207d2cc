import { isSafeNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json'
import { v7 as uuidv7 } from 'uuid'
import { formatMicros } from '../base/timestamps.ts'
import { readTimestamp } from './entry-timestamp.ts'

export const entryLimits = {
  maxBytes: 2 ** 20,
  maxIdLength: 128,
  maxDepth: 64,
  maxFields: 5_000,
  maxAheadMs: 3_600_000,
} as const

export type EntryReading = { line: Buffer } | { reason: string }

class Rejection extends Error {}

const named = new Set(['event_message', 'message', 'timestamp', 'id', 'project', 'metadata'])

type Fields = Record<string, unknown>

/** Makes one entry into the line of JSON that the engine stores, or says why it cannot be stored. */
export function readEntry(value: unknown, nowMs: number): EntryReading {
  try {
    if (!isObject(value)) throw new Rejection('an entry must be a JSON object')
    checkValue(value, 0, { fields: 0 })
    const metadata = metadataOf(value)
    const row = {
      project: projectOf(value, metadata),
      id: idOf(value.id, nowMs),
      timestamp: timestampOf(value.timestamp, nowMs),
      event_message: messageOf(value.event_message ?? value.message),
      metadata,
    }
    const line = Buffer.from(`${stringifyJson(row)}\n`)
    if (line.length > entryLimits.maxBytes) throw new Rejection('the entry is larger than 1 MiB')
    return { line }
  } catch (error) {
    if (error instanceof Rejection) return { reason: error.message }
    throw error
  }
}

/** A number that a double cannot hold is kept as an integer of 64 bits, or marked as one that cannot be kept. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // The slow parser is for the few bodies in which the fast one may have lost something.
  if (!holdsUnsafeNumber(value)) return value
  return parseLossless(text, undefined, {
    parseNumber: (digits) => {
      if (isSafeNumber(digits) || !/^-?\d+$/.test(digits)) return Number(digits)
      const integer = BigInt(digits)
      return integer >= -(2n ** 63n) && integer < 2n ** 64n ? integer : Number.NaN
    },
    // As the native parser does it.
    onDuplicateKey: ({ newValue }) => newValue,
  })
}

/** Without recursion: a body may be nested deeper than the stack. */
function holdsUnsafeNumber(value: unknown): boolean {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'number' && Math.abs(next) > Number.MAX_SAFE_INTEGER) return true
    if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) open.push(member)
  }
  return false
}

/** The native one cannot write integers beyond a double, and is much faster for all the others. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return stringifyLossless(value) ?? 'null'
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Everything that the engine would refuse, or would not give back as it was sent. */
function checkValue(value: unknown, depth: number, seen: { fields: number }): void {
  if (typeof value === 'string') checkText(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Rejection('a number is outside of what 64 bits can hold')
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (depth > entryLimits.maxDepth)
    throw new Rejection(`it is nested deeper than ${entryLimits.maxDepth} levels`)
  const members = Array.isArray(value) ? value : Object.values(value)
  seen.fields += members.length
  if (seen.fields > entryLimits.maxFields)
    throw new Rejection(`it has more than ${entryLimits.maxFields} values`)
  if (!Array.isArray(value)) {
    for (const key of Object.keys(value)) {
      checkText(key)
      // The engine keeps a dot inside of a key as these characters.
      if (/%2e/i.test(key)) throw new Rejection('a key contains "%2E"')
    }
  }
  for (const member of members) checkValue(member, depth + 1, seen)
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw new Rejection('a text has half of a surrogate pair')
}

/** The metadata as sent, with the entry's other keys inside; one that both have stays apart from it. */
function metadataOf(entry: Fields): Fields {
  const given = entry.metadata ?? {}
  const metadata: Fields = Object.create(null)
  Object.assign(metadata, isObject(given) ? given : { metadata: given })
  for (const [key, value] of Object.entries(entry)) {
    if (named.has(key) && !(key === 'message' && entry.event_message != null)) continue
    if (!(key in metadata)) metadata[key] = value
    else {
      const other = isObject(metadata._other) ? metadata._other : {}
      metadata._other = { ...other, [key]: value }
    }
  }
  return metadata
}

function projectOf(entry: Fields, metadata: Fields): string {
  const project = entry.project ?? metadata.project_ref ?? metadata.project ?? ''
  if (typeof project === 'string') return project
  if (typeof project === 'number' || typeof project === 'bigint') return String(project)
  throw new Rejection('project must be text')
}

function idOf(id: unknown, nowMs: number): string {
  if (id === undefined || id === null) return uuidv7({ msecs: nowMs })
  const text = typeof id === 'number' || typeof id === 'bigint' ? String(id) : id
  if (typeof text !== 'string') throw new Rejection('id must be text')
  if ([...text].length > entryLimits.maxIdLength) throw new Rejection('id is longer than 128 characters')
  return text
}

function timestampOf(timestamp: unknown, nowMs: number): string {
  if (timestamp === undefined || timestamp === null) return formatMicros(BigInt(nowMs) * 1000n)
  const micros = readTimestamp(timestamp)
  if (micros === undefined)
    throw new Rejection('timestamp is neither ISO 8601 nor an integer in s, ms, µs or ns')
  if (micros > BigInt(nowMs + entryLimits.maxAheadMs) * 1000n) {
    throw new Rejection('timestamp is more than an hour ahead')
  }
  return formatMicros(micros)
}

function messageOf(message: unknown): string {
  if (message === undefined || message === null) return ''
  return typeof message === 'string' ? message : stringifyJson(message)
}

import { v7 as uuidv7 } from 'uuid'
import { formatMicros } from '../base/timestamps.ts'
import { checkEntry, Rejection } from './entry-check.ts'
import { readTimestamp } from './entry-timestamp.ts'
import { stringifyJson } from './faithful-json.ts'

export const entryLimits = {
  maxBytes: 2 ** 20,
  maxIdLength: 128,
  maxAheadMs: 3_600_000,
} as const

export type EntryReading = { line: Buffer; micros: bigint } | { reason: string }

const named = new Set(['event_message', 'message', 'timestamp', 'id', 'project', 'metadata'])

type Fields = Record<string, unknown>

/**
 * Makes one entry into the line of JSON that the engine stores, or says why it cannot be stored. With an owner,
 * every entry is of this project.
 */
export function readEntry(value: unknown, nowMs: number, owner?: string): EntryReading {
  try {
    if (!isObject(value)) throw new Rejection('an entry must be a JSON object')
    checkEntry(value)
    const metadata = metadataOf(value)
    const micros = timestampOf(value.timestamp, nowMs)
    const row = {
      project: projectOf(value, metadata, owner),
      id: idOf(value.id, nowMs),
      timestamp: formatMicros(micros),
      event_message: messageOf(value.event_message ?? value.message),
      metadata,
    }
    const line = Buffer.from(`${stringifyJson(row)}\n`)
    if (line.length > entryLimits.maxBytes) throw new Rejection('the entry is larger than 1 MiB')
    return { line, micros }
  } catch (error) {
    if (error instanceof Rejection) return { reason: error.message }
    throw error
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The metadata as sent, with the entry's other keys inside; one that both have stays apart from it. */
function metadataOf(entry: Fields): Fields {
  const given = entry.metadata ?? {}
  const others = Object.keys(entry).filter((key) => isOther(key, entry))
  if (others.length === 0 && isObject(given)) return given
  const metadata: Fields = Object.create(null)
  Object.assign(metadata, isObject(given) ? given : { metadata: given })
  for (const key of others) {
    if (!(key in metadata)) metadata[key] = entry[key]
    else {
      const other = isObject(metadata._other) ? metadata._other : {}
      metadata._other = { ...other, [key]: entry[key] }
    }
  }
  return metadata
}

function isOther(key: string, entry: Fields): boolean {
  return !named.has(key) || (key === 'message' && entry.event_message != null)
}

function projectOf(entry: Fields, metadata: Fields, owner: string | undefined): string {
  const given = entry.project ?? metadata.project_ref ?? metadata.project ?? ''
  const project = typeof given === 'number' || typeof given === 'bigint' ? String(given) : given
  if (typeof project !== 'string') throw new Rejection('project must be text')
  if (owner === undefined) return project
  if (project !== '' && project !== owner) {
    throw new Rejection('the token may only send entries of its own project')
  }
  return owner
}

function idOf(id: unknown, nowMs: number): string {
  if (id === undefined || id === null) return uuidv7({ msecs: nowMs })
  const text = typeof id === 'number' || typeof id === 'bigint' ? String(id) : id
  if (typeof text !== 'string') throw new Rejection('id must be text')
  const { maxIdLength } = entryLimits
  if (text.length > maxIdLength && [...text].length > maxIdLength)
    throw new Rejection('id is longer than 128 characters')
  return text
}

function timestampOf(timestamp: unknown, nowMs: number): bigint {
  if (timestamp === undefined || timestamp === null) return BigInt(nowMs) * 1000n
  const micros = readTimestamp(timestamp)
  if (micros === undefined)
    throw new Rejection('timestamp is neither ISO 8601 nor an integer in s, ms, µs or ns')
  if (micros > BigInt(nowMs + entryLimits.maxAheadMs) * 1000n) {
    throw new Rejection('timestamp is more than an hour ahead')
  }
  return micros
}

function messageOf(message: unknown): string {
  if (message === undefined || message === null) return ''
  return typeof message === 'string' ? message : stringifyJson(message)
}

import { v7 as uuidv7 } from 'uuid'
import { formatMicros } from '../base/timestamps.ts'
import type { CallPage } from './call-page.ts'
import type { CallRecord, CallSubject } from './call-record.ts'

/** Up to so many calls at once have an entry each; of more, those that are alike share one. */
const maxOwnEntries = 500

/** Durations are alike if they differ by less than this. */
const alike = Math.log(1.05)

/** The sums are of all of its calls; everything else is of each. */
interface Entry {
  call: CallRecord
  calls: number
  rows: number
  bytes: number
}

/**
 * The entries of the source of calls, as lines of JSON. Calls that cost the engine nothing and are alike in everything but
 * a few percent of their duration become one entry that says how many they were: twenty thousand calls a second are
 * a few hundred entries, and nothing of what is counted is lost.
 */
export function callLines(page: CallPage, toWallMs: (monotonicMs: number) => number): string[] {
  const entries: Entry[] = []
  if (page.length <= maxOwnEntries) {
    for (let at = 0; at < page.length; at++) entries.push(entryOf(page.read(at)))
  } else gather(page, entries)
  return entries.map((entry) => lineOf(entry, toWallMs(entry.call.endedAt)))
}

function gather(page: CallPage, entries: Entry[]): void {
  const shared = new Map<CallSubject, Map<number | string, Entry>>()
  for (let at = 0; at < page.length; at++) {
    if (page.number(at, 'engineMs') > 0) {
      entries.push(entryOf(page.read(at)))
      continue
    }
    const subject = page.subject(at)
    let ofSubject = shared.get(subject)
    if (ofSubject === undefined) {
      ofSubject = new Map()
      shared.set(subject, ofSubject)
    }
    const step = Math.round(Math.log(Math.max(page.number(at, 'totalMs'), 0.001)) / alike)
    const key = kindOf(page, at, step)
    const known = ofSubject.get(key)
    if (known === undefined) {
      const entry = entryOf({ ...page.read(at), totalMs: Math.exp(step * alike) })
      ofSubject.set(key, entry)
      entries.push(entry)
    } else {
      known.calls++
      known.rows += page.number(at, 'rows')
      known.bytes += page.number(at, 'bytes')
    }
  }
}

function entryOf(call: CallRecord): Entry {
  return { call, calls: 1, rows: call.rows, bytes: call.bytes }
}

/** Nearly all calls that come so often are hits, and a number is found faster than a text. */
function kindOf(page: CallPage, at: number, step: number): number | string {
  const status = page.number(at, 'status')
  if (page.cache(at) === 'hit') return step * 1000 + status
  return `${step} ${status} ${page.cache(at)} ${page.code(at)}`
}

function lineOf({ call, calls, rows, bytes }: Entry, wallMs: number): string {
  const { subject, status, cache, code } = call
  const { endpoint, method } = subject
  const row = {
    project: subject.project,
    id: uuidv7({ msecs: Math.floor(wallMs) }),
    timestamp: formatMicros(BigInt(Math.round(wallMs * 1000))),
    event_message: `${method} ${endpoint} ${status}${cache === 'none' ? '' : ` ${cache}`}`,
    metadata: {
      endpoint,
      endpoint_id: subject.endpointId,
      version: subject.version,
      token_id: subject.tokenId,
      method,
      status,
      cache,
      calls,
      rows,
      bytes,
      engine_ms: rounded(call.engineMs),
      total_ms: rounded(call.totalMs),
      format: subject.format,
      ...(code !== '' && { code }),
    },
  }
  return `${JSON.stringify(row)}\n`
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

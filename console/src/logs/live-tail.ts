import { ApiError, api, at, send } from '../api/api.ts'
import { connection } from '../api/connection.ts'
import { isTemporary, messagesOf } from '../api/event-stream.ts'
import type { Entry } from '../api/shapes.ts'
import { SeenEntries } from './live-buffer.ts'
import type { SearchCondition } from './search-query.ts'
import { type EntryFilter, searchEntries } from './use-entries.ts'

export interface TailEvents {
  /** From now on nothing is missed. */
  onOpen: () => void
  onBroken: () => void
  /** Oldest first. May repeat entries. */
  onEntries: (entries: Entry[]) => void
  /** The service dropped this many entries because they arrived faster than it could send them. */
  onMissed: (count: number) => void
  /** Too many entries arrived to read all of them. */
  onGap: () => void
  /** The service could not resume where the connection broke. */
  onReset: () => void
}

/** Replaced in tests. */
export interface TailWorld {
  send: typeof send
  api: typeof api
  pause: (ms: number, signal: AbortSignal) => Promise<void>
  lost: () => void
  now: () => number
}

const browser: TailWorld = { send, api, pause: connection.pause, lost: connection.lost, now: Date.now }

interface Tail {
  filter: EntryFilter
  events: TailEvents
  signal: AbortSignal
  world: TailWorld
  /** Called when the service responds. */
  alive: () => void
}

const pollEveryMs = 2_000
const firstPauseMs = 1_000
const longestPauseMs = 15_000
const pageSize = 500
/** Nobody can read more pages than this within a poll. */
const maxPages = 4
/** Polling finds entries that arrive up to this much later than their timestamp. */
const overlapMs = 30_000
/** More than can arrive within the overlap and be read. */
const maxSeen = 20_000

/**
 * Reports entries as they arrive, until the signal aborts. Reconnects after a break and resumes where it was. Throws errors
 * that reconnecting does not solve.
 */
export async function followEntries(
  filter: EntryFilter,
  events: TailEvents,
  signal: AbortSignal,
  world: TailWorld = browser,
): Promise<void> {
  let failures = 0
  const alive = () => {
    failures = 0
  }
  const tail = { filter, events, signal, world, alive }
  const follow = filter.filters.every(isOfMessage) ? streamOf(tail) : pollOf(tail)
  for (;;) {
    try {
      await follow()
    } catch (error) {
      signal.throwIfAborted()
      if (!isTemporary(error)) throw error
      if (!(error instanceof ApiError)) world.lost()
    }
    signal.throwIfAborted()
    events.onBroken()
    await world.pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures++), signal)
    signal.throwIfAborted()
  }
}

/** The stream of the service filters by one text only. Other conditions on the message are checked here. */
function isOfMessage({ path, is }: SearchCondition): boolean {
  return path === 'event_message' && is === 'contains'
}

function streamOf({ filter: { source, project, text, filters }, events, signal, world, alive }: Tail) {
  const [longest, ...others] = text.toSorted((one, other) => other.length - one.length)
  const query = new URLSearchParams({
    ...(project !== undefined && { project }),
    ...(longest !== undefined && { text: longest }),
  })
  const has = ({ event_message }: Entry, part: string) =>
    event_message.toLowerCase().includes(part.toLowerCase())
  const isWanted = (entry: Entry) =>
    others.every((word) => has(entry, word)) &&
    filters.every(({ value, not }) => has(entry, value) !== (not ?? false))
  let lastId: string | undefined
  return async () => {
    const response = await world.send(`/api/sources/${at(source)}/tail?${query}`, {
      signal,
      headers: lastId === undefined ? {} : { 'Last-Event-ID': lastId },
    })
    events.onOpen()
    for await (const messages of messagesOf(response.body as ReadableStream<Uint8Array>)) {
      alive()
      const entries: Entry[] = []
      for (const { event, id, data } of messages) {
        lastId = id ?? lastId
        if (event === 'entry') entries.push(JSON.parse(data) as Entry)
        if (event === 'missed') events.onMissed((JSON.parse(data) as { count: number }).count)
        if (event === 'reset') events.onReset()
      }
      const wanted = entries.filter(isWanted)
      if (wanted.length > 0) events.onEntries(wanted)
    }
  }
}

/** Entries may be late or share a timestamp, so each poll repeats the last seconds and skips entries seen before. */
function pollOf({ filter, events, signal, world, alive }: Tail) {
  const seen = new SeenEntries(maxSeen)
  let since: number | undefined
  const poll = async () => {
    const requestedMs = world.now()
    const fromMs = (since ?? requestedMs) - overlapMs
    const fresh: Entry[] = []
    let last: Entry | undefined
    for (let pages = 1; ; pages++) {
      const before = last && { timestamp: last.timestamp, id: last.id }
      const page = await searchEntries(filter, { fromMs, limit: pageSize, before }, signal, world.api)
      const news = seen.fresh(page)
      fresh.push(...news)
      last = page.at(-1)
      // Entries from before the first poll are not new.
      if (page.length < pageSize || news.length === 0 || since === undefined) break
      if (pages < maxPages) continue
      events.onGap()
      break
    }
    since = requestedMs
    if (fresh.length > 0) events.onEntries(fresh.reverse())
  }
  return async () => {
    for (let isOpen = false; ; isOpen = true) {
      await poll()
      alive()
      if (!isOpen) events.onOpen()
      await world.pause(pollEveryMs, signal)
      signal.throwIfAborted()
    }
  }
}
